"""Profile the arms of a session at its end, while its subjects still run.

Each arm gets two extra runs. The second one is sampled. Neither is a run of the session: their records are in a folder
of their own and belong to no pair.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.session import Design
from evenkeel_lab.profiling import in_process_probe, pyspy
from evenkeel_lab.profiling.function import running_function
from evenkeel_lab.profiling.profile import FILE, ArmProfile, Profile, write
from evenkeel_lab.profiling.sampler import Sampler, Subject, Work, record
from evenkeel_lab.profiling.stacks import functions
from evenkeel_lab.runner.measurement import counters
from evenkeel_lab.runner.measurement.core_pinning import pin, shares
from evenkeel_lab.runner.measurement.run import measure, next_start_ns
from evenkeel_lab.runner.results.provenance import provenance
from evenkeel_lab.runner.results.store import digest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    from evenkeel_lab.investigation_spec import Arm, Investigation
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.results.store import Store
    from evenkeel_lab.runner.targets import Target

FOLDER = "profile"
# Then a function with a hundredth of the CPU is in a dozen samples.
LEAST_SECONDS = 15.0
SAMPLERS: tuple[Sampler, ...] = (pyspy.record, in_process_probe.record)
WITHOUT, WITH = "without", "with"


@dataclass(frozen=True)
class Profiler:
    """Profiler of an investigation's arms."""

    name: str
    investigation: Investigation
    store: Store
    steps: Steps
    stop: Event
    samplers: Sequence[Sampler] = SAMPLERS
    seconds: float = LEAST_SECONDS

    async def __call__(self, targets: Mapping[str, Target]) -> None:
        """Profile all arms, then write the profiles."""
        arms: dict[str, ArmProfile] = {}
        skipped: dict[str, str] = {}
        for name, arm in self.investigation.arms.items():
            if arm.subject is Kind.MOCK:
                skipped[name] = "the mock is not under investigation"
                continue
            with self.steps.step(f"profiling {name}"):
                arms[name] = await self._arm(arm, targets.get(name), self._new_folder(name))
        head = self.store.head()
        where = asdict(provenance(head.provenance.engine, installed=head.provenance.installed))
        investigation_digest = digest(head.investigation)
        write(
            Profile(self.name, investigation_digest, self.investigation.baseline, where, arms, skipped),
            self.store.folder / FILE,
        )

    async def _arm(self, arm: Arm, target: Target | None, folder: Path) -> ArmProfile:
        if target is None:
            async with running_function(arm, self.investigation.session.seed, self.seconds, folder) as (subject, work):
                return await profile_subject(subject, folder, work, self.samplers)
        assert target.pid is not None
        assert target.lag is not None
        return await profile_subject(
            Subject(target.pid, target.lag), folder, self._loaded(target, folder), self.samplers
        )

    def _loaded(self, target: Target, folder: Path) -> Callable[[str], Awaitable[Work]]:
        """Return a load like that of the session's runs, but at least `seconds` long."""
        load, session = self.investigation.load_of(target.name), self.investigation.session
        seconds = max(load.duration or 0.0, self.seconds)
        # A load with a number of requests does not change.
        longer = load.model_copy(update={"duration": seconds}) if load.duration else load
        # The proxy gets the cores that it has in a duet.
        cores = shares(2)[0] if session.design is Design.DUETS else ()

        async def work(name: str) -> Work:
            assert target.pid is not None
            pin(target.pid, cores)
            start, gates = next_start_ns(), self.investigation.gates
            run = await measure(target, longer, session.seed, start, folder / name, cores, gates, self.stop)
            return Work(run.requests, run.seconds, run.figures.get("mean"))

        return work

    def _new_folder(self, name: str) -> Path:
        folder = self.store.folder / FOLDER / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder


async def profile_subject(
    subject: Subject, folder: Path, work: Callable[[str], Awaitable[Work]], samplers: Sequence[Sampler]
) -> ArmProfile:
    """Do the work without a sampler, then with one, and return the profile."""

    async def watched(name: str) -> tuple[Work, float]:
        began = counters.spent(subject.pid).total
        done = await work(name)
        return done, counters.spent(subject.pid).total - began

    before, spent_before = await watched(WITHOUT)
    (done, spent), samples = await record(subject, folder, lambda: watched(WITH), samplers)
    seen = sum(samples.stacks.values()) / 1e6
    if not (before.requests and done.requests and seen):
        raise RigFailure("No request was answered during the profile.", hint="See the subject's log, or try again.")
    return ArmProfile(
        sampler=samples.sampler,
        why=samples.why,
        rate=samples.rate,
        seconds=done.seconds,
        requests=done.requests,
        unit=done.unit,
        samples=round(samples.count),
        cpu_ms=seen / done.requests * 1000,
        covered=seen / max(spent, seen),
        slowdown=done.each / before.each - 1 if done.each and before.each else None,
        surcharge=spent / done.requests / (spent_before / before.requests) - 1 if spent_before else None,
        stacks=samples.stacks,
        functions=functions(samples.stacks),
    )
