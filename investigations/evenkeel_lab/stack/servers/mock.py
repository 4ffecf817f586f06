"""The mock provider, in its own process."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

import httpx

from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.ports import LOOPBACK, free_port
from evenkeel_lab.stack.processes.process import Command, running, until_ready
from evenkeel_lab.stack.service_info import ServiceInfo
from evenkeel_lab.stack.yaml_file import write_yaml

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

# Reading the settings of 10,000 accounts takes seconds.
READY_SECONDS = 60.0


@dataclass(frozen=True)
class Mock:
    """A running mock provider."""

    info: ServiceInfo
    url: str


async def answers(url: str) -> bool:
    """Return whether a GET request is answered with status 200."""
    try:
        async with client(seconds=2) as asking:
            return (await asking.get(url)).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


@contextlib.asynccontextmanager
async def mock(
    folder: Path, logs: Path, *, port: int | None = None, settings: Mapping[str, Any] | None = None, workers: int = 1
) -> AsyncIterator[Mock]:
    """Run the mock provider with `settings`, the content of its settings file."""
    port = free_port(port)
    path = folder / "mock.yaml"
    write_yaml(settings or {}, path)
    command = Command(
        "The mock provider",
        [sys.executable, "-m", "evenkeel_mock", "--port", str(port), "--workers", str(workers), "--config", str(path)],
        log=logs / "mock.log",
        # So its files are removed with the stack's folder, also if it is killed.
        env=dict(os.environ) | {"TMPDIR": str(folder)},
        cwd=folder,
        folder=folder,
    )
    url = f"http://{LOOPBACK}:{port}"
    async with running(command) as child:
        seconds = await until_ready(child, lambda: answers(f"{url}/_mock/health"), READY_SECONDS)
        yield Mock(ServiceInfo.of_process(child, "mock", metadata.version("litellm-evenkeel"), url, seconds), url)
