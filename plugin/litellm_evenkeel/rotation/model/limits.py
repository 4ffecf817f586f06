"""Limits of accounts and models, and their syntax in the settings.

limits:
  rpm: 500                  # requests and tokens per minute
  tpm: 30000
  concurrent: 8             # requests at the same time
  windows:                  # quotas of any length
    - {for: 5h, requests: 200}
    - {for: 7d, tokens: 2000000}
  daily: {requests: 1000}   # a bare number counts requests
  budget: {dollars: 20, for: 30d}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import PlainValidator
from pydantic.json_schema import WithJsonSchema
from pydantic_core import PydanticCustomError

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings_schema.loader import nearest
from litellm_evenkeel.settings_schema.types import Expected, parse_json
from litellm_evenkeel.support.durations import number, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MINUTE, DAY = 60.0, 86_400.0
MAX_SHOWN_CHARACTERS = 40
MAX_WINDOWS = 16
UNIT_SECONDS = {"d": DAY, "h": 3600.0, "m": MINUTE, "s": 1.0}
FIELD_NAMES = ("rpm", "tpm", "concurrent", "windows", "daily", "budget")


class Unit(StrEnum):
    """Unit of a limit."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    DOLLARS = "dollars"
    SHARE = "share"
    """Share of a subscription's window, the only unit in which its provider states the usage."""


# Units that operators may use. Only providers know shares.
COUNTED = (Unit.REQUESTS, Unit.TOKENS, Unit.DOLLARS)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Limit of `amount` per any period of `seconds`."""

    unit: Unit
    amount: float
    seconds: float

    @property
    def name(self) -> str:
        """Name in metrics and explanations, such as `requests/5h`."""
        return f"{self.unit}/{_period_name(self.seconds)}"


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits of an account, or of one model at it. Empty: unlimited."""

    windows: tuple[RateLimit, ...] = ()
    concurrent: int | None = None

    @classmethod
    def strictest(cls, limit_sets: Iterable[Limits]) -> Self:
        """Return the limits that hold if all of `limit_sets` hold."""
        amounts: dict[tuple[Unit, float], float] = {}
        concurrent = []
        for limits in limit_sets:
            if limits.concurrent is not None:
                concurrent.append(limits.concurrent)
            for limit in limits.windows:
                key = limit.unit, limit.seconds
                amounts[key] = min(amounts.get(key, limit.amount), limit.amount)
        windows = (RateLimit(unit, amount, seconds) for (unit, seconds), amount in amounts.items())
        return cls(tuple(windows), min(concurrent, default=None))

    @classmethod
    def of(cls, raw: object, path: str) -> Self:
        """Parse the limits of an account or a model; raise `SettingsError`, which names `path`, if they are invalid."""
        if raw is None:
            return cls()
        fields = _fields(raw, FIELD_NAMES, path)
        windows = tuple(_windows(fields, path))
        if len(windows) > MAX_WINDOWS:
            raise SettingsError(
                f"{path}: expected at most {MAX_WINDOWS} limits, got {len(windows)}. Hint: remove some."
            )
        concurrent = fields.get("concurrent")
        if concurrent is not None and (not isinstance(concurrent, int) or concurrent < 1 or concurrent is True):
            raise SettingsError(
                f"{path}.concurrent: expected a number of requests, got {concurrent!r}. Hint: write 1 or more."
            )
        return cls.strictest([cls(windows, concurrent)])

    def keeping(self, share: float) -> Limits:
        """Return the limits that leave this share of each amount unused. Requests in flight are not concerned."""
        if not share:
            return self
        windows = (replace(limit, amount=limit.amount * (1 - share)) for limit in self.windows)
        return Limits(tuple(windows), self.concurrent)


UNLIMITED = Limits()
"""Limits of an account without any."""


def period(raw: object, path: str) -> float:
    """Return the seconds of a period, given as a number of seconds or as text such as 90s, 5h or 7d."""
    seconds = span(raw)
    if not seconds:
        raise SettingsError(f"{path}: expected a period, got {_shown(raw)}. Hint: write one such as 90s, 5h or 7d.")
    return seconds


def _windows(fields: Mapping[str, Any], path: str) -> Iterator[RateLimit]:
    for name, unit in (("rpm", Unit.REQUESTS), ("tpm", Unit.TOKENS)):
        if fields.get(name) is not None:
            yield RateLimit(unit, _amount(fields[name], f"{path}.{name}"), MINUTE)
    windows = fields.get("windows") or ()
    if not isinstance(windows, list | tuple):
        raise SettingsError(
            f"{path}.windows: expected a list, got {type(windows).__name__}. "
            "Hint: write a list such as [{for: 5h, requests: 200}]."
        )
    for index, window in enumerate(windows, 1):
        yield from _window(window, f"{path}.windows[{index}]", None)
    daily = fields.get("daily")
    if daily is not None:
        yield from _window(daily if isinstance(daily, Mapping) else {Unit.REQUESTS: daily}, f"{path}.daily", DAY)
    budget = fields.get("budget")
    if budget is not None:
        yield from _window(budget, f"{path}.budget", None)


def _window(raw: object, path: str, seconds: float | None) -> Iterator[RateLimit]:
    fields = _fields(raw, (*COUNTED, *(() if seconds else ("for",))), path)
    seconds = seconds or period(fields.get("for"), f"{path}.for")
    counted = [unit for unit in COUNTED if fields.get(unit) is not None]
    if not counted:
        raise SettingsError(f"{path}: expected an amount to limit, got none. Hint: write one of {', '.join(COUNTED)}.")
    for unit in counted:
        yield RateLimit(unit, _amount(fields[unit], f"{path}.{unit}"), seconds)


def _fields(raw: object, names: tuple[str, ...], path: str) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise SettingsError(
            f"{path}: expected a mapping, got {type(raw).__name__}. Hint: write a mapping of {', '.join(names)}."
        )
    for name in raw:
        if name not in names:
            raise SettingsError(f"{path}: expected a known name, got {_shown(name)}. {nearest(name, names)}")
    return raw


def _amount(raw: object, path: str) -> float:
    amount = None if isinstance(raw, str) else number(raw)
    if not amount:
        raise SettingsError(f"{path}: expected an amount, got {_shown(raw)}. Hint: write a number above 0.")
    return amount


def _shown(raw: object) -> str:
    return repr(str(raw)[:MAX_SHOWN_CHARACTERS])


def _period_name(seconds: float) -> str:
    for unit, size in UNIT_SECONDS.items():
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:g}s"


def _parse(raw: object) -> Limits:
    try:
        return raw if isinstance(raw, Limits) else Limits.of(parse_json(raw), "")
    except SettingsError as error:
        raise PydanticCustomError("limits", "limits are expected", {"error": error}) from None


_AMOUNT = {"type": "number", "exclusiveMinimum": 0}
_AMOUNTS = {unit.value: _AMOUNT for unit in COUNTED}
_WINDOW = {
    "type": "object",
    "properties": {"for": {"type": ["string", "number"], "description": "Length: 90s, 5h, 7d."}, **_AMOUNTS},
    "required": ["for"],
    "additionalProperties": False,
}
LIMITS_SCHEMA = {
    "type": "object",
    "properties": {
        "rpm": {**_AMOUNT, "description": "Requests per minute."},
        "tpm": {**_AMOUNT, "description": "Tokens per minute."},
        "concurrent": {"type": "integer", "minimum": 1, "description": "Requests at the same time."},
        "windows": {"type": "array", "maxItems": MAX_WINDOWS, "items": _WINDOW, "description": "Quotas of any length."},
        "daily": {
            "anyOf": [_AMOUNT, {"type": "object", "properties": _AMOUNTS, "additionalProperties": False}],
            "description": "A quota of 24 hours; a bare number counts requests.",
        },
        "budget": {**_WINDOW, "description": "A quota, usually in dollars."},
    },
    "additionalProperties": False,
}
LimitsSetting = Annotated[
    Limits,
    PlainValidator(_parse),
    Expected("a mapping of rpm, tpm, concurrent, windows, daily, budget"),
    WithJsonSchema(LIMITS_SCHEMA),
]
"""Limits as a field of settings."""
