"""The journal as a proxy wires it, with the rotation beside it, and a real LiteLLM router that serves."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from contextlib import closing
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from litellm_evenkeel import operator_actions
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.instrumentation.export import SampleCollector
from litellm_evenkeel.journal import metrics
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.journal.store import JournalMissing
from litellm_evenkeel.operator_actions import OperatorAction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from litellm_evenkeel.journal.record import RequestRecord

# LiteLLM warns of its own types when it is first used.
pytestmark = pytest.mark.filterwarnings("ignore")

SERVER, MODEL = "litellm.proxy.proxy_server", "gpt-4o-mini"


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Make the journal as a proxy does, with such settings."""
    import litellm  # noqa: PLC0415 - as late as can be: it takes seconds

    from litellm_evenkeel.admin import routes  # noqa: PLC0415 - as above
    from litellm_evenkeel.instrumentation import export  # noqa: PLC0415
    from litellm_evenkeel.wiring import journal as wiring  # noqa: PLC0415

    made: list[Any] = []
    monkeypatch.setattr(routes, "install_health", lambda *_: None)
    monkeypatch.setattr(export, "export_samples", lambda *_, **__: lambda: None)
    monkeypatch.setattr(wiring.atexit, "register", lambda *_: None)
    # A journal listens until its proxy ends, and there is no proxy here that could end.
    monkeypatch.setattr(operator_actions, "_listeners", [])
    monkeypatch.chdir(tmp_path)

    def make(**terms: Any) -> Any:
        server = sys.modules.get(SERVER) or ModuleType(SERVER)
        config = {"evenkeel": {"journal": terms}}
        monkeypatch.setattr(server, "proxy_config", SimpleNamespace(config=config), raising=False)
        monkeypatch.setitem(sys.modules, SERVER, server)
        made.append(wiring.journal())
        monkeypatch.setattr(litellm, "callbacks", [*litellm.callbacks, made[-1]])
        return made[-1]

    yield make
    for one in made:
        one.journal.close()


def rows(path: Path) -> list[RequestRecord]:
    if not path.exists():
        return []
    with closing(SqliteStore(path, create=False)) as store, contextlib.suppress(JournalMissing):
        return store.newest(1000)
    # It is there, and nothing is in it yet.
    return []


async def test_a_request_through_the_router_is_a_row_with_its_account_and_why(
    rig: Any, wired: Callable[..., Any], tmp_path: Path, eventually: Callable[..., Any]
) -> None:
    rig.start()
    journal = wired(path=str(tmp_path / "j.db"), flush_interval=0.01)
    await asyncio.gather(*(rig.ask(**rig.logged()) for _ in range(10)))
    stream = await rig.ask(**rig.logged(stream=True))
    async for _ in stream:
        pass
    await eventually(lambda: len(rows(tmp_path / "j.db")) == 11)
    found = rows(tmp_path / "j.db")
    assert {record.account for record in found} <= set("abcd")
    assert {record.reason for record in found} <= {"strategy", "pinned"}
    assert {record.status for record in found} == {200}
    # LiteLLM does not know what a stream has used whose provider does not say so.
    assert min(record.prompt_tokens for record in found if not record.is_stream) > 0
    assert min(record.output_tokens for record in found if not record.is_stream) > 0
    assert min(record.latency for record in found) > 0
    assert [record.is_stream for record in found].count(True) == 1
    assert journal._errors.__self__.counts == {}


async def test_attempts_that_failed_are_counted_in_the_row_of_their_request(
    rig: Any, wired: Callable[..., Any], tmp_path: Path, eventually: Callable[..., Any]
) -> None:
    rig.start(rotation={"strategy": "fill_first"})
    wired(path=str(tmp_path / "j.db"), flush_interval=0.01)
    await rig.fails(a="status=503", b="status=503", c="status=503")
    for _ in range(4):
        await rig.ask(**rig.logged())
    await eventually(lambda: len(rows(tmp_path / "j.db")) == 4)
    found = rows(tmp_path / "j.db")
    assert {record.account for record in found} == {"d"}
    tries = (await rig.asked()).total()
    assert sum(record.retries for record in found) == tries - 4 > 0


async def test_a_fallback_is_a_row_of_the_model_that_was_asked_for(
    rig: Any, wired: Callable[..., Any], tmp_path: Path, eventually: Callable[..., Any]
) -> None:
    spare = rig.deployment("b", group="spare")
    rig.start([rig.deployment("a"), spare], fallbacks=[{MODEL: ["spare"]}], num_retries=0)
    wired(path=str(tmp_path / "j.db"), flush_interval=0.01)
    await rig.fails(a="status=503")
    await rig.ask(**rig.logged())
    await eventually(lambda: len(rows(tmp_path / "j.db")) == 1)
    (found,) = rows(tmp_path / "j.db")
    assert (found.status, found.account, found.model) == (200, "b", MODEL)


async def test_without_any_setting_there_is_a_file_beside_the_proxy(
    rig: Any, wired: Callable[..., Any], tmp_path: Path, eventually: Callable[..., Any]
) -> None:
    rig.start()
    wired()
    await rig.ask()
    await eventually(lambda: len(rows(tmp_path / "evenkeel-journal.db")) == 1)


async def test_an_action_of_an_operator_is_recorded_beside_the_requests(
    wired: Callable[..., Any], tmp_path: Path
) -> None:
    wired(path=str(tmp_path / "j.db"))
    action = OperatorAction(1.0, "anna", "pause", "north", reason="invoice")
    assert await operator_actions.publish(action)
    with closing(SqliteStore(tmp_path / "j.db", create=False)) as store:
        assert store.actions(10) == [action]


@pytest.mark.parametrize("breaks", [False, True])
async def test_what_waits_is_written_when_the_proxy_ends_and_nothing_keeps_it_from_ending(
    wired: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, breaks: bool
) -> None:
    from litellm_evenkeel.wiring import journal as wiring  # noqa: PLC0415 - as above

    async def ends(told: str) -> str:
        return told

    async def flush() -> None:
        if breaks:
            raise RuntimeError

    server = ModuleType(SERVER)
    server.proxy_shutdown_event = ends  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, SERVER, server)
    monkeypatch.setattr(wiring.GLOBAL_LOGGING_WORKER, "flush", flush)
    made = wired(path=str(tmp_path / "j.db"), flush_interval=600)
    event = {"standard_logging_object": {"startTime": 1.8e9, "endTime": 1.8e9 + 1, "model": "m"}}
    await made.async_log_success_event(event, None, None, None)
    assert await server.proxy_shutdown_event("over") == "over"
    assert len(rows(tmp_path / "j.db")) == 1


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"path": "/nowhere/at/all.db"}, "expected a file in a folder that exists, got /nowhere/at/all.db"),
        ({"copy_to": "sqlite"}, "got sqlite for both"),
        ({"store": "postgres"}, "LiteLLM has no database"),
        ({"store": "postgres", "url": "mysql://h/d"}, "url: expected `litellm` for LiteLLM's own database"),
        ({"store": "postgres", "url": None}, "url: expected a value, got none"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(
    wired: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, terms: dict[str, Any], said: str
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with pytest.raises(SettingsError, match=said):
        wired(**terms)


async def test_prometheus_is_told_how_it_goes(wired: Callable[..., Any], eventually: Callable[..., Any]) -> None:
    made = wired(flush_interval=0.01)
    registry = CollectorRegistry()
    SampleCollector(lambda: metrics.samples(made.journal), metrics.ALL, registry, on_error=pytest.fail)
    assert registry.get_sample_value("evenkeel_journal_records_total", {"store": "sqlite"}) == 0
    event = {"standard_logging_object": {"startTime": 1.0, "endTime": 2.0, "model": "m"}}
    await made.async_log_success_event(event, None, None, None)
    await eventually(lambda: registry.get_sample_value("evenkeel_journal_records_total", {"store": "sqlite"}) == 1)
    dropped = registry.get_sample_value("evenkeel_journal_dropped_total", {"store": "sqlite", "reason": "queue_full"})
    assert dropped == 0
    assert registry.get_sample_value("evenkeel_journal_mismatches") is None
    assert registry.get_sample_value("evenkeel_journal_write_seconds_total", {"store": "sqlite"}) > 0
    assert registry.get_sample_value("evenkeel_journal_log_bytes", {"store": "sqlite"}) > 0
