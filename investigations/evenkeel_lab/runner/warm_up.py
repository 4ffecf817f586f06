"""Warm-up: a subject is loaded window after window, until the CPU time of a request is steady.

A busy machine changes CPU time far less than latency. A subject that is not steady after all windows continues its
warm-up in its runs, which do not count until it is.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.runner.measurement.core_pinning import cores, pin, shares
from evenkeel_lab.runner.measurement.run import measure, next_start_ns
from evenkeel_lab.runner.schedule import ScheduledPair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from threading import Event

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.results.store import Store
    from evenkeel_lab.runner.targets import Target

# A subject is warm when its last windows have about the same cost.
WINDOWS = 3
COLD = "it had not settled when the run began"
MOST_WINDOWS = 9


@dataclass
class WarmUp:
    """Warm-up of a session's subjects."""

    investigation: Investigation
    store: Store
    stop: Event
    costs: dict[str, list[float]] = field(default_factory=dict)
    """Milliseconds of CPU per request in each window, by process, until it was warm."""
    warm: set[str] = field(default_factory=set)

    async def until_steady(self, groups: Sequence[Sequence[Target]]) -> None:
        """Load freshly booted processes, in the groups in which they will be compared, until all are warm.

        After `MOST_WINDOWS` windows, a process that is still not warm goes on in its runs.
        """
        for members in groups:
            group = [target for target in members if self.investigation.warm_up_of(target.name)]
            self.costs |= {target.process: [] for target in group}
            self.warm -= {target.process for target in group}
            for batch in as_many_as_cores(group):
                for number in range(MOST_WINDOWS):
                    if not all(self.is_warm(target.process) for target in batch):
                        runs = await self._window(batch, number)
                        self.note((target.process, run) for target, run in zip(batch, runs, strict=True))

    def note(self, runs: Iterable[tuple[str, Run]]) -> None:
        """Add the costs of `runs` as further windows of their processes."""
        for process, run in runs:
            if not self.is_warm(process):
                self.costs[process].append(run.figures.get("cpu_ms", 0.0))
                if is_steady(self.costs[process], self.investigation.gates.settled):
                    self.warm.add(process)

    def is_warm(self, process: str) -> bool:
        """Whether a process is warm. Targets without a process always are."""
        return process not in self.costs or process in self.warm

    def document(self) -> dict[str, Any]:
        """Return the warm-up of each process, for a file."""
        return {name: {"costs": costs, "steady": self.is_warm(name)} for name, costs in self.costs.items()}

    async def _window(self, group: Sequence[Target], number: int) -> list[Run]:
        """Load subjects side by side, each on its own cores, as in a duet."""
        start = next_start_ns()
        window = ScheduledPair(0, tuple(target.name for target in group), 0)
        runs = []
        for target, own_cores in zip(group, shares(len(group)), strict=True):
            wanted = self.investigation.load_of(target.name)
            if wanted.duration is not None:
                wanted = wanted.model_copy(update={"duration": self.investigation.warm_up_of(target.name)})
            if target.pid:
                pin(target.pid, own_cores)
            records = self.store.folder_of(window, target.name)
            # With its own seed, so that no cache knows the requests of the measured runs.
            runs.append(measure(target, wanted, number, start, records, own_cores, self.investigation.gates, self.stop))
        measured = list(await asyncio.gather(*runs))
        for target, run in zip(group, measured, strict=True):
            _require_answers(target, run)
        return measured


def _require_answers(target: Target, run: Run) -> None:
    """Raise if no request was answered: the session would be of no use."""
    if run.figures.get("error_rate") == 1:
        raise RigFailure(
            f"All {run.requests:,} requests of the warm-up of {target.name} failed.",
            hint="Its log, in the folder that `evenkeel cache` names, may say why. Check its settings and its load.",
        )


def as_many_as_cores(subjects: Sequence[Target]) -> list[Sequence[Target]]:
    """Return subjects in batches with a core for each."""
    count = len(cores())
    return [subjects[start : start + count] for start in range(0, len(subjects), count)]


def is_steady(costs: Sequence[float], within: float) -> bool:
    """Whether the costs of the last three windows vary by at most `within` (coefficient of variation).

    With few requests in a window, chance alone may vary by more: then several windows are merged into one. If `within`
    allows any variation, one window is enough.
    """
    if within >= 1:
        return bool(costs)
    for size in range(1, len(costs) // WINDOWS + 1):
        means = np.reshape(costs[-WINDOWS * size :], (WINDOWS, size)).mean(axis=1)
        if min(means) > 0 and means.std(ddof=1) <= within * means.mean():
            return True
    return False
