from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from evenkeel_lab.stack.stack import Options, Stack, stack
from evenkeel_lab.tracing.traces import Trace, Traces
from evenkeel_lab.tracing.waits import PARTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SIMULATED = """
title = "Simulated"
question = "Is it slower?"
hypothesis = "It is."
baseline = "plain"
[arms.plain]
about = "a simulation"
subject = "function"
function = "fractions:Fraction"
arguments = { denominator = 3 }
[arms.slower]
about = "a slower one"
subject = "function"
function = "fractions:Fraction"
arguments = { denominator = 2 }
[figures.value]
margin = 0.05
primary = true
"""


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


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an investigation of functions, in a project of its own, which becomes the working directory."""
    folder = tmp_path / "investigations" / "simulated"
    folder.mkdir(parents=True)
    (folder / "investigation.toml").write_text(SIMULATED)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def traces() -> Traces:
    """Two arms: in one of them, requests wait for the database."""
    stock = tuple(Trace(number, (20, 100 * number, 10, 50, 30)) for number in range(100))
    lean = tuple(Trace(number, (20, 9, 10, 50, 30)) for number in range(100))
    return Traces("bursts", "0" * 12, {"machine": "x86_64"}, PARTS, {"stock": stock, "lean": lean}, {"mock": "none"})
