"""Facts about the proxy in this process."""

from __future__ import annotations

import signal
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel import proxy_process

if TYPE_CHECKING:
    from collections.abc import Callable

    Running = Callable[..., Any]


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Running:
    """Run a proxy whose server module has the given attributes."""

    def start(**attributes: Any) -> Any:
        server = SimpleNamespace(**attributes)
        monkeypatch.setitem(sys.modules, proxy_process.SERVER, server)
        return server

    return start


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, proxy_process.SERVER, raising=False)


@pytest.mark.usefixtures("no_proxy")
def test_without_a_proxy_everything_is_empty() -> None:
    assert proxy_process.server() is None
    assert proxy_process.config() == {}
    assert proxy_process.callbacks() == []
    assert not proxy_process.on_shutdown()
    assert proxy_process.SERVER not in sys.modules


def test_the_server_is_the_loaded_module(running: Running) -> None:
    server = running()
    assert proxy_process.server() is server


@pytest.mark.parametrize("config", [None, [], "text"])
def test_a_configuration_that_is_no_mapping_is_empty(running: Running, config: object) -> None:
    running(proxy_config=SimpleNamespace(config=config))
    assert proxy_process.config() == {}


@pytest.mark.parametrize(
    ("settings", "callbacks"),
    [
        (None, []),
        ({}, []),
        ({"callbacks": None}, []),
        ({"callbacks": "a"}, ["a"]),
        ({"callbacks": ["a", "b"], "success_callback": "c", "failure_callback": ["d"]}, ["a", "b", "c", "d"]),
    ],
)
def test_callbacks_are_those_of_all_lists(running: Running, settings: object, callbacks: list[str]) -> None:
    running(proxy_config=SimpleNamespace(config={"litellm_settings": settings}))
    assert proxy_process.callbacks() == callbacks


class Shutdown:
    """A proxy's shutdown, with what it runs in order."""

    def __init__(self, running: Running, error: Exception | None = None) -> None:
        self.order: list[str] = []
        self.error = error

        async def proxy_shutdown_event(value: str, *, named: str) -> str:
            self.order.append("handler")
            if self.error is not None:
                raise self.error
            return value + named

        self.server = running(proxy_shutdown_event=proxy_shutdown_event)

    async def before(self) -> None:
        self.order.append("before")

    def after(self) -> None:
        self.order.append("after")

    async def run(self) -> str:
        result: str = await self.server.proxy_shutdown_event("a", named="b")
        return result


class Server:
    """A server whose method handles signals, as uvicorn's does."""

    def __init__(self, *, should_exit: bool, serving: list[bool]) -> None:
        self.should_exit = should_exit
        self.servers = [SimpleNamespace(is_serving=lambda own=own: own) for own in serving]

    def handle(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("should_exit", "serving", "ends"), [(False, [True], False), (True, [True], True), (False, [True, False], True)]
)
def test_a_server_ends_after_a_signal_or_by_closing_its_sockets(
    *, should_exit: bool, serving: list[bool], ends: bool
) -> None:
    former = signal.signal(signal.SIGTERM, Server(should_exit=should_exit, serving=serving).handle)
    try:
        assert proxy_process.is_shutting_down() is ends
    finally:
        signal.signal(signal.SIGTERM, former)
    assert not proxy_process.is_shutting_down()


async def test_the_shutdown_handler_runs_between_both_functions(running: Running) -> None:
    shutdown = Shutdown(running)
    assert proxy_process.on_shutdown(before=shutdown.before, after=shutdown.after)
    assert await shutdown.run() == "ab"
    assert shutdown.order == ["before", "handler", "after"]
    assert shutdown.server.proxy_shutdown_event.__name__ == "proxy_shutdown_event"


async def test_two_features_share_a_shutdown(running: Running) -> None:
    shutdown = Shutdown(running)
    assert proxy_process.on_shutdown(before=shutdown.before)
    assert proxy_process.on_shutdown(after=shutdown.after)
    assert await shutdown.run() == "ab"
    assert shutdown.order == ["before", "handler", "after"]


async def test_what_comes_after_runs_even_if_the_handler_fails(running: Running) -> None:
    shutdown = Shutdown(running, ValueError("broken"))
    assert proxy_process.on_shutdown(after=shutdown.after)
    with pytest.raises(ValueError, match="broken"):
        await shutdown.run()
    assert shutdown.order == ["handler", "after"]


@pytest.mark.parametrize("handler", [None, "text", lambda: None])
def test_a_handler_that_is_not_awaited_is_left_alone(running: Running, handler: object) -> None:
    server = running(proxy_shutdown_event=handler)
    assert not proxy_process.on_shutdown(after=lambda: None)
    assert server.proxy_shutdown_event is handler


@pytest.mark.parametrize(
    ("environ", "count", "has_several"),
    [
        ({}, None, False),
        ({"NUM_WORKERS": ""}, None, False),
        ({"NUM_WORKERS": "many"}, None, False),
        ({"NUM_WORKERS": "-2"}, None, False),
        ({"NUM_WORKERS": "²"}, None, False),
        ({"NUM_WORKERS": "٤"}, None, False),
        ({"NUM_WORKERS": "0"}, 0, False),
        ({"NUM_WORKERS": "1"}, 1, False),
        ({"NUM_WORKERS": "4"}, 4, True),
        ({"NUM_WORKERS": "9999"}, 9999, True),
        ({"NUM_WORKERS": "10000"}, None, True),
        ({"NUM_WORKERS": "9" * 5000}, None, True),
    ],
)
def test_the_environment_says_how_many_workers_there_are(
    environ: dict[str, str], count: int | None, *, has_several: bool
) -> None:
    assert proxy_process.worker_count(environ) == count
    assert proxy_process.has_several_workers(environ) is has_several


@given(st.text())
def test_no_number_of_workers_raises(value: str) -> None:
    count = proxy_process.worker_count({"NUM_WORKERS": value})
    assert count is None or proxy_process.has_several_workers({"NUM_WORKERS": value}) is (count > 1)


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({}, None),
        ({"PROMETHEUS_MULTIPROC_DIR": ""}, None),
        ({"PROMETHEUS_MULTIPROC_DIR": "/there"}, "/there"),
        ({"prometheus_multiproc_dir": "/there"}, "/there"),
        ({"PROMETHEUS_MULTIPROC_DIR": "/there", "prometheus_multiproc_dir": "/elsewhere"}, "/there"),
    ],
)
def test_the_environment_names_the_folder_of_several_processes(environ: dict[str, str], folder: str | None) -> None:
    assert proxy_process.multiprocess_folder(environ) == folder
