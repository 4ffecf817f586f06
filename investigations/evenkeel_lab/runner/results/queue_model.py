"""What a queue would do: users in a loop, a server that serves one at a time, and a delay that keeps nobody waiting.

If a proxy's latency is what this says, made of its CPU time alone, then requests wait for nothing but their turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import least_squares
from statsmodels.stats.weightstats import DescrStatsW

from evenkeel_lab.stats import alpha_per_look

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.measurement.run import Run

LEAST_RUNS, LEAST_POINTS = 2, 3
# A server that takes no time at all has no queue, nor a logarithm.
LEAST_MS = 1e-3
SECOND_MS = 1000.0
EXACT = 1e-15


@dataclass(frozen=True)
class Server:
    """All that such a queue depends on, in milliseconds."""

    service: float
    """For how long a request has the server for itself, in the mean."""
    delay: float
    """What else it takes, however many there are."""

    @property
    def knee(self) -> float:
        """From how many users on there is somebody before one, whenever one comes."""
        return (self.service + self.delay) / self.service

    def latency(self, users: int) -> float:
        """Return how long a request takes in the mean: by mean value analysis, exact if service is exponential."""
        waiting = found = 0.0
        for count in range(1, users + 1):
            there = self.service * (1 + waiting)
            found = there + self.delay
            waiting = count * there / found
        return found

    def throughput(self, users: int) -> float:
        """Return how many requests a second are answered: as many as there are users, over what one takes."""
        return users * SECOND_MS / self.latency(users)


@dataclass(frozen=True)
class Point:
    """What an arm has shown."""

    arm: str
    users: int
    latency: float
    """The mean of its runs, in milliseconds."""
    low: float
    high: float
    throughput: float

    @property
    def in_system(self) -> float:
        """How many requests were under way at a time, by Little's law: as many as there are users."""
        return self.throughput * self.latency / SECOND_MS


@dataclass(frozen=True)
class Queueing:
    """What was measured, and what queues would have shown."""

    points: Sequence[Point]
    """From the fewest users to the most."""
    measured: Server
    """Made of the CPU time of a request where there are most users, and of the latency where there are fewest."""
    fitted: Server
    """The one that comes nearest to all points."""


def queueing(investigation: Investigation, done: Mapping[str, Sequence[Run]]) -> Queueing | None:
    """Return what the arms of a queue have shown; None if there are none, or not enough of them."""
    if investigation.queue is None:
        return None
    counted = [run for runs in done.values() if not any(one.limited for one in runs) for run in runs]
    runs = {
        arm: [run for run in counted if run.arm == arm and "mean" in run.figures] for arm in investigation.queue.arms
    }
    alpha = alpha_per_look(investigation.session.looks)
    points = [
        _point(arm, investigation.load_of(arm).users, found, alpha)
        for arm, found in runs.items()
        if len(found) >= LEAST_RUNS
    ]
    points.sort(key=lambda one: one.users)
    if len(points) < LEAST_POINTS:
        return None
    measured = _measured(points, fmean(map(_service, runs[points[-1].arm])))
    return Queueing(points, measured, fit(((one.users, one.latency) for one in points), measured))


def fit(latencies: Iterable[tuple[int, float]], start: Server) -> Server:
    """Return the server that comes nearest to latencies, of which each counts by its share."""
    known = list(latencies)

    def off(logarithms: np.ndarray) -> list[float]:
        server = Server(*np.exp(logarithms))
        return [float(np.log(server.latency(users) / latency)) for users, latency in known]

    # The usual slopes and tolerances end at the eighth digit or so, each machine at another one.
    begin = np.log([max(start.service, LEAST_MS), max(start.delay, LEAST_MS)])
    found = least_squares(off, begin, jac="3-point", ftol=EXACT, xtol=EXACT, gtol=EXACT)
    return Server(*(float(one) for one in np.exp(found.x)))


def _point(arm: str, users: int, runs: Sequence[Run], alpha: float) -> Point:
    told = DescrStatsW(np.log([run.figures["mean"] for run in runs]))
    low, high = np.exp(told.tconfint_mean(alpha))
    throughput = fmean(run.figures["throughput"] for run in runs)
    return Point(arm, users, float(np.exp(told.mean)), float(low), float(high), throughput)


def _measured(points: Sequence[Point], service: float) -> Server:
    fewest = points[0]
    return Server(max(service, LEAST_MS), max(fewest.latency - service, LEAST_MS))


def _service(run: Run) -> float:
    """Return the CPU time of a request: where there is one core, of all programs; else of the one that needs most."""
    spent = sum(run.cpu.values()) if len(run.cores) == 1 else max(run.cpu.values(), default=0.0)
    return spent * SECOND_MS / max(run.requests, 1)
