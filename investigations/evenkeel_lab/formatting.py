"""Numbers as text: times, rates, shares and counts, with as many digits as matter."""

from __future__ import annotations

SECOND = 1000.0
LEAST_SHARE = 0.001
MINUTE_SECONDS = 60


def ms(value: float) -> str:
    """Return milliseconds with their unit, or seconds from ten on."""
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
    """Return a share of a whole in percent."""
    if 0 < value < LEAST_SHARE:
        return f"under {LEAST_SHARE:.1%}"
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"  # noqa: PLR2004  # as above


def counted(number: int, what: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def how_often(number: int) -> str:
    """Return how often: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def duration(seconds: float) -> str:
    """Return a duration in seconds, or in minutes from two on."""
    return (
        counted(round(seconds), "second")
        if seconds < 2 * MINUTE_SECONDS
        else counted(round(seconds / MINUTE_SECONDS), "minute")
    )
