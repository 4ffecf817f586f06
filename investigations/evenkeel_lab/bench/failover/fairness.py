"""Max-min fairness: clients with a demand below an equal share get it, the others share the rest equally."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def fair(demands: Sequence[float], capacity: float) -> list[float]:
    """Return the max-min fair share of each client."""
    shares = [0.0] * len(demands)
    rest, waiting = capacity, sorted(range(len(demands)), key=lambda client: demands[client])
    while waiting:
        client = waiting.pop(0)
        shares[client] = min(demands[client], rest / (len(waiting) + 1))
        rest -= shares[client]
    return shares


def shortfall(demands: Sequence[float], served: Sequence[float]) -> float:
    """Return the largest relative shortfall of a client from its fair share of all that was served."""
    shares = fair(demands, sum(served))
    return max((1 - have / share for have, share in zip(served, shares, strict=True) if share), default=0.0)


def modest(demands: Sequence[float], served: Sequence[float]) -> float:
    """Return the smallest served share among clients with a demand below an equal share; 1 if there is none."""
    shares = fair(demands, sum(served))
    return min(
        (
            have / demand
            for have, demand, share in zip(served, demands, shares, strict=True)
            if demand and share >= demand
        ),
        default=1.0,
    )
