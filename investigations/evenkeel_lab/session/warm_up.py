"""Warming up: a subject is loaded, window after window, until a request costs it what the one before did.

What it costs is CPU time, which a busy machine changes far less than how fast requests are answered.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.session.cores import cores, pin, shares
from evenkeel_lab.session.meetings import Meeting
from evenkeel_lab.session.run import measure, soon_ns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from evenkeel_lab.experiment import Investigation
    from evenkeel_lab.session.arms import Target
    from evenkeel_lab.session.store import Store

# For Locust to come up, so that the runs of a window, or of a duet, begin at the same moment.
LEAD_SECONDS = 4.0
# A subject is warm when its last windows cost as much as each other, within so much.
WINDOWS, SETTLED = 3, 0.05
MOST_WINDOWS = 8


@dataclass
class WarmUp:
    """The warming up of a session's subjects."""

    investigation: Investigation
    store: Store
    stop: Event

    async def until_steady(self, subjects: Sequence[Target]) -> dict[str, list[float]]:
        """Load subjects until each is warm; return what a request has cost each of them, window by window."""
        costs: dict[str, list[float]] = {}
        for group in groups(subjects):
            own: dict[str, list[float]] = {target.name: [] for target in group}
            while not all(map(is_steady, own.values())) and len(own[group[0].name]) < MOST_WINDOWS:
                for name, cost in (await self._window(group, len(own[group[0].name]))).items():
                    own[name].append(cost)
            costs |= own
        return costs

    async def once(self, subjects: Sequence[Target]) -> None:
        """Load subjects for one window."""
        for group in groups(subjects):
            await self._window(group, 0)

    async def _window(self, group: Sequence[Target], number: int) -> dict[str, float]:
        """Load subjects side by side, each on cores of its own, as they will meet."""
        wanted = self.investigation.load
        if wanted.duration is not None:
            wanted = wanted.model_copy(update={"duration": self.investigation.session.warm_up})
        start = soon_ns(LEAD_SECONDS)
        place = Meeting(0, tuple(target.name for target in group), 0)
        runs = []
        for target, places in zip(group, shares(len(group)), strict=True):
            if target.pid:
                pin(target.pid, places)
            records = self.store.place(place, target.name)
            # Draws of its own, so that no cache knows the requests that are measured.
            runs.append(measure(target, wanted, number, start, records, places, self.investigation.gates, self.stop))
        return {run.arm: run.figures.get("cpu_ms", 0.0) for run in await asyncio.gather(*runs)}


def groups(subjects: Sequence[Target]) -> list[Sequence[Target]]:
    """Return subjects in groups of which each has a core for each."""
    count = len(cores())
    return [subjects[start : start + count] for start in range(0, len(subjects), count)]


def is_steady(costs: Sequence[float]) -> bool:
    """Return whether a subject is warm: its last windows cost as much as each other."""
    last = costs[-WINDOWS:]
    mean = float(np.mean(last)) if len(last) == WINDOWS else 0.0
    return mean > 0 and float(np.std(last)) / mean <= SETTLED
