"""A session from beginning to end: subjects up, warmed up, then meeting after meeting, until a look settles it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import psutil

from evenkeel_lab.experiment.investigation import AGAIN, DIRECT, Design, Kind, Subjects as Life
from evenkeel_lab.session import counters
from evenkeel_lab.session.arms import targets
from evenkeel_lab.session.function import call
from evenkeel_lab.session.judge import judge_session
from evenkeel_lab.session.meetings import Meeting, meetings
from evenkeel_lab.session.provenance import provenance
from evenkeel_lab.session.run import Run, measure, soon_ns
from evenkeel_lab.session.warm_up import LEAD_SECONDS, WarmUp, is_steady, shares
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from threading import Event

    from evenkeel_lab.experiment import Investigation
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.session.arms import Target
    from evenkeel_lab.session.judge import Judgement
    from evenkeel_lab.session.store import Store
    from evenkeel_lab.stack.stack import Options, Stack

    # What runs for a meeting, by the names of its arms.
    Subjects = Callable[[Meeting], AbstractAsyncContextManager[Mapping[str, Target]]]


def _nothing(_: Meeting) -> contextlib.nullcontext[Mapping[str, Target]]:
    return contextlib.nullcontext({})


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

    async def conduct(self) -> Judgement:
        """Measure until a look settles it, or the last one has been taken."""
        last = self.investigation.session.looks[-1]
        done = self.store.done()
        wanted = [one for one in meetings(self.investigation, last) if one.name not in done]
        if wanted and not self._settled(done):
            async with self._subjects() as subjects:
                await self._measure(wanted, subjects, done)
        return judge_session(self.investigation, done, last)

    @contextlib.asynccontextmanager
    async def _subjects(self) -> AsyncIterator[Subjects]:
        """Run what is measured; functions need nothing to be run."""
        if all(arm.subject is Kind.FUNCTION for arm in self.investigation.arms.values()):
            self.store.begin(self.name, self.text, provenance(engine="none"))
            yield _nothing
            return
        mock = self.investigation.mock
        options = self.options.with_mock({"seed": mock.seed, "latency": mock.latency}, mock.workers)
        warm_up = WarmUp(self.investigation, self.store, self.stop)
        async with stack(options, steps=self.steps) as below:
            self.store.begin(self.name, self.text, provenance(below.engine.kind))
            try:
                if self.investigation.session.subjects is Life.FRESH:
                    yield partial(self._fresh, below, warm_up)
                    return
                names = [*self.investigation.arms, AGAIN, DIRECT]
                async with targets(below, self.investigation, names) as found:
                    with self.steps.step("warming up"):
                        costs = await warm_up.until_steady([target for target in found.values() if target.pid])
                    self.store.warmed_up(
                        {name: {"costs": told, "steady": is_steady(told)} for name, told in costs.items()}
                    )
                    yield lambda _: contextlib.nullcontext(found)
            finally:
                # Loads run in threads, which nobody can cancel.
                self.stop.set()

    @contextlib.asynccontextmanager
    async def _fresh(self, below: Stack, warm_up: WarmUp, meeting: Meeting) -> AsyncIterator[Mapping[str, Target]]:
        """Run the arms of one meeting, for nothing else."""
        async with targets(below, self.investigation, meeting.arms) as found:
            await warm_up.once([target for target in found.values() if target.pid])
            yield found

    async def _measure(self, wanted: list[Meeting], subjects: Subjects, done: dict[str, list[Run]]) -> None:
        last = self.investigation.session.looks[-1]
        began = time.monotonic()
        for number, meeting in enumerate(wanted, 1):
            async with subjects(meeting) as found:
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
        together = 1 < len(meeting.arms) <= (psutil.cpu_count() or 1)
        if self.investigation.session.design is Design.DUETS and together:
            start, places = soon_ns(LEAD_SECONDS), shares(len(meeting.arms))
            runs = (
                self._run(meeting, arm, found, start, cores) for arm, cores in zip(meeting.arms, places, strict=True)
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
