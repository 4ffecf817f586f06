"""How counts and lengths of time are put in words."""

from __future__ import annotations

MINUTE = 60


def counted(number: int, what: str) -> str:
    """Say how many there are of something."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def times(number: int) -> str:
    """Say how often."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def lasted(seconds: float) -> str:
    """Say how long: in minutes, unless those would be few."""
    return counted(round(seconds), "second") if seconds < 2 * MINUTE else counted(round(seconds / MINUTE), "minute")
