"""A closed queueing network: users in a loop, a server that serves one at a time, and a delay without a queue.

If the model predicts a proxy's latency from its CPU time alone, requests wait for nothing but their turn.
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
# The least service time: zero has no queue and no logarithm.
LEAST_MS = 1e-3
SECOND_MS = 1000.0
EXACT = 1e-15


@dataclass(frozen=True)
class Server:
    """Parameters of the model, in milliseconds."""

    service: float
    """Mean service time of a request."""
    delay: float
    """The rest of the latency, which does not depend on the number of users."""

    @property
    def knee(self) -> float:
        """The number of users from which on each request finds others before it."""
        return (self.service + self.delay) / self.service

    def latency(self, users: int) -> float:
        """Return the mean latency by mean value analysis, which is exact for exponential service times."""
        waiting = total = 0.0
        for count in range(1, users + 1):
            at_server = self.service * (1 + waiting)
            total = at_server + self.delay
            waiting = count * at_server / total
        return total

    def throughput(self, users: int) -> float:
        """Return the requests per second: the number of users over the latency."""
        return users * SECOND_MS / self.latency(users)


@dataclass(frozen=True)
class Point:
    """Measured values of an arm."""

    arm: str
    users: int
    latency: float
    """The mean of its runs, in milliseconds."""
    low: float
    high: float
    throughput: float

    @property
    def in_system(self) -> float:
        """Requests in flight by Little's law, which should be the number of users."""
        return self.throughput * self.latency / SECOND_MS


@dataclass(frozen=True)
class Queueing:
    """Measured points, and the predictions of two models."""

    points: Sequence[Point]
    """From the fewest users to the most."""
    measured: Server
    """The CPU time of a request with the most users, and the rest of the latency with the fewest users."""
    fitted: Server
    """Fitted to all points."""


def queueing(investigation: Investigation, done: Mapping[str, Sequence[Run]]) -> Queueing | None:
    """Compare the arms of a queue with the model; `None` if there are too few of them."""
    if investigation.queue is None:
        return None
    counted = [run for runs in done.values() if not any(other.limited for other in runs) for run in runs]
    runs = {
        arm: [run for run in counted if run.arm == arm and "mean" in run.figures] for arm in investigation.queue.arms
    }
    alpha = alpha_per_look(investigation.session.looks)
    points = [
        _point(arm, investigation.load_of(arm).users, of_arm, alpha)
        for arm, of_arm in runs.items()
        if len(of_arm) >= LEAST_RUNS
    ]
    points.sort(key=lambda point: point.users)
    if len(points) < LEAST_POINTS:
        return None
    measured = _measured(points, fmean(map(_service, runs[points[-1].arm])))
    return Queueing(points, measured, fit(((point.users, point.latency) for point in points), measured))


def fit(latencies: Iterable[tuple[int, float]], start: Server) -> Server:
    """Fit the model to latencies by number of users, by least squares of relative errors."""
    known = list(latencies)

    def off(logarithms: np.ndarray) -> list[float]:
        server = Server(*np.exp(logarithms))
        return [float(np.log(server.latency(users) / latency)) for users, latency in known]

    # Default steps and tolerances give about eight digits, which differ from machine to machine.
    begin = np.log([max(start.service, LEAST_MS), max(start.delay, LEAST_MS)])
    solution = least_squares(off, begin, jac="3-point", ftol=EXACT, xtol=EXACT, gtol=EXACT)
    return Server(*(float(value) for value in np.exp(solution.x)))


def _point(arm: str, users: int, runs: Sequence[Run], alpha: float) -> Point:
    statistics = DescrStatsW(np.log([run.figures["mean"] for run in runs]))
    low, high = np.exp(statistics.tconfint_mean(alpha))
    throughput = fmean(run.figures["throughput"] for run in runs)
    return Point(arm, users, float(np.exp(statistics.mean)), float(low), float(high), throughput)


def _measured(points: Sequence[Point], service: float) -> Server:
    fewest = points[0]
    return Server(max(service, LEAST_MS), max(fewest.latency - service, LEAST_MS))


def _service(run: Run) -> float:
    """Return the CPU time of a request: with one core, that of all programs; else that of the busiest program."""
    spent = sum(run.cpu.values()) if len(run.cores) == 1 else max(run.cpu.values(), default=0.0)
    return spent * SECOND_MS / max(run.requests, 1)
