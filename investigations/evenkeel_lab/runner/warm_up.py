"""Warming up: a subject is loaded, window after window, until a request costs it what the one before did.

What it costs is CPU time, which a busy machine changes far less than how fast requests are answered. A subject that has
not settled when the windows are used up goes on warming up in its runs, which do not count until it has.
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

# A subject is warm when its last windows cost as much as each other.
WINDOWS = 3
COLD = "it had not settled when the run began"
MOST_WINDOWS = 9


@dataclass
class WarmUp:
    """The warming up of a session's subjects."""

    investigation: Investigation
    store: Store
    stop: Event
    costs: dict[str, list[float]] = field(default_factory=dict)
    """What a request has cost each process until it was warm, in milliseconds of CPU, window by window."""
    warm: set[str] = field(default_factory=set)

    async def until_steady(self, meeting: Sequence[Sequence[Target]]) -> None:
        """Load processes that have just been booted, beside those that they will meet, until all are warm.

        One that is not after so many windows will have to be in its runs.
        """
        for wanted in meeting:
            group = [target for target in wanted if self.investigation.warm_up_of(target.name)]
            self.costs |= {target.process: [] for target in group}
            self.warm -= {target.process for target in group}
            for some in as_many_as_cores(group):
                for number in range(MOST_WINDOWS):
                    if not all(self.is_warm(target.process) for target in some):
                        runs = await self._window(some, number)
                        self.note((target.process, run) for target, run in zip(some, runs, strict=True))

    def note(self, runs: Iterable[tuple[str, Run]]) -> None:
        """Take what requests have cost processes since as further windows."""
        for process, run in runs:
            if not self.is_warm(process):
                self.costs[process].append(run.figures.get("cpu_ms", 0.0))
                if is_steady(self.costs[process], self.investigation.gates.settled):
                    self.warm.add(process)

    def is_warm(self, process: str) -> bool:
        """Whether a process is warm; what has no CPU time of its own always is."""
        return process not in self.costs or process in self.warm

    def document(self) -> dict[str, Any]:
        """Return how each process was warmed up, for a file."""
        return {name: {"costs": told, "steady": self.is_warm(name)} for name, told in self.costs.items()}

    async def _window(self, group: Sequence[Target], number: int) -> list[Run]:
        """Load subjects side by side, each on cores of its own, as they will meet."""
        start = next_start_ns()
        place = ScheduledPair(0, tuple(target.name for target in group), 0)
        runs = []
        for target, places in zip(group, shares(len(group)), strict=True):
            wanted = self.investigation.load_of(target.name)
            if wanted.duration is not None:
                wanted = wanted.model_copy(update={"duration": self.investigation.warm_up_of(target.name)})
            if target.pid:
                pin(target.pid, places)
            records = self.store.place(place, target.name)
            # Draws of its own, so that no cache knows the requests that are measured.
            runs.append(measure(target, wanted, number, start, records, places, self.investigation.gates, self.stop))
        found = list(await asyncio.gather(*runs))
        for target, run in zip(group, found, strict=True):
            _require_answers(target, run)
        return found


def _require_answers(target: Target, run: Run) -> None:
    """Raise for a subject that answers nothing: hours of it would show nothing either."""
    if run.figures.get("error_rate") == 1:
        raise RigFailure(
            f"All {run.requests:,} requests that were to warm up {target.name} have failed.",
            hint="Its log says why, in the folder that `evenkeel cache` names. Look at its settings and its load.",
        )


def as_many_as_cores(subjects: Sequence[Target]) -> list[Sequence[Target]]:
    """Return subjects a few at a time, so that there is a core for each."""
    count = len(cores())
    return [subjects[start : start + count] for start in range(0, len(subjects), count)]


def is_steady(costs: Sequence[float], within: float) -> bool:
    """Return whether the last three windows cost as much as each other.

    Where few requests fit into a window, their chance alone differs by more: then several windows are taken as one. Who
    lets them vary by anything needs no second one.
    """
    if within >= 1:
        return bool(costs)
    for size in range(1, len(costs) // WINDOWS + 1):
        means = np.reshape(costs[-WINDOWS * size :], (WINDOWS, size)).mean(axis=1)
        if min(means) > 0 and means.std(ddof=1) <= within * means.mean():
            return True
    return False
