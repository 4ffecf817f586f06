"""Actions of operators on an account, and the controls that they put in force or withdraw."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.admin.parameters import parse_text, reject_unknown
from litellm_evenkeel.errors import AdminRequestError
from litellm_evenkeel.journal.record import safe_text
from litellm_evenkeel.rotation.model.control import (
    MAX_NAME_CHARACTERS,
    MAX_REASON_CHARACTERS,
    Control,
    ControlKind,
    Traffic,
)
from litellm_evenkeel.support.durations import number, span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litellm_evenkeel.rotation.controls.control_table import ControlKey

DEFAULT = "default"
MAX_SECONDS = 366 * 86_400.0
MAX_PRIORITY, MAX_WEIGHT = 1_000_000, 1e9


class Action(StrEnum):
    """Action of an operator."""

    PAUSE = "pause"
    """The account takes no requests. Those in flight end normally."""
    DRAIN = "drain"
    """The account takes only requests of sessions that are pinned to it."""
    RESUME = "resume"
    """The account takes all its traffic again."""
    PRIORITY = "priority"
    """The account gets another priority, or that of the settings."""
    WEIGHT = "weight"
    """The account gets another weight, or that of the settings."""


TRAFFIC = {Action.PAUSE: Traffic.PAUSED, Action.DRAIN: Traffic.DRAINING}
NUMBERS = {Action.PRIORITY: ControlKind.PRIORITY, Action.WEIGHT: ControlKind.WEIGHT}


def parameters_of(action: Action) -> tuple[str, ...]:
    """Return the names of an action's parameters."""
    return ("value", "for", "reason") if action in NUMBERS else ("for", "reason")


def parse_action(
    action: Action, account: str, parameters: Mapping[str, Any], by: str, now: float
) -> tuple[ControlKey, Control | None]:
    """Return the control that an action puts in force, under its key; `None` if the action withdraws it."""
    if len(account) > MAX_NAME_CHARACTERS:
        raise AdminRequestError(
            f"account: expected a name of up to {MAX_NAME_CHARACTERS} characters.", "Give the account a shorter one."
        )
    reject_unknown(parameters, parameters_of(action))
    has_value = action in NUMBERS
    kind = NUMBERS.get(action, ControlKind.TRAFFIC)
    value = _number(parameters.get("value"), kind) if has_value else None
    until, reason = _end(parameters.get("for"), now), parse_reason(parameters)
    if (has_value and value is None) or action is Action.RESUME:
        if until is not None:
            raise AdminRequestError(
                "for: what is withdrawn has no end.", "Leave it out, or put something in force with an end."
            )
        return (account, kind), None
    control = Control(
        account=account, kind=kind, traffic=TRAFFIC.get(action), number=value, until=until, by=by, reason=reason
    )
    return (account, kind), control


def _end(value: object, now: float) -> float | None:
    if value is None:
        return None
    seconds = span(value)
    if not seconds or seconds > MAX_SECONDS:
        raise AdminRequestError(
            f"for: expected a duration of up to a year, got {str(value)[:40]!r}.",
            "Write one such as for=30m or for=2h.",
        )
    return now + seconds


def parse_reason(parameters: Mapping[str, Any]) -> str:
    """Return the operator's reason, as every store and terminal accepts it."""
    reason = parse_text(parameters.get("reason"), "reason")
    if len(reason) > MAX_REASON_CHARACTERS:
        raise AdminRequestError(f"reason: expected up to {MAX_REASON_CHARACTERS} characters.", "Shorten it.")
    return safe_text(reason)


def _number(value: object, kind: ControlKind) -> float | None:
    """Return a priority or a weight; `None` for that of the settings."""
    if value == DEFAULT:
        return None
    is_priority = kind is ControlKind.PRIORITY
    amount = number(value)
    is_valid = amount is not None and (
        amount == int(amount) and amount <= MAX_PRIORITY if is_priority else 0 < amount <= MAX_WEIGHT
    )
    if not is_valid:
        expected = f"a whole number from 0 to {MAX_PRIORITY:,}" if is_priority else "a number above 0"
        raise AdminRequestError(
            f"value: expected {expected}, or {DEFAULT}, got {str(value)[:40]!r}.",
            f"Write value=2, or value={DEFAULT} for that of the settings.",
        )
    return amount
