"""Strict reading of what users write: a value is right, or the error says where it is and what would be."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

from evenkeel_mock.errors import MockConfigError


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return the hint for an unknown name: the one that was meant, or all there are."""
    names = list(valid)
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else f"Valid are: {', '.join(names)}."


def known(name: str, valid: Iterable[str], what: str, where: str) -> str:
    """Return the name if it is valid."""
    names = list(valid)
    if name not in names:
        raise MockConfigError(f"{where}: there is no {what} {name!r}.", hint=nearest(name, names))
    return name


def mapping(value: object, valid: Iterable[str], where: str) -> Mapping[str, Any]:
    """Return a mapping all of whose keys are valid."""
    names = list(valid)
    if not isinstance(value, Mapping):
        # Not the value, which may be an API key.
        kind = type(value).__name__
        raise MockConfigError(f"{where}: expected a mapping, got {kind}.", hint=f"Valid keys are: {', '.join(names)}.")
    for key in value:
        known(str(key), names, "setting", where)
    return value


def text(value: object, where: str) -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise MockConfigError(f"{where}: {value!r} is not a text.", hint="Put it in quotes.")
    return value


def number(value: object, where: str, *, least: float = 0.0, most: float = math.inf) -> float:
    """Return a finite number within bounds; digits in a text will do."""
    try:
        # True and False count as numbers in Python, and never mean one here.
        result = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise MockConfigError(f"{where}: {value!r} is not a number.", hint=f"Write a number {_range(least, most)}.")
    if not least <= result <= most:
        raise MockConfigError(f"{where}: {value!r} is out of range.", hint=f"Write a number {_range(least, most)}.")
    return result


def positive(value: object, where: str) -> float:
    """Return a number above zero."""
    result = number(value, where)
    if not result:
        raise MockConfigError(f"{where}: must be above zero.", hint="Write a positive number, or leave it out.")
    return result


def integer(value: object, where: str, *, least: int = 1, most: int = 2**53) -> int:
    """Return a whole number within bounds."""
    result = number(value, where, least=least, most=most)
    if not result.is_integer():
        raise MockConfigError(f"{where}: {value!r} is not a whole number.", hint=f"Write one {_range(least, most)}.")
    return int(result)


def _range(least: float, most: float) -> str:
    return f"of at least {least:g}" if math.isinf(most) or most >= 2**53 else f"from {least:g} to {most:g}"
