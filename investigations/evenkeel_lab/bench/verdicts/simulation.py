"""Sessions that never were: runs whose truth is known, noisy as real ones are.

Latencies are lognormal and remember the one before; one in a hundred meets a pause; each run has an effect of its own,
and the machine drifts slowly through the session. What differs between the arms is known, and so who finds it is too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import lfilter

if TYPE_CHECKING:
    import numpy.typing as npt

    Latencies = npt.NDArray[np.float64]

REQUESTS = 2000
MEDIAN_MS, SIGMA, MEMORY = 100.0, 0.4, 0.5
SPIKES, SPIKE_MS = 0.01, 200.0
RUN_EFFECT = 0.03
# How far the machine drifts from end to end of a session, and how much it wanders from run to run.
DRIFT, WANDER = 0.04, 0.008


@dataclass(frozen=True)
class Session:
    """The latencies of each pair's runs: pair, request."""

    baseline: Latencies
    candidate: Latencies


def session(source: np.random.Generator, pairs: int, effect: float = 0.0) -> Session:
    """Return a session whose candidate is slower by a factor of `1 + effect`; of each pair either may run first."""
    runs = _runs(source, 2 * pairs).reshape(pairs, 2, REQUESTS)
    first = source.integers(0, 2, pairs)
    pair = np.arange(pairs)
    return Session(runs[pair, first], runs[pair, 1 - first] * (1 + effect))


def median(seed: int, *, effect: float = 0.0) -> float:
    """Return the median of one run, which an investigation can compare with another."""
    return float(np.median(_runs(np.random.default_rng([seed, int(effect * 1e6)]), 1))) * (1 + effect)


def blocks(source: np.random.Generator, runs: int) -> Session:
    """Return a session without any difference whose arms ran one after the other: AAAA, then BBBB."""
    found = _runs(source, 2 * runs)
    return Session(found[:runs], found[runs:])


def _runs(source: np.random.Generator, count: int) -> Latencies:
    """Return runs in the order in which the machine ran them."""
    noise = lfilter([np.sqrt(1 - MEMORY**2)], [1, -MEMORY], source.standard_normal((count, REQUESTS)), axis=1)
    own = source.normal(0, RUN_EFFECT, (count, 1))
    drift = source.normal(0, DRIFT) * np.linspace(-0.5, 0.5, count) + source.normal(0, WANDER, count).cumsum()
    spiked = source.random((count, REQUESTS)) < SPIKES
    spikes = np.where(spiked, source.exponential(SPIKE_MS, (count, REQUESTS)), 0.0)
    found: Latencies = MEDIAN_MS * np.exp(SIGMA * noise + own + drift[:, None]) + spikes
    return found
