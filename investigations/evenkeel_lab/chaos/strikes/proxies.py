"""Faults of the proxies themselves, of their machine, and of their clients."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sqlite3
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import psutil
import yaml

from evenkeel_lab.chaos.rig import WORKERS, workers_of
from evenkeel_lab.chaos.small_disk import filled
from evenkeel_lab.chaos.traffic import leave_streams, slow_streams
from evenkeel_lab.errors import FaultNotCaused
from evenkeel_lab.stack.litellm.fixtures import management_api

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from evenkeel_lab.chaos.rig import Rig, Subject

BUSY_SECONDS = 5.0
LEAVING_CLIENTS, STREAMS_IN_FLIGHT = 60, 20
# LiteLLM's workers read deployments that others have added within some seconds.
DEPLOYMENT_SECONDS = 3.0
SETTLED_SECONDS = 1.0
ENGINE = "query-engine"


@asynccontextmanager
async def worker_killed(rig: Rig) -> AsyncIterator[None]:
    """Kill one worker of each proxy while streams are in flight at it."""
    streams = [asyncio.ensure_future(slow_streams(subject, STREAMS_IN_FLIGHT)) for subject in rig.subjects]
    await asyncio.sleep(SETTLED_SECONDS)
    for subject in rig.subjects:
        workers_of(subject)[0].kill()
    try:
        yield
    finally:
        broken = await asyncio.gather(*streams)
    if not all(broken):
        raise FaultNotCaused("No stream was in flight at the killed worker.", hint="Begin more streams.")


@asynccontextmanager
async def engine_killed(rig: Rig) -> AsyncIterator[None]:
    """Kill Prisma's engine of one worker of each proxy, which starts another one."""
    for subject in rig.subjects:
        engines = [process for process in _descendants(subject) if _is_engine(process)]
        if not engines:
            raise FaultNotCaused(f"{subject.name} runs no {ENGINE}.", hint="See the processes of the proxy.")
        # The engine and its own processes at once, because each would start the other again.
        family = [engines[0], *engines[0].children(recursive=True)]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
    yield


def _descendants(subject: Subject) -> list[psutil.Process]:
    return psutil.Process(subject.proxy.info.pid).children(recursive=True)


def _is_engine(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return ENGINE in process.name() or any(ENGINE in part for part in process.cmdline()[:2])
    return False


@asynccontextmanager
async def disk_full(rig: Rig) -> AsyncIterator[None]:
    """Fill the disk of the journal and of the metrics folder."""
    assert rig.disk is not None
    assert rig.plugin.proxy.journal is not None
    with contextlib.closing(sqlite3.connect(rig.plugin.proxy.journal, timeout=BUSY_SECONDS)) as journal:
        # SQLite overwrites its existing log in place. With an empty log, the next record needs room.
        journal.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with filled(rig.disk):
            yield


@asynccontextmanager
async def clock_jumps(rig: Rig) -> AsyncIterator[None]:
    """Set `time.time()` of both proxies an hour ahead, and back. Each worker leaves a mark when it sees the jump."""
    marks = rig.clock.with_name(f"{rig.clock.name}-seen")
    for mark in rig.clock.parent.glob(f"{marks.name}-*"):
        mark.unlink()
    rig.clock.touch()
    try:
        yield
    finally:
        rig.clock.unlink()
    seen = len(list(rig.clock.parent.glob(f"{marks.name}-*")))
    if seen < WORKERS * len(rig.subjects):
        raise FaultNotCaused(f"Only {seen} workers saw the clock jump.", hint="See the patch `jumping_clock`.")


@asynccontextmanager
async def clients_leave(rig: Rig) -> AsyncIterator[None]:
    """Disconnect many clients as soon as their stream has begun."""
    leaving = [asyncio.ensure_future(leave_streams(subject, LEAVING_CLIENTS)) for subject in rig.subjects]
    try:
        yield
    finally:
        left = await asyncio.gather(*leaving)
    if min(left) < LEAVING_CLIENTS / 2:
        raise FaultNotCaused(f"Only {min(left)} clients left in the middle of a stream.", hint="Slow the streams down.")


@asynccontextmanager
async def deployments_change(rig: Rig) -> AsyncIterator[None]:
    """Add and delete deployments while requests come in."""
    added = dict.fromkeys((subject.name for subject in rig.subjects), 0)

    async def change(subject: Subject) -> None:
        async with management_api(subject.proxy) as api:
            for number in itertools.count():
                name = f"temporary-{uuid.uuid4().hex[:8]}-{number}"
                await api.post(
                    "/model/new",
                    model_name="gpt-4o-mini",
                    litellm_params={
                        "model": "openai/gpt-4o-mini",
                        "api_base": f"{rig.ground.mock.url}/v1",
                        "api_key": "sk-mock-account-0",
                    },
                    model_info={"id": name},
                )
                added[subject.name] += 1
                try:
                    await asyncio.sleep(DEPLOYMENT_SECONDS)
                finally:
                    await api.post("/model/delete", id=name)

    changing = [asyncio.ensure_future(change(subject)) for subject in rig.subjects]
    try:
        yield
    finally:
        for task in changing:
            task.cancel()
        results = await asyncio.gather(*changing, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
    if not all(added.values()):
        raise FaultNotCaused("No deployment was added.", hint="See the proxy's log.")


@asynccontextmanager
async def settings_reloaded(rig: Rig) -> AsyncIterator[None]:
    """Change the plugin's settings in the YAML while it runs, then break the file, then restore it."""
    path = rig.plugin.proxy.config
    original = path.read_text(encoding="utf-8")
    changed = yaml.safe_load(original)
    changed["evenkeel"]["rotation"]["strategy"] = "round_robin"
    writing = asyncio.create_task(_write_in_turn(path, [yaml.safe_dump(changed), f"{original}\n  - broken: ["]))
    try:
        yield
    finally:
        writing.cancel()
        await asyncio.wait([writing])
        path.write_text(original, encoding="utf-8")
    if not await rig.has_reloaded():
        raise FaultNotCaused("The plugin has applied no change of its settings.", hint="See /evenkeel/settings/health.")


async def _write_in_turn(path: Path, texts: list[str]) -> None:
    """Write one text after the other, each for long enough that the plugin reads it."""
    for text in itertools.cycle(texts):
        path.write_text(text, encoding="utf-8")
        await asyncio.sleep(2 * DEPLOYMENT_SECONDS)


@asynccontextmanager
async def nothing(_: Rig) -> AsyncIterator[None]:
    """Do nothing."""
    yield
