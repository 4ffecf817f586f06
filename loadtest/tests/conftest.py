"""Something to load: the mock provider, in a process of its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS: dict[str, Any] = {
    "latency": {"ttft_ms": 20, "gap_ms": 2},
    "accounts": [{"name": "known", "key": "sk-known"}, {"name": "limited", "key": "sk-limited", "rpm": 30}],
}


def a_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def free_port() -> int:
    return a_free_port()


@pytest.fixture(scope="session")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path: Path = tmp_path_factory.mktemp("provider") / "mock.yaml"
    path.write_text(yaml.safe_dump(SETTINGS))
    port = a_free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "evenkeel_mock", "--port", str(port), "--config", str(path)], stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{url}/_mock/health", trust_env=False)
                break
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(20)
