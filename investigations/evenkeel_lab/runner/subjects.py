"""What a session measures, running and warm: all of it for as long as the session lasts, or anew for each meeting."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING

from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import DIRECT, Subjects as Life
from evenkeel_lab.runner.results.provenance import provenance
from evenkeel_lab.runner.schedule import ScheduledPair
from evenkeel_lab.runner.targets import Target, proxies, targets
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.warm_up import WarmUp
    from evenkeel_lab.stack.stack import Options, Stack

Subjects = Callable[[ScheduledPair], AbstractAsyncContextManager[Mapping[str, Target]]]
"""What runs for a meeting, by the names of its arms."""


@contextlib.asynccontextmanager
async def subjects(
    name: str, warm_up: WarmUp, options: Options, steps: Steps, *, measured: bool, installed: Callable[[], None]
) -> AsyncIterator[Subjects]:
    """Run what is measured; functions need nothing to be run. Say when everything is installed.

    Where nothing is left to be measured, nobody needs a second baseline, nor wants to know how it was warmed up.
    """
    investigation, store = warm_up.investigation, warm_up.store
    if all(arm.subject is Kind.FUNCTION for arm in investigation.arms.values()):
        if measured:
            store.begin(name, investigation, provenance(engine="none"))
        yield lambda _: contextlib.nullcontext({})
        return
    mock = investigation.mock
    options = options.with_mock({"seed": mock.seed, "latency": mock.latency}, mock.workers)
    async with stack(options, steps=steps) as below:
        versions = sorted({arm.litellm for arm in proxies(investigation).values()})
        about = {version: (await below.services(version)).environment.about for version in versions}
        if measured:
            store.begin(name, investigation, provenance(below.engine.kind, installed=about))
        installed()
        try:
            if investigation.session.subjects is Life.FRESH:
                yield partial(_fresh, below, investigation, warm_up)
                return
            groups = [tuple(investigation.arms)]
            if measured:
                groups = [*investigation.comparisons, (DIRECT,)]
            async with targets(below, investigation, groups) as found:
                with steps.step("warming up"):
                    await warm_up.until_steady([proxies_of(group) for group in found.values()])
                if measured:
                    store.warmed_up(warm_up.document())
                yield lambda meeting: contextlib.nullcontext(_of(meeting, found))
        finally:
            # Loads run in threads, which nobody can cancel.
            warm_up.stop.set()


def proxies_of(group: Mapping[str, Target]) -> list[Target]:
    """Return those that have a process to be warmed up."""
    return [target for target in group.values() if target.pid]


def _of(meeting: ScheduledPair, found: Mapping[frozenset[str], Mapping[str, Target]]) -> Mapping[str, Target]:
    """Return the processes that meet; where none do, one of each arm."""
    members = frozenset(meeting.arms)
    if members in found:
        return found[members]
    everybody: dict[str, Target] = {}
    for group in found.values():
        everybody = {**group, **everybody}
    return everybody


@contextlib.asynccontextmanager
async def _fresh(
    below: Stack, investigation: Investigation, warm_up: WarmUp, meeting: ScheduledPair
) -> AsyncIterator[Mapping[str, Target]]:
    async with targets(below, investigation, [meeting.arms]) as found:
        (group,) = found.values()
        await warm_up.until_steady([proxies_of(group)])
        yield group
