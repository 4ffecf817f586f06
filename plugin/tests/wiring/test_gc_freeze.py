"""The callback's log at the start of a worker, by LiteLLM version."""

from __future__ import annotations

import logging
import sys
from importlib import metadata
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.wiring import gc_freeze as wiring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[str, int], str]]:
    """Return the callback's log on a version of LiteLLM, without freezing this process."""

    class Gc:
        callbacks: list[object] = []  # noqa: RUF012

        @staticmethod
        def collect() -> int:
            return 0

        @staticmethod
        def freeze() -> None:
            pass

    def start(version: str, freezes: int) -> str:
        server = ModuleType("litellm.proxy.proxy_server")
        server.proxy_config = SimpleNamespace(config={"evenkeel": {"gc_freeze": {"freezes": freezes}}})
        monkeypatch.setitem(sys.modules, "litellm.proxy.proxy_server", server)
        monkeypatch.setattr(metadata, "version", lambda _: version)
        freezer = wiring.GcFreezer
        monkeypatch.setattr(wiring, "GcFreezer", lambda terms, **named: freezer(terms, Gc(), **named))
        with caplog.at_level(logging.INFO, "litellm_evenkeel.gc_freeze"):
            wiring.gc_freeze()
        monkeypatch.setattr(wiring, "GcFreezer", freezer)
        return caplog.records[-1].getMessage()

    return start


@pytest.mark.parametrize("version", ["1.100.5", "1.106.2", "1.108.14"])
def test_an_older_litellm_has_its_start_frozen_by_us(started: Callable[[str, int], str], version: str) -> None:
    assert "objects frozen after a full collection" in started(version, 3)


@pytest.mark.parametrize("version", ["1.109.0", "1.110.2", "1.111.0rc3"])
def test_of_a_newer_litellm_it_is_said_what_is_added(started: Callable[[str, int], str], version: str) -> None:
    assert f"LiteLLM {version} freezes the objects of its start. Objects that survive the next 3" in started(version, 3)
    assert "no effect" in started(version, 0)
