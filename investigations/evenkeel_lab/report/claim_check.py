"""Check of claims against measured intervals, by one rule for all claims."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel_lab.stats.compare import Compared


class ClaimVerdict(StrEnum):
    """Verdict on a claim."""

    CONFIRMED = "confirmed"
    """The whole interval lies within the claimed range."""
    REFINED = "refined"
    """There is an effect in the claimed direction, but its size differs or may differ."""
    REFUTED = "refuted"
    """The whole interval lies outside the claimed range, and does not surely point in its direction."""
    OPEN = "open"
    """The claim may be true or false."""


def check_claim(
    claimed: tuple[float, float], low: float, high: float, *, is_real: bool, has_direction: bool = True
) -> ClaimVerdict:
    """Check a claimed range of effects against the interval from `low` to `high`.

    A claim about a share has no direction (`has_direction`), because every share would point in it.
    """
    least, most = claimed
    if least <= low and high <= most:
        return ClaimVerdict.CONFIRMED
    is_beyond = high < least or low > most
    is_in_direction = has_direction and ((least >= 0 and low > 0) or (most <= 0 and high < 0))
    # No relevant difference was claimed. There is a difference, which may or may not be relevant.
    is_small = least < 0 < most and (low > 0 or high < 0) and not is_beyond
    if is_real and (is_in_direction or is_small):
        return ClaimVerdict.REFINED
    # An effect that may be chance can refute a claimed difference, but not a claim that there is none.
    is_refuted = is_beyond and (is_real or not least < 0 < most)
    return ClaimVerdict.REFUTED if is_refuted else ClaimVerdict.OPEN


def interval_position(claimed: tuple[float, float], compared: Compared) -> str:
    """Return the position of the measured interval relative to the claimed range, as text."""
    if compared.verdict is None:
        return ""
    low, high = compared.ends
    least, most = claimed
    if high < least:
        return "below it"
    if low > most:
        return "above it"
    return "in it" if least <= low and high <= most else "partly in it"


def check_comparison(
    claimed: tuple[float, float], compared: Compared, *, has_direction: bool = True
) -> ClaimVerdict | None:
    """Check a claim against a compared metric. Return `None` if the metric has no verdict."""
    if compared.verdict is None:
        return None
    return check_claim(claimed, *compared.ends, is_real=compared.verdict.kind.is_real, has_direction=has_direction)
