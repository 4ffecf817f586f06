"""The arms of an investigation, running: proxies side by side, each with nothing that another one shares."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenkeel_lab.experiment.investigation import AGAIN, DIRECT, Kind
from evenkeel_lab.stack.config import Prometheus, Rotation, Subject
from evenkeel_lab.stack.entities import create
from evenkeel_lab.stack.stack import together

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection
    from pathlib import Path

    from evenkeel_lab.experiment import Arm, Investigation
    from evenkeel_lab.stack.stack import Stack

MOCK_KEY = "sk-mock-account"


@dataclass(frozen=True)
class Target:
    """Something that can be loaded."""

    name: str
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


def proxies(investigation: Investigation) -> dict[str, Arm]:
    """Return the arms that are proxies, the engine's own among them."""
    found = {name: arm for name, arm in investigation.arms.items() if arm.subject is Kind.PROXY}
    if investigation.session.noise and investigation.baseline in found:
        found[AGAIN] = found[investigation.baseline]
    return found


@contextlib.asynccontextmanager
async def targets(
    below: Stack, investigation: Investigation, names: Collection[str]
) -> AsyncIterator[dict[str, Target]]:
    """Run those of the arms that are proxies, and name the others."""
    direct = Target(DIRECT, below.mock.url, MOCK_KEY, MOCK_KEY)
    numbered = list(enumerate(proxies(investigation).items(), 1))
    async with contextlib.AsyncExitStack() as running:

        async def start(number: int, name: str, arm: Arm) -> Target:
            proxy = await running.enter_async_context(below.proxy(subject_of(arm), name=name, apart=number))
            entities = await create(proxy)
            return Target(
                name,
                proxy.url,
                entities.key,
                proxy.master_key,
                proxy.part.pid,
                below.mock.part.pid,
                investigation.mock.workers,
                proxy.engines,
                proxy.services.database_url,
                proxy.services.redis_url,
                proxy.services.lag,
            )

        async with together() as group:
            started = [group.create_task(start(number, name, arm)) for number, (name, arm) in numbered if name in names]
        found = {target.name: target for target in (task.result() for task in started)}
        yield found | {name: replace(direct, name=name) for name in names if name not in found}


def subject_of(arm: Arm) -> Subject:
    """Return the proxy that an arm asks for."""
    return Subject(arm.litellm, Prometheus(arm.prometheus), arm.workers, arm.settings, Rotation(arm.rotation))
