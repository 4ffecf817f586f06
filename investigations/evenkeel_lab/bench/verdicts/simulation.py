"""Simulated sessions with a known effect and realistic noise.

Latencies are lognormal and autocorrelated. One in a hundred requests meets a pause, each run has a random effect, and
the machine drifts slowly through the session. The difference between the arms is known, so errors can be counted.
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
RUN_EFFECT, BOOT_EFFECT = 0.03, 0.10
# Drift of the machine over a session, and its random walk from run to run.
DRIFT, WANDER = 0.04, 0.008


@dataclass(frozen=True)
class Session:
    """Latencies of each pair's runs: an array by pair and request."""

    baseline: Latencies
    candidate: Latencies


def session(source: np.random.Generator, pairs: int, effect: float = 0.0) -> Session:
    """Return a session with a candidate that is slower by the factor `1 + effect`. The order in a pair is random."""
    runs = _runs(source, 2 * pairs).reshape(pairs, 2, REQUESTS)
    first = source.integers(0, 2, pairs)
    pair = np.arange(pairs)
    return Session(runs[pair, first], runs[pair, 1 - first] * (1 + effect))


def boots(source: np.random.Generator, count: int, pairs_per_boot: int) -> npt.NDArray[np.float64]:
    """Return the logarithms of the differences of pairs, by boot and pair, of two arms that are the same.

    Each boot of each arm is faster or slower by chance, for all of its pairs.
    """
    of_boot = source.normal(0, BOOT_EFFECT, (count, 2))
    of_run = source.normal(0, RUN_EFFECT, (count, pairs_per_boot, 2))
    differences: npt.NDArray[np.float64] = np.diff(of_boot[:, None, :] + of_run, axis=2)[:, :, 0]
    return differences


def median(seed: int, *, effect: float = 0.0) -> float:
    """Return the median of one run, as the function of an arm."""
    return float(np.median(_runs(np.random.default_rng([seed, int(effect * 1e6)]), 1))) * (1 + effect)


def blocks(source: np.random.Generator, runs: int) -> Session:
    """Return a session without any difference, with all runs of an arm before those of the other: AAAA, then BBBB."""
    latencies = _runs(source, 2 * runs)
    return Session(latencies[:runs], latencies[runs:])


def _runs(source: np.random.Generator, count: int) -> Latencies:
    """Return the latencies of runs in the order of their execution."""
    noise = lfilter([np.sqrt(1 - MEMORY**2)], [1, -MEMORY], source.standard_normal((count, REQUESTS)), axis=1)
    own = source.normal(0, RUN_EFFECT, (count, 1))
    drift = source.normal(0, DRIFT) * np.linspace(-0.5, 0.5, count) + source.normal(0, WANDER, count).cumsum()
    spiked = source.random((count, REQUESTS)) < SPIKES
    spikes = np.where(spiked, source.exponential(SPIKE_MS, (count, REQUESTS)), 0.0)
    latencies: Latencies = MEDIAN_MS * np.exp(SIGMA * noise + own + drift[:, None]) + spikes
    return latencies
