"""What an account may use, and how operators write it.

limits:
  rpm: 500                  # requests and tokens of a minute
  tpm: 30000
  concurrent: 8             # requests at the same time
  windows:                  # quotas of any length
    - {for: 5h, requests: 200}
    - {for: 7d, tokens: 2000000}
  daily: {requests: 1000}   # a bare number counts requests
  budget: {dollars: 20, for: 30d}
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.support.durations import number, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MINUTE, DAY = 60.0, 86_400.0
MOST_WINDOWS = 16
LENGTHS = {"d": DAY, "h": 3600.0, "m": MINUTE, "s": 1.0}
NAMES = ("rpm", "tpm", "concurrent", "windows", "daily", "budget")


class Unit(StrEnum):
    """What is counted."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    DOLLARS = "dollars"
    SHARE = "share"
    """Of a subscription's window, of which its provider only tells which share is used."""


# What operators count in; shares only providers know.
COUNTED = (Unit.REQUESTS, Unit.TOKENS, Unit.DOLLARS)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """So much in any period of so many seconds."""

    unit: Unit
    amount: float
    seconds: float

    @property
    def name(self) -> str:
        """What it is called in metrics and explanations."""
        return f"{self.unit}/{_said(self.seconds)}"


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits of an account, or of one model at it. Without any: none."""

    windows: tuple[RateLimit, ...] = ()
    concurrent: int | None = None

    @classmethod
    def strictest(cls, several: Iterable[Limits]) -> Self:
        """Return what holds where all of these do."""
        amounts: dict[tuple[Unit, float], float] = {}
        concurrent = []
        for limits in several:
            if limits.concurrent is not None:
                concurrent.append(limits.concurrent)
            for limit in limits.windows:
                key = limit.unit, limit.seconds
                amounts[key] = min(amounts.get(key, limit.amount), limit.amount)
        windows = (RateLimit(unit, amount, seconds) for (unit, seconds), amount in amounts.items())
        return cls(tuple(windows), min(concurrent, default=None))

    @classmethod
    def of(cls, told: object, where: str) -> Self:
        """Read what an operator wrote; `where` is named when that cannot be."""
        if told is None:
            return cls()
        fields = _fields(told, NAMES, where)
        windows = tuple(_windows(fields, where))
        if len(windows) > MOST_WINDOWS:
            raise SettingsError(f"{where}: {len(windows)} limits, of at most {MOST_WINDOWS}.")
        concurrent = fields.get("concurrent")
        if concurrent is not None and (not isinstance(concurrent, int) or concurrent < 1 or concurrent is True):
            raise SettingsError(f"{where}.concurrent: {concurrent!r} is no number of requests. Write 1 or more.")
        return cls.strictest([cls(windows, concurrent)])


UNLIMITED = Limits()
"""Of an account without any."""


def period(told: object, where: str) -> float:
    """Return the seconds of a period: a number of them, or such as 90s, 5h or 7d."""
    found = span(told)
    if not found:
        raise SettingsError(f"{where}: {str(told)[:40]!r} is no period. Write such as 90s, 5h or 7d.")
    return found


def _windows(fields: Mapping[str, Any], where: str) -> Iterator[RateLimit]:
    for name, unit in (("rpm", Unit.REQUESTS), ("tpm", Unit.TOKENS)):
        if fields.get(name) is not None:
            yield RateLimit(unit, _amount(fields[name], f"{where}.{name}"), MINUTE)
    windows = fields.get("windows") or ()
    if not isinstance(windows, list | tuple):
        raise SettingsError(f"{where}.windows: this is a list, such as [{{for: 5h, requests: 200}}].")
    for place, window in enumerate(windows, 1):
        yield from _window(window, f"{where}.windows[{place}]", None)
    daily = fields.get("daily")
    if daily is not None:
        yield from _window(daily if isinstance(daily, Mapping) else {Unit.REQUESTS: daily}, f"{where}.daily", DAY)
    budget = fields.get("budget")
    if budget is not None:
        yield from _window(budget, f"{where}.budget", None)


def _window(told: object, where: str, length: float | None) -> Iterator[RateLimit]:
    fields = _fields(told, (*COUNTED, *(() if length else ("for",))), where)
    seconds = length or period(fields.get("for"), f"{where}.for")
    counted = [unit for unit in COUNTED if fields.get(unit) is not None]
    if not counted:
        raise SettingsError(f"{where}: nothing is counted. Write one of {', '.join(COUNTED)}.")
    for unit in counted:
        yield RateLimit(unit, _amount(fields[unit], f"{where}.{unit}"), seconds)


def _fields(told: object, names: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(told, Mapping):
        raise SettingsError(f"{where}: this is a mapping of {', '.join(names)}.")
    for name in told:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(names)}."
            raise SettingsError(f"{where}: there is no {str(name)[:40]!r}. {hint}")
    return told


def _amount(told: object, where: str) -> float:
    found = None if isinstance(told, str) else number(told)
    if not found:
        raise SettingsError(f"{where}: {str(told)[:40]!r} is no amount. Write a number above 0.")
    return found


def _said(seconds: float) -> str:
    for unit, each in LENGTHS.items():
        if seconds >= each and seconds % each == 0:
            return f"{seconds / each:.0f}{unit}"
    return f"{seconds:g}s"
