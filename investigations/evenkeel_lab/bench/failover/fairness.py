"""What is fair when there is not enough: who asks for less than an equal share gets it, the others share the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def fair(asked: Sequence[float], there_is: float) -> list[float]:
    """Return what each is due of what there is: equal shares, of which nobody gets more than was asked for."""
    due = [0.0] * len(asked)
    rest, waiting = there_is, sorted(range(len(asked)), key=lambda one: asked[one])
    while waiting:
        one = waiting.pop(0)
        due[one] = min(asked[one], rest / (len(waiting) + 1))
        rest -= due[one]
    return due


def shortfall(asked: Sequence[float], got: Sequence[float]) -> float:
    """Return by which share the worst treated got less than what was due of all that was given."""
    due = fair(asked, sum(got))
    return max((1 - have / want for have, want in zip(got, due, strict=True) if want), default=0.0)


def modest(asked: Sequence[float], got: Sequence[float]) -> float:
    """Return which share was served of those who asked for less than an equal share, at the worst; 1 if nobody did."""
    due = fair(asked, sum(got))
    return min(
        (have / want for have, want, most in zip(got, asked, due, strict=True) if want and most >= want), default=1.0
    )
