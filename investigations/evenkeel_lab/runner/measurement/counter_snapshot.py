"""All counters of a subject at one moment, and the costs of requests between two such moments."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from asyncpg import PostgresError
from httpx import HTTPError
from redis.exceptions import RedisError

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.runner.measurement import counters
from evenkeel_lab.runner.measurement.core_pinning import stolen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel_lab.runner.targets import Target


@dataclass(frozen=True)
class CounterSnapshot:
    """Values of all counters at one moment."""

    stolen: float
    """Seconds of CPU that were taken away."""
    subject: counters.Spent | None
    provider: float
    """The mock's CPU seconds."""
    database: Mapping[str, int]
    operations: Mapping[str, int]
    commands: Mapping[str, int] | None
    """Valkey's commands by connection. The count of a closed connection is lost."""
    locked: Mapping[str, int] | None = None
    """Writes of the journal that found its file locked, by worker; `None` without a journal or an answer of all."""

    @classmethod
    async def before(cls, target: Target) -> CounterSnapshot:
        """Read the counters before a load. Those that need a request come first, so that it is not counted."""
        with _readable(target):
            locked = await _locked(target)
            return replace(await cls._of(target), locked=locked)

    @classmethod
    async def after(cls, target: Target) -> CounterSnapshot:
        """Read the counters after a load. Those that need a request come last."""
        with _readable(target):
            snapshot = await cls._of(target)
            return replace(snapshot, locked=await _locked(target))

    @classmethod
    async def _of(cls, target: Target) -> CounterSnapshot:
        return cls(
            stolen(),
            counters.spent(target.pid) if target.pid else None,
            counters.spent(target.provider).total if target.provider else 0.0,
            await counters.database(target.database_url) if target.database_url else {},
            await counters.operations(target.engines) if target.engines else {},
            await counters.commands(target.valkey_url) if target.valkey_url else None,
        )

    def since(self, before: CounterSnapshot) -> CounterSnapshot:
        """Return the increase since `before`; memory is the current one."""
        return CounterSnapshot(
            self.stolen - before.stolen,
            self.subject.since(before.subject) if self.subject and before.subject else None,
            self.provider - before.provider,
            {name: count - before.database[name] for name, count in self.database.items()},
            {name: count - before.operations.get(name, 0) for name, count in self.operations.items()},
            _added(self.commands, before.commands),
            _added(self.locked, before.locked),
        )

    def figures(self, requests: int) -> dict[str, float]:
        """Return the costs per request."""
        costs: dict[str, float] = {}
        if self.subject:
            costs |= {"cpu_ms": self.subject.total * 1000, "switches": self.subject.switches}
        if self.database:
            costs["database_calls"] = self.database["xact_commit"] + self.database["xact_rollback"]
        # An engine that was restarted counts from zero.
        if self.operations and min(self.operations.values()) >= 0:
            costs["prisma_calls"] = sum(self.operations.values())
        if self.commands is not None:
            costs["valkey_calls"] = sum(self.commands.values())
        if self.locked is not None:
            costs["journal_locked"] = sum(self.locked.values())
        return {name: value / requests for name, value in costs.items()} if requests else {}


@contextlib.contextmanager
def _readable(target: Target) -> Iterator[None]:
    """Turn errors of reading into a `RigFailure` that names the target."""
    try:
        yield
    except (OSError, HTTPError, PostgresError, RedisError) as error:
        what = f"The counters of {target.name} cannot be read: {error or type(error).__name__}."
        raise RigFailure(what, hint="One of its servers has ended. Its log may say why.") from error


async def _locked(target: Target) -> Mapping[str, int] | None:
    return await counters.locked(target.url, target.admin_key, target.workers) if target.has_file else None


def _added(now: Mapping[str, int] | None, before: Mapping[str, int] | None) -> Mapping[str, int] | None:
    """Return the increase of each counter; `None` if a counter of `before` is gone."""
    if now is None or before is None or before.keys() - now.keys():
        return None
    return {name: count - before.get(name, 0) for name, count in now.items()}
