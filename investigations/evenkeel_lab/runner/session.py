"""A session from beginning to end: subjects up, warmed up, then meeting after meeting, until a look settles it."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import Design
from evenkeel_lab.runner.function import call
from evenkeel_lab.runner.measurement.core_pinning import pin, shares, take_turns, turn
from evenkeel_lab.runner.measurement.fresh_key import with_fresh_key
from evenkeel_lab.runner.measurement.run import Run, measure, next_start_ns
from evenkeel_lab.runner.results.analysis import judge_session
from evenkeel_lab.runner.schedule import ScheduledPair, schedule
from evenkeel_lab.runner.subjects import subjects
from evenkeel_lab.runner.warm_up import COLD, WarmUp
from evenkeel_lab.stats import LEAST_PAIRS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from threading import Event

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.store import Store
    from evenkeel_lab.runner.subjects import Subjects
    from evenkeel_lab.runner.targets import Target
    from evenkeel_lab.stack.stack import Options


# Where booting takes longer than elsewhere, there may be no time left for the pairs that a verdict needs.
OVERTIME = 0.5


class ProgressListener(Protocol):
    """Somebody who wants to know how far a session is."""

    def meeting(self, meeting: ScheduledPair, runs: list[Run], judgement: Judgement, left: float) -> None:
        """Hear of a meeting that has come to its end, and how many seconds are left."""


@dataclass
class Session:
    """One session, and what it needs."""

    name: str
    investigation: Investigation
    store: Store
    options: Options
    steps: Steps
    told: ProgressListener
    stop: Event
    after: Callable[[Mapping[str, Target]], Awaitable[None]] | None = None
    """What else is done with the subjects, when there is nothing left to be measured."""
    begun: float = field(default_factory=time.monotonic, init=False)
    """When everything was installed that it needs."""

    async def conduct(self) -> Judgement:
        """Measure until a look settles it, or the last one has been taken."""
        last = self.investigation.session.looks[-1]
        self.store.reword(self.investigation)
        done = self.store.done()
        wanted = [one for one in schedule(self.investigation, last) if one.name not in done]
        if self._settled(done) or self.store.is_over:
            wanted.clear()
        if wanted or self.after:
            warm_up = WarmUp(self.investigation, self.store, self.stop)
            running_subjects = subjects(
                self.name, warm_up, self.options, self.steps, measured=bool(wanted), installed=self._begin
            )
            async with running_subjects as running:
                await self._measure(wanted, running, warm_up, done)
                if self.after:
                    async with running(ScheduledPair(0, tuple(self.investigation.arms), 0)) as found:
                        await self.after(found)
        return judge_session(self.investigation, done, last)

    async def _measure(
        self, wanted: list[ScheduledPair], running: Subjects, warm_up: WarmUp, done: dict[str, list[Run]]
    ) -> None:
        last = self.investigation.session.looks[-1]
        began = time.monotonic()
        for number, meeting in enumerate(wanted, 1):
            async with running(meeting) as found:
                process = {name: found[name].process for name in meeting.arms if name in found}
                cold = [name for name in process if not warm_up.is_warm(process[name])]
                runs = await self._meet(meeting, found)
            warm_up.note((process[run.arm], run) for run in runs if run.arm in process)
            runs = [replace(run, limited=(COLD, *run.limited)) if run.arm in cold else run for run in runs]
            self.store.add(meeting, runs)
            done[meeting.name] = runs
            each, coming = (time.monotonic() - began) / number, wanted[number:]
            judgement = judge_session(self.investigation, done, last)
            another = each * len(self.investigation.comparisons)
            left = self._seconds_left_for(judgement, another)
            self.told.meeting(meeting, runs, judgement, max(0.0, min(each * len(coming), left)))
            is_pair = not coming or coming[0].pair != meeting.pair
            if self._settled(done):
                return
            if is_pair and another > left:
                # Never continued: it would be judged again and again, after any number of pairs.
                self.store.end()
                return

    def _begin(self) -> None:
        self.begun = time.monotonic()

    def _seconds_left_for(self, judgement: Judgement, another: float) -> float:
        """Return for how much longer it may go on, where another pair takes so many seconds.

        It may go on for a few pairs that its first verdict needs, if there is time for all of these.
        """
        limit = self.investigation.session.seconds
        if limit is None:
            return math.inf
        left = self.begun + limit - time.monotonic()
        missing = max((LEAST_PAIRS - one.pairs for one in judgement.comparisons), default=0)
        needed = missing * another
        return needed if left < needed <= left + OVERTIME * limit else left

    def _settled(self, done: Mapping[str, list[Run]]) -> bool:
        """Whether a look that was declared beforehand has been reached, and settles it."""
        for look in self.investigation.session.looks:
            if all(one.name in done for one in schedule(self.investigation, look)):
                judgement = judge_session(self.investigation, done, look)
                if judgement.settled and not judgement.invalid:
                    return True
        return False

    async def _meet(self, meeting: ScheduledPair, found: Mapping[str, Target]) -> list[Run]:
        """Run a pair: side by side, each on cores of its own that they take in turns, or one after the other."""
        places = shares(len(meeting.arms))
        if self._is_duet(meeting) and all(places):
            several = await asyncio.gather(*(self._with_fresh_key(name, found[name]) for name in meeting.arms))
            found = dict(zip(meeting.arms, several, strict=True))
            start = next_start_ns()
            both = (self._run(meeting, arm, found, start, own) for arm, own in zip(meeting.arms, places, strict=True))
            async with self._taking_turns(meeting.arms, found, places, start):
                return list(await asyncio.gather(*both))
        runs = []
        for arm in meeting.arms:
            known = {arm: await self._with_fresh_key(arm, found[arm])} if arm in found else {}
            runs.append(await self._run(meeting, arm, known, next_start_ns(), ()))
        return runs

    async def _with_fresh_key(self, name: str, target: Target) -> Target:
        return await with_fresh_key(target, self.investigation.load_of(name))

    @contextlib.asynccontextmanager
    async def _taking_turns(
        self, arms: Sequence[str], found: Mapping[str, Target], places: Sequence[tuple[int, ...]], start_ns: int
    ) -> AsyncIterator[None]:
        """Have both arms of a duet on each core for as long; the mock itself is pinned to none."""
        there = [pid for arm in arms if (pid := found[arm].pid)]
        if len(there) < len(arms):
            yield
            return
        # Arms that are loaded for different times meet for the shorter one.
        lasting = [self.investigation.load_of(arm).duration for arm in arms]
        every = turn(min((seconds for seconds in lasting if seconds), default=None))
        taking = asyncio.create_task(take_turns(there, places, start_ns, every))
        try:
            yield
        finally:
            taking.cancel()
            await asyncio.wait([taking])
        if not taking.cancelled():
            taking.result()

    def _is_duet(self, meeting: ScheduledPair) -> bool:
        """Whether a pair is to run side by side, which functions cannot: they would share this process."""
        asked = self.investigation
        functions = any(arm.subject is Kind.FUNCTION for name, arm in asked.arms.items() if name in meeting.arms)
        return asked.session.design is Design.DUETS and len(meeting.arms) > 1 and not functions

    async def _run(
        self, meeting: ScheduledPair, name: str, found: Mapping[str, Target], start_ns: int, cores: tuple[int, ...]
    ) -> Run:
        arm = self.investigation.arms.get(name)
        if arm is not None and arm.subject is Kind.FUNCTION:
            return await call(name, arm, meeting.seed)
        target = found[name]
        if target.pid:
            pin(target.pid, cores)
        place = self.store.place(meeting, name)
        wanted, gates = self.investigation.load_of(name), self.investigation.gates
        return await measure(target, wanted, meeting.seed, start_ns, place, cores, gates, self.stop)
