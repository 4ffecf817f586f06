"""The mock as its users run it: a process with worker processes of its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    RunMock = Callable[..., AbstractContextManager["RunningMock"]]

START_SECONDS = 20


@dataclass(frozen=True)
class RunningMock:
    url: str
    process: subprocess.Popen[bytes]
    log: Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def run_mock(tmp_path_factory: pytest.TempPathFactory) -> RunMock:
    """Return what runs a mock with settings, and further arguments of its command line."""

    @contextlib.contextmanager
    def run(settings: dict[str, Any], *arguments: str) -> Iterator[RunningMock]:
        folder = tmp_path_factory.mktemp("mock")
        (folder / "mock.yaml").write_text(yaml.safe_dump(settings))
        port = free_port()
        command = [sys.executable, "-m", "evenkeel_mock", "--port", str(port), "--config", str(folder / "mock.yaml")]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([*command, *arguments], stdout=log, stderr=log)
        mock = RunningMock(f"http://127.0.0.1:{port}", process, folder / "log")
        try:
            wait_for(mock)
            yield mock
        finally:
            process.terminate()
            process.wait(timeout=20)

    return run


def wait_for(mock: RunningMock) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and mock.process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{mock.url}/_mock/health", trust_env=False).is_success:
                return
        time.sleep(0.05)
    pytest.fail(f"the mock does not answer: {mock.log.read_text()}")
