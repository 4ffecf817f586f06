"""How numbers are said: with as many digits as matter."""

from __future__ import annotations

SECOND = 1000.0
LEAST_SHARE = 0.001


def ms(value: float) -> str:
    """Say a time."""
    if abs(value) >= 10 * SECOND:
        return f"{value / SECOND:,.1f} s"
    return f"{value:,.0f} ms" if abs(value) >= 10 else f"{value:.2g} ms"  # noqa: PLR2004  # two digits are enough


def rate(value: float) -> str:
    """Say how many there are in a second."""
    return f"{value:,.0f}/s" if value >= 10 else f"{value:.2g}/s"  # noqa: PLR2004  # as above


def many(value: float) -> str:
    """Say how many of something there are in the mean."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"  # noqa: PLR2004  # as above


def share(value: float) -> str:
    """Say a part of a whole."""
    if 0 < value < LEAST_SHARE:
        return f"under {LEAST_SHARE:.1%}"
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"  # noqa: PLR2004  # as above
