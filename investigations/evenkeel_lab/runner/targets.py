"""The arms of an investigation as running targets: isolated proxies side by side."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psutil

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import AGAIN, DIRECT
from evenkeel_lab.investigation_spec.session import Subjects
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
# Memory of LiteLLM 1.106.2 after some minutes of load.
PROXY_GIB = 1.0


@dataclass(frozen=True)
class Target:
    """A server that can be loaded."""

    name: str
    """The name of its arm."""
    process: str
    """A name that is unique among the processes of an arm."""
    url: str
    api_key: str
    admin_key: str
    pid: int | None = None
    """The measured process; `None` if only answers are measured."""
    provider: int | None = None
    """The process of the mock behind it."""
    provider_workers: int = 1
    engines: Path | None = None
    """The folder in which its query engines announce themselves."""
    database_url: str | None = None
    valkey_url: str | None = None
    lag: Path | None = None
    workers: int = 1
    has_file: bool = False
    """Whether its workers share a journal file."""
    create_key: Callable[[], Awaitable[str]] | None = None
    """Creates a team, a user and a key, and returns the key; `None` if runs do not need a fresh key."""


def proxies(investigation: Investigation) -> dict[str, Arm]:
    """Return the arms that are proxies, with the second baseline."""
    arms = {name: arm for name, arm in investigation.arms.items() if arm.subject is Kind.PROXY}
    if investigation.session.noise and investigation.baseline in arms:
        arms[AGAIN] = arms[investigation.baseline]
    return arms


@contextlib.asynccontextmanager
async def targets(
    below: Stack, investigation: Investigation, groups: Sequence[Sequence[str]]
) -> AsyncIterator[dict[frozenset[str], dict[str, Target]]]:
    """Run the proxies of all groups. In each group, every arm has its own process.

    A process changes with the requests that it has served. One that is compared with several others would serve more
    than each of them, and differ from an equal one.
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
            # A cold proxy must not have served a single request.
            is_known = proxy.spec.bare or investigation.session.subjects is Subjects.FRESH

            async def create_key() -> str:
                return (await create(proxy, customers=0)).key

            others = [other for other in group if other != name]
            process = f"{name} beside {others[0]}" if len(others) == 1 else name
            return Target(
                name,
                process,
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
    """Raise if there is not enough memory for `count` workers: the machine would swap, or kill one of them."""
    free = psutil.virtual_memory().available / 2**30
    if count * PROXY_GIB > free:
        raise RigFailure(
            f"{count} workers of proxies need some {count * PROXY_GIB:.0f} GiB of memory; {free:.0f} GiB are free.",
            hint='Give each pair proxies of its own, with session.subjects = "fresh"; or compare fewer arms.',
        )


def subject_of(arm: Arm) -> ProxySpec:
    """Return the specification of an arm's proxy."""
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
