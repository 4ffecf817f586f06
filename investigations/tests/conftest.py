from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from evenkeel_lab.stack.stack import Options, Stack, stack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest_asyncio.fixture(scope="session")
async def below() -> AsyncIterator[Stack]:
    """The stack below proxies: servers and a database schema for each version, which take seconds to start."""
    async with stack(Options()) as running:
        yield running


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, for tests that look at what is put there."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("EVENKEEL_CACHE", str(folder))
    return folder
