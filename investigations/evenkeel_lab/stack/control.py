"""Control of a stack by another process: a Unix socket in the stack's folder, one line of JSON for each request."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import LabError, RigFailure, WrongUse
from evenkeel_lab.stack.folders import server_uid, temporary_parent
from evenkeel_lab.stack.parts import READY_SECONDS, Parts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from pathlib import Path

SOCKET = "control.sock"
# A proxy that is restarted may take minutes.
ANSWER_SECONDS = READY_SECONDS + 60.0
ACTIONS: Mapping[str, Callable[[Parts, str], Awaitable[None] | None]] = {
    "kill": Parts.kill,
    "stop": Parts.stop,
    "suspend": Parts.suspend,
    "resume": Parts.resume,
    "restart": Parts.restart,
}


@contextlib.asynccontextmanager
async def controlled(parts: Parts, folder: Path) -> AsyncIterator[None]:
    """Carry out the requests of `send` during the block."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            if line := await reader.readline():
                writer.write(json.dumps(await _carry_out(parts, line)).encode() + b"\n")
                await writer.drain()
        writer.close()

    path = folder / SOCKET
    async with await asyncio.start_unix_server(serve, path):
        path.chmod(0o600)
        yield


async def _carry_out(parts: Parts, line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
        action, part = ACTIONS[request["action"]], str(request["part"])
    except (ValueError, TypeError, KeyError):
        return {"error": "The request is not valid.", "hint": f"Actions are {', '.join(ACTIONS)}."}
    try:
        done = action(parts, part)
        if done is not None:
            await done
    except LabError as error:
        return {"error": error.what, "hint": error.hint}
    return {"parts": [{"name": info.name, "pid": info.pid, "address": info.address} for info in parts.infos]}


async def send(folder: Path, action: str, part: str) -> list[dict[str, Any]]:
    """Request an action on a part of the stack in `folder`, and return the stack's parts afterwards."""
    try:
        reader, writer = await asyncio.open_unix_connection(folder / SOCKET)
    except OSError:
        raise RigFailure(f"The stack in {folder} does not answer.", hint="Has it ended?") from None
    writer.write(json.dumps({"action": action, "part": part}).encode() + b"\n")
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            line = await reader.readline()
    except TimeoutError:
        raise RigFailure(f"The stack in {folder} does not answer.", hint="Is its process stopped?") from None
    finally:
        writer.close()
    if not line:
        raise RigFailure(f"The stack in {folder} ended meanwhile.", hint="Start another one: evenkeel up --survive")
    answer = json.loads(line)
    if "error" in answer:
        raise WrongUse(answer["error"], hint=answer["hint"])
    return list(answer["parts"])


def running_stack() -> Path:
    """Return the folder of the one stack that can be controlled. Raise WrongUse if there is none, or several."""
    sockets = sorted(temporary_parent(server_uid()).glob(f"evenkeel-*/{SOCKET}"))
    # A stack that was killed leaves its socket behind.
    folders = [path.parent for path in sockets if _is_open(path)]
    if not folders:
        raise WrongUse("No stack runs whose parts may fail.", hint="Start one: evenkeel up --survive")
    if len(folders) > 1:
        raise WrongUse(f"{len(folders)} stacks run: {', '.join(map(str, folders))}.", hint="Name one: --stack FOLDER")
    return folders[0]


def _is_open(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
        except OSError:
            return False
    return True
