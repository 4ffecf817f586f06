"""What becomes of a claim, given what was measured: by a rule, the same for all of them, not by taste."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel_lab.stats.compare import Compared


class Ruling(StrEnum):
    """What may be said of a claim."""

    CONFIRMED = "confirmed"
    """All of our interval lies within what it says."""
    REFINED = "refined"
    """There is such an effect, but of another size, or of one that may be another."""
    REFUTED = "refuted"
    """All of our interval lies beyond what it says, and does not surely point its way."""
    OPEN = "open"
    """It may be as it says, or not."""


def ruling(claimed: tuple[float, float], low: float, high: float, *, is_real: bool, has_a_way: bool = True) -> Ruling:
    """Rule on a claim of effects within a range, where ours lies between `low` and `high`, if it is real at all.

    What is claimed of a share has no way: every part of a whole would point it.
    """
    least, most = claimed
    if least <= low and high <= most:
        return Ruling.CONFIRMED
    is_beyond = high < least or low > most
    is_on_its_way = has_a_way and ((least >= 0 and low > 0) or (most <= 0 and high < 0))
    # Where no difference that matters was claimed, there is one, of which it is open whether it matters.
    is_small = least < 0 < most and (low > 0 or high < 0) and not is_beyond
    if is_real and (is_on_its_way or is_small):
        return Ruling.REFINED
    # What may be chance refutes a difference, but not that there is none.
    is_refuted = is_beyond and (is_real or not least < 0 < most)
    return Ruling.REFUTED if is_refuted else Ruling.OPEN


def lying(claimed: tuple[float, float], found: Compared) -> str:
    """Say where our interval lies beside a range that was claimed."""
    if found.verdict is None:
        return ""
    low, high = found.ends
    least, most = claimed
    if high < least:
        return "below it"
    if low > most:
        return "above it"
    return "in it" if least <= low and high <= most else "partly in it"


def ruled(claimed: tuple[float, float], found: Compared, *, has_a_way: bool = True) -> Ruling | None:
    """Rule on a claim by a figure; None if nothing may be said of that."""
    if found.verdict is None:
        return None
    return ruling(claimed, *found.ends, is_real=found.verdict.kind.is_real, has_a_way=has_a_way)
