"""The subjects of a session, running and warm: for the whole session, or fresh for each scheduled pair."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING

from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import DIRECT
from evenkeel_lab.investigation_spec.session import Subjects as Life
from evenkeel_lab.runner.results.provenance import provenance
from evenkeel_lab.runner.schedule import ScheduledPair, boot_number
from evenkeel_lab.runner.targets import Target, proxies, targets
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.warm_up import WarmUp
    from evenkeel_lab.stack.stack import Options, Stack

Subjects = Callable[[ScheduledPair], AbstractAsyncContextManager[Mapping[str, Target]]]
"""Yields the targets of a scheduled pair by the names of its arms."""


@contextlib.asynccontextmanager
async def subjects(
    name: str, warm_up: WarmUp, options: Options, steps: Steps, *, measured: bool, installed: Callable[[], None]
) -> AsyncIterator[Subjects]:
    """Run the subjects; functions need none. Call `installed` once everything is installed.

    If `measured` is false, no pair is left: there is no second baseline, and the warm-up is not recorded.
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
            together = [*investigation.arm_groups, (DIRECT,)] if measured else [tuple(investigation.arms)]
            if measured and investigation.session.pairs_per_boot:
                async with _rebooted(below, warm_up, together) as running:
                    yield running
                return
            async with targets(below, investigation, together) as targets_of_groups:
                with steps.step("warming up"):
                    await warm_up.until_steady([proxies_of(group) for group in targets_of_groups.values()])
                if measured:
                    store.warmed_up(warm_up.document())
                yield lambda scheduled: contextlib.nullcontext(_targets_of(scheduled, targets_of_groups))
        finally:
            # Loads run in threads, which cannot be cancelled.
            warm_up.stop.set()


def proxies_of(group: Mapping[str, Target]) -> list[Target]:
    """Return the targets with a process, which need a warm-up."""
    return [target for target in group.values() if target.pid]


def _targets_of(
    scheduled: ScheduledPair, groups: Mapping[frozenset[str], Mapping[str, Target]]
) -> Mapping[str, Target]:
    """Return the targets of a scheduled pair; if it has none, one target of each arm."""
    members = frozenset(scheduled.arms)
    if members in groups:
        return groups[members]
    merged: dict[str, Target] = {}
    for group in groups.values():
        merged = {**group, **merged}
    return merged


@contextlib.asynccontextmanager
async def _rebooted(below: Stack, warm_up: WarmUp, together: Sequence[Sequence[str]]) -> AsyncIterator[Subjects]:
    """Yield subjects that are booted anew after some pairs, all at the same time."""
    investigation = warm_up.investigation
    async with contextlib.AsyncExitStack() as running:
        current: int | None = None
        groups: Mapping[frozenset[str], Mapping[str, Target]] = {}

        @contextlib.asynccontextmanager
        async def of(scheduled: ScheduledPair) -> AsyncIterator[Mapping[str, Target]]:
            nonlocal current, groups
            boot = boot_number(investigation, scheduled.pair)
            if boot != current:
                await running.aclose()
                groups = await running.enter_async_context(targets(below, investigation, together))
                await warm_up.until_steady([proxies_of(group) for group in groups.values()])
                current = boot
            yield _targets_of(scheduled, groups)

        yield of


@contextlib.asynccontextmanager
async def _fresh(
    below: Stack, investigation: Investigation, warm_up: WarmUp, scheduled: ScheduledPair
) -> AsyncIterator[Mapping[str, Target]]:
    async with targets(below, investigation, [scheduled.arms]) as groups:
        (group,) = groups.values()
        await warm_up.until_steady([proxies_of(group)])
        yield group
