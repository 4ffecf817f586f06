"""Numbers as text: durations, rates, shares and counts, rounded to their significant digits."""

from __future__ import annotations

SECOND = 1000.0
MIN_SHARE = 0.001
MINUTE_SECONDS = 60


def ms(value: float) -> str:
    """Return `value` milliseconds with the unit; in seconds from 10 s on."""
    if abs(value) >= 10 * SECOND:
        return f"{value / SECOND:,.1f} s"
    return f"{value:,.0f} ms" if abs(value) >= 10 else f"{value:.2g} ms"  # noqa: PLR2004  # two digits are enough


def rate(value: float) -> str:
    """Return a rate per second."""
    return f"{value:,.0f}/s" if value >= 10 else f"{value:.2g}/s"  # noqa: PLR2004  # as above


def mean(value: float) -> str:
    """Return a mean number."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"  # noqa: PLR2004  # as above


def share(value: float) -> str:
    """Return the share `value`, from 0 to 1, in percent."""
    if 0 < value < MIN_SHARE:
        return f"under {MIN_SHARE:.1%}"
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"  # noqa: PLR2004  # as above


def counted(number: int, what: str) -> str:
    """Return `number` with the noun `what`, in the plural unless `number` is 1."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def how_often(number: int) -> str:
    """Return a number of times: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def duration(seconds: float) -> str:
    """Return a duration in seconds; in minutes from two minutes on."""
    return (
        counted(round(seconds), "second")
        if seconds < 2 * MINUTE_SECONDS
        else counted(round(seconds / MINUTE_SECONDS), "minute")
    )
