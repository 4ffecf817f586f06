"""The arms of an investigation, running: proxies side by side, none of which shares anything with another one."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psutil

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import AGAIN, DIRECT, Subjects
from evenkeel_lab.stack.litellm.accounts import unlimited_accounts
from evenkeel_lab.stack.litellm.config import Journal, ProxySpec
from evenkeel_lab.stack.litellm.fixtures import create
from evenkeel_lab.stack.stack import task_group

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from evenkeel_lab.investigation_spec import Arm, Investigation
    from evenkeel_lab.stack.stack import Stack

MOCK_KEY = "sk-mock-account"
# What LiteLLM 1.106.2 takes after some minutes of load.
PROXY_GIB = 1.0


@dataclass(frozen=True)
class Target:
    """Something that can be loaded."""

    name: str
    """The arm's."""
    process: str
    """What tells it from another process of the same arm."""
    url: str
    api_key: str
    admin_key: str
    pid: int | None = None
    """The process that is measured; None if only its answers are."""
    provider: int | None = None
    """The process of the mock behind it."""
    provider_workers: int = 1
    engines: Path | None = None
    """Where its query engines say that they are there."""
    database_url: str | None = None
    valkey_url: str | None = None
    lag: Path | None = None
    workers: int = 1
    has_file: bool = False
    """Whether they keep a journal in one file."""
    create_key: Callable[[], Awaitable[str]] | None = None
    """Makes a team, a user and a key of theirs, and returns the key; None if nobody new is to be met."""


def proxies(investigation: Investigation) -> dict[str, Arm]:
    """Return the arms that are proxies, the engine's own among them."""
    found = {name: arm for name, arm in investigation.arms.items() if arm.subject is Kind.PROXY}
    if investigation.session.noise and investigation.baseline in found:
        found[AGAIN] = found[investigation.baseline]
    return found


@contextlib.asynccontextmanager
async def targets(
    below: Stack, investigation: Investigation, groups: Sequence[Sequence[str]]
) -> AsyncIterator[dict[frozenset[str], dict[str, Target]]]:
    """Run what meets, group by group, and name what is no proxy: in each group, every arm has a process of its own.

    A process changes with what it has served: one that meets several others serves more than each of them, and would
    differ from one that is the same.
    """
    direct = Target(DIRECT, DIRECT, below.mock.url, MOCK_KEY, MOCK_KEY)
    known = proxies(investigation)
    wanted = [(group, name) for group in groups for name in group if name in known]
    require_memory(sum(known[name].workers for _, name in wanted))
    async with contextlib.AsyncExitStack() as running:

        async def start(number: int, group: Sequence[str], name: str) -> Target:
            wired = below.proxy(subject_of(known[name]), name=f"{name}-{number}", database_number=number)
            proxy = await running.enter_async_context(wired)
            key = proxy.master_key if proxy.spec.bare else (await create(proxy)).key
            # One that is met cold has not even been asked.
            is_known = proxy.spec.bare or investigation.session.subjects is Subjects.FRESH

            async def create_key() -> str:
                return (await create(proxy, customers=0)).key

            others = " and ".join(other for other in group if other != name)
            return Target(
                name,
                f"{name} beside {others}" if others else name,
                proxy.url,
                key,
                proxy.master_key,
                proxy.info.pid,
                below.mock.info.pid,
                investigation.mock.workers,
                proxy.engines,
                proxy.services.database_url,
                proxy.services.redis_url,
                proxy.services.lag,
                proxy.spec.workers,
                proxy.spec.journal is Journal.SQLITE,
                None if is_known else create_key,
            )

        async with task_group() as tasks:
            started = {
                (frozenset(group), name): tasks.create_task(start(number, group, name))
                for number, (group, name) in enumerate(wanted, 1)
            }
        yield {
            members: {
                name: started[members, name].result() if name in known else replace(direct, name=name) for name in group
            }
            for group, members in ((group, frozenset(group)) for group in groups)
        }


def require_memory(count: int) -> None:
    """Refuse to start so many workers where there is no room for them: the machine would swap, or kill one of them."""
    there = psutil.virtual_memory().available / 2**30
    if count * PROXY_GIB > there:
        raise RigFailure(
            f"{count} workers of proxies need some {count * PROXY_GIB:.0f} GiB of memory; {there:.0f} GiB are free.",
            hint='Give each pair proxies of its own, with session.subjects = "fresh"; or compare fewer arms.',
        )


def subject_of(arm: Arm) -> ProxySpec:
    """Return the proxy that an arm asks for."""
    return ProxySpec(
        litellm=arm.litellm,
        prometheus=arm.prometheus,
        workers=arm.workers,
        settings=arm.settings,
        rotation=arm.rotation,
        journal=arm.journal,
        accounts=unlimited_accounts(arm.accounts, arm.groups),
        patch=arm.patch,
        bare=arm.bare,
        env=arm.env,
    )
