"""A session from beginning to end: subjects up, warmed up, then meeting after meeting, until a look settles it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import psutil

from evenkeel_lab.experiment.investigation import Design, Kind
from evenkeel_lab.session import counters
from evenkeel_lab.session.arms import targets
from evenkeel_lab.session.function import call
from evenkeel_lab.session.judge import judge_session
from evenkeel_lab.session.meetings import Meeting, meetings
from evenkeel_lab.session.provenance import provenance
from evenkeel_lab.session.run import Run, measure, soon_ns
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from threading import Event

    from evenkeel_lab.experiment import Investigation
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.session.arms import Target
    from evenkeel_lab.session.judge import Judgement
    from evenkeel_lab.session.store import Store
    from evenkeel_lab.stack.stack import Options

# For Locust to come up, so that the runs of a duet begin at the same moment.
LEAD_SECONDS = 4.0
# A subject is warm when its last windows answer as fast as each other, within so much.
WINDOWS, SETTLED = 3, 0.05
MOST_WINDOWS = 6


class Told(Protocol):
    """Somebody who wants to know how far a session is."""

    def meeting(self, meeting: Meeting, runs: list[Run], judgement: Judgement, left: float) -> None:
        """Hear of a meeting that has come to its end, and how many seconds are left."""


@dataclass
class Session:
    """One session, and what it needs."""

    name: str
    investigation: Investigation
    text: str
    store: Store
    options: Options
    steps: Steps
    told: Told
    stop: Event
    after: Callable[[Mapping[str, Target]], Awaitable[None]] | None = None
    """What else is done with the subjects, when there is nothing left to be measured."""

    async def conduct(self) -> Judgement:
        """Measure until a look settles it, or the last one has been taken."""
        last = self.investigation.session.looks[-1]
        done = self.store.done()
        wanted = [one for one in meetings(self.investigation, last) if one.name not in done]
        if self._settled(done):
            wanted = []
        if wanted or self.after:
            async with self._subjects(measured=bool(wanted)) as found:
                await self._measure(wanted, found, done)
                if self.after:
                    await self.after(found)
        return judge_session(self.investigation, done, last)

    @contextlib.asynccontextmanager
    async def _subjects(self, *, measured: bool) -> AsyncIterator[Mapping[str, Target]]:
        """Run what is measured, warm; functions need nothing to be run."""
        if all(arm.subject is Kind.FUNCTION for arm in self.investigation.arms.values()):
            self.store.begin(self.name, self.text, provenance(engine="none"))
            yield {}
            return
        mock = self.investigation.mock
        options = self.options.with_mock({"seed": mock.seed, "latency": mock.latency}, mock.workers)
        # Without pairs, nobody needs a second baseline.
        session = self.investigation.session
        session = session.model_copy(update={"noise": session.noise and measured})
        asked = self.investigation.model_copy(update={"session": session})
        async with stack(options, steps=self.steps) as below, targets(below, asked) as found:
            self.store.begin(self.name, self.text, provenance(below.engine.kind))
            try:
                told = await self._warm_up(found)
                if measured:
                    self.store.warmed_up(told)
                yield found
            finally:
                # Loads run in threads, which nobody can cancel.
                self.stop.set()

    async def _measure(self, wanted: list[Meeting], found: Mapping[str, Target], done: dict[str, list[Run]]) -> None:
        last = self.investigation.session.looks[-1]
        began = time.monotonic()
        for number, meeting in enumerate(wanted, 1):
            runs = await self._meet(meeting, found)
            self.store.add(meeting, runs)
            done[meeting.name] = runs
            left = (time.monotonic() - began) / number * (len(wanted) - number)
            self.told.meeting(meeting, runs, judge_session(self.investigation, done, last), left)
            if self._settled(done):
                return

    def _settled(self, done: Mapping[str, list[Run]]) -> bool:
        """Whether a look that was declared beforehand has been reached, and settles it."""
        for look in self.investigation.session.looks:
            if all(one.name in done for one in meetings(self.investigation, look)):
                judgement = judge_session(self.investigation, done, look)
                if judgement.settled and not judgement.invalid:
                    return True
        return False

    async def _meet(self, meeting: Meeting, found: Mapping[str, Target]) -> list[Run]:
        """Run a pair: side by side, each on a core of its own, or one after the other."""
        places = [(core,) for core in range(psutil.cpu_count() or 1)]
        if self.investigation.session.design is Design.DUETS and 1 < len(meeting.arms) <= len(places):
            start = soon_ns(LEAD_SECONDS)
            runs = (
                self._run(meeting, arm, found, start, cores) for arm, cores in zip(meeting.arms, places, strict=False)
            )
            return list(await asyncio.gather(*runs))
        return [await self._run(meeting, arm, found, soon_ns(LEAD_SECONDS), ()) for arm in meeting.arms]

    async def _run(
        self, meeting: Meeting, name: str, found: Mapping[str, Target], start_ns: int, cores: tuple[int, ...]
    ) -> Run:
        arm = self.investigation.arms.get(name)
        if arm is not None and arm.subject is Kind.FUNCTION:
            return await call(name, arm, meeting.seed)
        target = found[name]
        if target.pid:
            counters.pin(target.pid, cores or range(psutil.cpu_count() or 1))
        place = self.store.place(meeting, name)
        wanted, gates = self.investigation.load, self.investigation.gates
        return await measure(target, wanted, meeting.seed, start_ns, place, cores, gates, self.stop)

    async def _warm_up(self, found: Mapping[str, Target]) -> dict[str, Any]:
        """Load all subjects, window after window, until each answers as fast as before."""
        warm = [target for target in found.values() if target.pid]
        seconds = self.investigation.session.warm_up
        wanted = self.investigation.load.model_copy(update={"duration": seconds, "requests": None})
        rates: dict[str, list[float]] = {target.name: [] for target in warm}
        with self.steps.step("warming up"):
            for window in range(MOST_WINDOWS):
                meeting, start = Meeting(0, tuple(rates), window), soon_ns(LEAD_SECONDS)
                runs = (
                    measure(
                        target,
                        wanted,
                        window,
                        start,
                        self.store.place(meeting, target.name),
                        (),
                        self.investigation.gates,
                        self.stop,
                    )
                    for target in warm
                )
                for run in await asyncio.gather(*runs):
                    rates[run.arm].append(run.figures.get("throughput", 0.0))
                if all(map(is_steady, rates.values())):
                    break
        return {name: {"rates": told, "steady": is_steady(told)} for name, told in rates.items()}


def is_steady(rates: Sequence[float]) -> bool:
    """Return whether a subject is warm: its last windows were as fast as each other."""
    last = rates[-WINDOWS:]
    mean = float(np.mean(last)) if len(last) == WINDOWS else 0.0
    return mean > 0 and float(np.std(last)) / mean <= SETTLED
