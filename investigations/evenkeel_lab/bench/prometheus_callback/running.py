"""Processes that replay events, driven from here: see `replay.py`."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.events import packed
from evenkeel_lab.errors import RigFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event

REPLAY: Final = Path(__file__).with_name("replay.py")
# A scrape is a line, and stock's may have sixty megabytes.
LONGEST_LINE: Final = 2**28
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


class Replay:
    """A process that replays."""

    def __init__(self, child: asyncio.subprocess.Process, errors: IO[bytes]) -> None:
        self._child, self._errors = child, errors

    async def wish(self, wish: str) -> dict[str, Any]:
        """Have it do something, and return what it tells of that."""
        assert self._child.stdin is not None
        self._child.stdin.write(wish.encode() + b"\n")
        return await self.told()

    async def told(self) -> dict[str, Any]:
        """Return what it tells next."""
        assert self._child.stdout is not None
        line = await self._child.stdout.readline()
        if not line:
            self._errors.seek(0)
            last = self._errors.read().decode(errors="replace").strip()
            raise RigFailure(
                f"The events could not be replayed: {last.rpartition(chr(10))[2][:300]}",
                hint="evenkeel cache --clear, then again; an unusual LiteLLM may want other events.",
                details=last[-2_000:],
            )
        result: dict[str, Any] = json.loads(line)
        return result


@asynccontextmanager
async def replaying(ground: Ground, arm: str, events: Sequence[Event]) -> AsyncIterator[Replay]:
    """Have a process ready to replay events to a callback."""
    with TemporaryFile() as errors, TemporaryDirectory(prefix="evenkeel-replay-") as name:
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
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        env = {key: os.environ[key] for key in KEPT if key in os.environ}
        env |= {"PYTHONPATH": os.pathsep.join(map(str, ground.beside)), **ground.environment}
        child = await asyncio.create_subprocess_exec(
            ground.python,
            REPLAY,
            folder / "job.json",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            limit=LONGEST_LINE,
            env=env,
            cwd=folder,
        )
        replay = Replay(child, errors)
        try:
            await replay.told()
            yield replay
        finally:
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
