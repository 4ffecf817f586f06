"""Processes that replay events, driven from here: see `replay.py`."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.events import packed
from evenkeel_lab.errors import RigFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event

REPLAY: Final = Path(__file__).with_name("replay.py")
SERVER: Final = Path(__file__).with_name("replay_server.py")
# A scrape is a line, and stock's may have sixty megabytes.
LONGEST_LINE: Final = 2**28
ERRORS: Final = "errors"
KEPT: Final = ("PATH", "HOME", "LANG", "TMPDIR")


@dataclass(frozen=True)
class Ground:
    """Where events are replayed."""

    python: Path
    """An interpreter that has LiteLLM."""
    beside: Sequence[Path] = ()
    """What else it may import: the plugin, memray."""
    bare: bool = False
    """Whether LiteLLM's proxy is only hinted at."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    several_workers: bool = False
    models: Mapping[str, int | None] = field(default_factory=dict)
    """Those of the proxy's router, with their limits of requests; without any, there is no router."""
    server: Path | None = None
    """The socket of a server that has imported LiteLLM; see `preloaded`."""


class Replay:
    """A process that replays events."""

    def __init__(self, wishes: asyncio.StreamWriter, answers: asyncio.StreamReader, errors: Path) -> None:
        self._wishes, self._answers, self._errors = wishes, answers, errors

    async def wish(self, wish: str) -> dict[str, Any]:
        """Send a wish, and return the answer."""
        self._wishes.write(wish.encode() + b"\n")
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        """Return the next answer."""
        line = await self._answers.readline()
        if not line:
            last = self._errors.read_text(encoding="utf-8", errors="replace").strip()
            raise RigFailure(
                f"The events could not be replayed: {last.rpartition(chr(10))[2][:300]}",
                hint="evenkeel cache --clear, then again; an unusual LiteLLM may want other events.",
                details=last[-2_000:],
            )
        result: dict[str, Any] = json.loads(line)
        return result


@asynccontextmanager
async def replaying(ground: Ground, arm: str, events: Sequence[Event]) -> AsyncIterator[Replay]:
    """Start a process that replays events to a callback: a fork of the server of `ground`, if there is one."""
    with TemporaryDirectory(prefix="evenkeel-replay-") as name:
        folder = Path(name)
        (folder / "events.json").write_text(packed(events), encoding="utf-8")
        job = {
            "arm": arm,
            "settings": dict(ground.settings),
            "events": str(folder / "events.json"),
            "bare": ground.bare,
            "several_workers": ground.several_workers,
            "models": dict(ground.models),
        }
        path = folder / "job.json"
        path.write_text(json.dumps(job), encoding="utf-8")
        async with _forked(ground.server, path) if ground.server else _started(ground, path) as replay:
            await replay.answer()
            yield replay


@asynccontextmanager
async def _forked(server: Path, job: Path) -> AsyncIterator[Replay]:
    answers, wishes = await asyncio.open_unix_connection(server, limit=LONGEST_LINE)
    wishes.write(f"{job}\n".encode())
    try:
        yield Replay(wishes, answers, job.with_name(ERRORS))
    finally:
        # Without a further wish, the fork ends. Until then it may write to the folder of the job.
        wishes.write_eof()
        await answers.read()
        wishes.close()


@asynccontextmanager
async def _started(ground: Ground, job: Path) -> AsyncIterator[Replay]:
    errors = job.with_name(ERRORS)
    with errors.open("wb") as file:
        child = await _start(ground, [REPLAY, job], file, job.parent)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield Replay(child.stdin, child.stdout, errors)
    finally:
        await _kill(child)


@asynccontextmanager
async def preloaded(ground: Ground) -> AsyncIterator[Ground]:
    """Start a server that has imported LiteLLM, and yield a ground whose replays are forks of it."""
    with TemporaryDirectory(prefix="evenkeel-replay-") as name:
        server = Path(name, "socket")
        child = await _start(ground, [SERVER, server], None, Path(name))
        assert child.stdout is not None
        try:
            await child.stdout.readline()
            yield replace(ground, server=server)
        finally:
            await _kill(child)


async def _start(
    ground: Ground, arguments: Sequence[str | Path], errors: IO[bytes] | None, folder: Path
) -> asyncio.subprocess.Process:
    env = {key: os.environ[key] for key in KEPT if key in os.environ}
    env |= {"PYTHONPATH": os.pathsep.join(map(str, ground.beside)), **ground.environment}
    return await asyncio.create_subprocess_exec(
        ground.python,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
        limit=LONGEST_LINE,
        env=env,
        cwd=folder,
    )


async def _kill(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        child.kill()
    await child.wait()


@dataclass(frozen=True)
class Scraped:
    """What a callback shows that was fed with events."""

    text: str
    refusals: Sequence[str] = ()
    """Why it counts nothing, in its own words."""


async def scraped(ground: Ground, arm: str, events: Sequence[Event]) -> Scraped:
    """Return the scrape of a callback that was fed with events."""
    async with replaying(ground, arm, events) as replay:
        await replay.wish("feed")
        told = await replay.wish("scrape")
    return Scraped(told["scrape"], told["refusals"])
