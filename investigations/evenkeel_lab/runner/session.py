"""A session: boot the subjects, warm them up, then run scheduled pairs until a look settles the session."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.session import Design, Key
from evenkeel_lab.runner.function import call
from evenkeel_lab.runner.measurement.core_pinning import pin, shares, take_turns, turn
from evenkeel_lab.runner.measurement.fresh_key import with_fresh_key
from evenkeel_lab.runner.measurement.run import Run, measure, next_start_ns
from evenkeel_lab.runner.results.analysis import judge_session
from evenkeel_lab.runner.schedule import ScheduledPair, pair_number, schedule, whole_boots
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


# Share of the time limit that may be added. If boots are slow, there may be no time left for the pairs of a verdict.
OVERTIME = 0.5


class ProgressListener(Protocol):
    """Interface of a listener to the progress of a session."""

    def pair_done(self, scheduled: ScheduledPair, runs: list[Run], judgement: Judgement, left: float) -> None:
        """Receive the results of a scheduled pair, and the seconds that are left."""


@dataclass
class Session:
    """A session with its dependencies."""

    name: str
    investigation: Investigation
    store: Store
    options: Options
    steps: Steps
    listener: ProgressListener
    stop: Event
    after: Sequence[Callable[[Mapping[str, Target]], Awaitable[None]]] = ()
    """Called with the subjects after the last run, one after the other."""
    is_enough: Callable[[Mapping[str, list[Run]]], bool] = lambda _: False
    """Returns whether the session may end with these runs, also before a look."""
    begun: float = field(default_factory=time.monotonic, init=False)
    """The time when everything was installed."""

    async def conduct(self) -> Judgement:
        """Measure until a look settles the session, or until the last look."""
        last = self.investigation.session.looks[-1]
        self.store.reword(self.investigation)
        done = whole_boots(self.investigation, self.store.done(), last)
        wanted = [scheduled for scheduled in schedule(self.investigation, last) if scheduled.name not in done]
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
                    everything = ScheduledPair(0, tuple(self.investigation.arms), 0)
                    async with running(everything) as targets:
                        for extra in self.after:
                            await extra(targets)
        return judge_session(self.investigation, done, last)

    async def _measure(
        self, wanted: list[ScheduledPair], running: Subjects, warm_up: WarmUp, done: dict[str, list[Run]]
    ) -> None:
        last = self.investigation.session.looks[-1]
        began = time.monotonic()
        for number, scheduled in enumerate(wanted, 1):
            async with running(scheduled) as targets:
                process = {name: targets[name].process for name in scheduled.arms if name in targets}
                cold = [name for name in process if not warm_up.is_warm(process[name])]
                runs = await self._run_pair(scheduled, targets)
            warm_up.note((process[run.arm], run) for run in runs if run.arm in process)
            runs = [replace(run, limited=(COLD, *run.limited)) if run.arm in cold else run for run in runs]
            self.store.add(scheduled, runs)
            done[scheduled.name] = runs
            each, coming = (time.monotonic() - began) / number, wanted[number:]
            judgement = judge_session(self.investigation, done, last)
            another = each * len(self.investigation.arm_groups)
            left = self._seconds_left_for(judgement, another)
            self.listener.pair_done(scheduled, runs, judgement, max(0.0, min(each * len(coming), left)))
            is_pair = not coming or coming[0].pair != scheduled.pair
            if self._settled(done):
                return
            if is_pair and another > left:
                # A session that ends here is never continued: it would be judged after any number of pairs.
                self.store.end()
                return

    def _begin(self) -> None:
        self.begun = time.monotonic()

    def _seconds_left_for(self, judgement: Judgement, another: float) -> float:
        """Return the seconds that the session may still take; `another` is the duration of a further pair.

        Overtime is allowed for the pairs that the first verdict needs, if it is enough for all of them.
        """
        limit = self.investigation.session.seconds
        if limit is None:
            return math.inf
        left = self.begun + limit - time.monotonic()
        missing = max((LEAST_PAIRS - comparison.pairs for comparison in judgement.comparisons), default=0)
        needed = missing * another * (self.investigation.session.pairs_per_boot or 1)
        return needed if left < needed <= left + OVERTIME * limit else left

    def _settled(self, done: Mapping[str, list[Run]]) -> bool:
        """Whether a declared look has been reached and settles the session; with always-valid intervals, each pair."""
        if self.is_enough(done):
            return True
        session = self.investigation.session
        looks = [max(map(pair_number, done), default=0)] if session.always_valid else session.looks
        for look in looks:
            if all(scheduled.name in done for scheduled in schedule(self.investigation, look)):
                judgement = judge_session(self.investigation, done, look)
                if judgement.settled and not judgement.invalid:
                    return True
        return False

    async def _run_pair(self, scheduled: ScheduledPair, targets: Mapping[str, Target]) -> list[Run]:
        """Run a pair at the same time, each arm on its own cores, which they swap; or the arms one after the other."""
        core_sets = shares(len(scheduled.arms))
        if self._is_duet(scheduled) and all(core_sets):
            fresh = await asyncio.gather(*(self._with_fresh_key(name, targets[name]) for name in scheduled.arms))
            targets = dict(zip(scheduled.arms, fresh, strict=True))
            start = next_start_ns()
            runs = (
                self._run(scheduled, arm, targets, start, own)
                for arm, own in zip(scheduled.arms, core_sets, strict=True)
            )
            async with self._swapping_cores(scheduled.arms, targets, core_sets, start):
                return list(await asyncio.gather(*runs))
        measured = [arm for arm in scheduled.arms if arm in targets]
        ready: dict[str, Target] = {}
        if self.investigation.session.key is Key.FORGOTTEN:
            # All keys are forgotten in the same minute, so that a pair waits for one minute only.
            fresh = await asyncio.gather(*(self._with_fresh_key(arm, targets[arm]) for arm in measured))
            ready = dict(zip(measured, fresh, strict=True))
        results = []
        for arm in scheduled.arms:
            if arm in targets and arm not in ready:
                ready[arm] = await self._with_fresh_key(arm, targets[arm])
            results.append(await self._run(scheduled, arm, ready, next_start_ns(), ()))
        return results

    async def _with_fresh_key(self, name: str, target: Target) -> Target:
        return await with_fresh_key(target, self.investigation.load_of(name), self.investigation.session.key)

    @contextlib.asynccontextmanager
    async def _swapping_cores(
        self, arms: Sequence[str], targets: Mapping[str, Target], core_sets: Sequence[tuple[int, ...]], start_ns: int
    ) -> AsyncIterator[None]:
        """Give both arms of a duet each core for the same time. The mock alone is not pinned."""
        pids = [pid for arm in arms if (pid := targets[arm].pid)]
        if len(pids) < len(arms):
            yield
            return
        # Arms with loads of different durations run together for the shorter one.
        durations = [self.investigation.load_of(arm).duration for arm in arms]
        every = turn(min((seconds for seconds in durations if seconds), default=None))
        turns = asyncio.create_task(take_turns(pids, core_sets, start_ns, every))
        try:
            yield
        finally:
            turns.cancel()
            await asyncio.wait([turns])
        if not turns.cancelled():
            turns.result()

    def _is_duet(self, scheduled: ScheduledPair) -> bool:
        """Whether both arms of a pair run at the same time. Functions never do: they would share this process."""
        investigation = self.investigation
        kinds = {arm.subject for name, arm in investigation.arms.items() if name in scheduled.arms}
        is_duets = investigation.session.design is Design.DUETS
        return is_duets and len(scheduled.arms) > 1 and Kind.FUNCTION not in kinds

    async def _run(
        self, scheduled: ScheduledPair, name: str, targets: Mapping[str, Target], start_ns: int, cores: tuple[int, ...]
    ) -> Run:
        arm = self.investigation.arms.get(name)
        if arm is not None and arm.subject is Kind.FUNCTION:
            return await call(name, arm, scheduled.seed)
        target = targets[name]
        if target.pid:
            pin(target.pid, cores)
        folder = self.store.folder_of(scheduled, name)
        wanted, gates = self.investigation.load_of(name), self.investigation.gates
        return await measure(target, wanted, scheduled.seed, start_ns, folder, cores, gates, self.stop)
