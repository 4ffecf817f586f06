"""Start processes that replay events (see `replay.py`) in an installed LiteLLM, and send them commands."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.events import pack_events
from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.folders import cache_folder, create_once, log_folder
from evenkeel_lab.stack.litellm.engine import find_engine
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION, LOCKS, environment, plugin_folder
from evenkeel_lab.stack.packages.node import find_node
from evenkeel_lab.stack.packages.python import install

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event

RECORDED: Final = "1.106.2"
"""The version whose events are committed. They are replayed in all versions."""
NEWEST: Final = "1.110.2"
VERSIONS: Final = (RECORDED, DEFAULT_VERSION, NEWEST)
MEMRAY: Final = LOCKS / "memray.txt"
REPLAY: Final = Path(__file__).with_name("replay.py")
SERVER: Final = Path(__file__).with_name("replay_server.py")
# A scrape is one line, and stock's may have sixty megabytes.
MAX_LINE_BYTES: Final = 2**28
STDERR_FILE: Final = "errors"
INHERITED_VARIABLES: Final = ("PATH", "HOME", "LANG", "TMPDIR")


@dataclass(frozen=True)
class ReplaySetup:
    """The LiteLLM in which events are replayed, and its settings."""

    python: Path
    """An interpreter that has LiteLLM."""
    import_paths: Sequence[Path] = ()
    """Folders for PYTHONPATH, such as those of the plugin and of memray."""
    bare: bool = False
    """Whether a stub replaces LiteLLM's proxy."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    several_workers: bool = False
    models: Mapping[str, int | None] = field(default_factory=dict)
    """The models of the proxy's router, with their request limits. There is no router if it is empty."""
    server: Path | None = None
    """The socket of a server that has imported LiteLLM; see `preloaded`."""


async def python_of(version: str, log: Path) -> Path:
    """Return the interpreter of a LiteLLM version."""
    node = await find_node(log)
    return (await environment(version, node, await find_engine(node, log), log)).python


async def memray_folder(log: Path) -> Path:
    """Return a folder for PYTHONPATH that holds memray."""
    digest = hashlib.sha256(MEMRAY.read_bytes() + platform.python_version().encode()).hexdigest()[:12]
    folder = cache_folder() / "plugins" / f"memray-{digest}"
    async with create_once(folder) as empty:
        if empty is not None:
            await install(["--target", empty], ["--no-deps", "--require-hashes", "-r", MEMRAY], log)
    return folder


async def replay_setups(versions: Sequence[str] = VERSIONS) -> dict[str, ReplaySetup]:
    """Return a setup with the real proxy and the current plugin for each version of LiteLLM."""
    log = log_folder() / "setup.log"
    import_paths = (await plugin_folder(), await memray_folder(log))
    return {version: ReplaySetup(await python_of(version, log), import_paths) for version in versions}


class Replay:
    """A process that replays events."""

    def __init__(self, commands: asyncio.StreamWriter, replies: asyncio.StreamReader, errors: Path) -> None:
        self._commands, self._replies, self._errors = commands, replies, errors

    async def execute(self, command: str) -> dict[str, Any]:
        """Run a command in the process, and return its reply."""
        self._commands.write(command.encode() + b"\n")
        return await self.reply()

    async def reply(self) -> dict[str, Any]:
        """Return the next reply."""
        line = await self._replies.readline()
        if not line:
            last = self._errors.read_text(encoding="utf-8", errors="replace").strip()
            raise RigFailure(
                f"The events could not be replayed: {last.rpartition(chr(10))[2][:300]}",
                hint="Run `evenkeel cache --clear`, then repeat. An unusual LiteLLM may need other events.",
                details=last[-2_000:],
            )
        result: dict[str, Any] = json.loads(line)
        return result


@asynccontextmanager
async def start_replay(setup: ReplaySetup, arm: str, events: Sequence[Event]) -> AsyncIterator[Replay]:
    """Start a process that replays events to a callback: a fork of the server of `setup`, if there is one."""
    with TemporaryDirectory(prefix="evenkeel-replay-") as name:
        folder = Path(name)
        (folder / "events.json").write_text(pack_events(events), encoding="utf-8")
        job = {
            "arm": arm,
            "settings": dict(setup.settings),
            "events": str(folder / "events.json"),
            "bare": setup.bare,
            "several_workers": setup.several_workers,
            "models": dict(setup.models),
        }
        path = folder / "job.json"
        path.write_text(json.dumps(job), encoding="utf-8")
        async with _fork(setup.server, path) if setup.server else _start_process(setup, path) as replay:
            # The first reply comes when LiteLLM is imported and the events are built.
            await replay.reply()
            yield replay


@asynccontextmanager
async def _fork(server: Path, job: Path) -> AsyncIterator[Replay]:
    replies, commands = await asyncio.open_unix_connection(server, limit=MAX_LINE_BYTES)
    commands.write(f"{job}\n".encode())
    try:
        yield Replay(commands, replies, job.with_name(STDERR_FILE))
    finally:
        # The fork ends at the end of its commands. Until then it may write to the folder of the job.
        commands.write_eof()
        await replies.read()
        commands.close()


@asynccontextmanager
async def _start_process(setup: ReplaySetup, job: Path) -> AsyncIterator[Replay]:
    errors = job.with_name(STDERR_FILE)
    with errors.open("wb") as file:
        process = await _spawn(setup, [REPLAY, job], file, job.parent)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Replay(process.stdin, process.stdout, errors)
    finally:
        await _kill(process)


@asynccontextmanager
async def preloaded(setup: ReplaySetup) -> AsyncIterator[ReplaySetup]:
    """Start a server that has imported LiteLLM, and yield a setup whose replays are forks of it."""
    with TemporaryDirectory(prefix="evenkeel-replay-") as name:
        server = Path(name, "socket")
        process = await _spawn(setup, [SERVER, server], None, Path(name))
        assert process.stdout is not None
        try:
            await process.stdout.readline()
            yield replace(setup, server=server)
        finally:
            await _kill(process)


async def _spawn(
    setup: ReplaySetup, arguments: Sequence[str | Path], errors: IO[bytes] | None, folder: Path
) -> asyncio.subprocess.Process:
    env = {key: os.environ[key] for key in INHERITED_VARIABLES if key in os.environ}
    env |= {"PYTHONPATH": os.pathsep.join(map(str, setup.import_paths)), **setup.environment}
    return await asyncio.create_subprocess_exec(
        setup.python,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors,
        limit=MAX_LINE_BYTES,
        env=env,
        cwd=folder,
        # Ctrl-C is for this program, which ends its processes by itself.
        start_new_session=True,
    )


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


@dataclass(frozen=True)
class Scrape:
    """A scrape of a callback that events were fed to."""

    text: str
    critical: Sequence[str] = ()
    """Critical log messages of the callback: the reasons why it counts nothing."""


async def scrape(setup: ReplaySetup, arm: str, events: Sequence[Event]) -> Scrape:
    """Feed events to a callback, and return its scrape."""
    async with start_replay(setup, arm, events) as replay:
        await replay.execute("feed")
        reply = await replay.execute("scrape")
    return Scrape(reply["scrape"], reply["critical"])
