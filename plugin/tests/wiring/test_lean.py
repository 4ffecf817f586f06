"""Which changes the `lean` callback makes, and its log at the start of a worker."""

from __future__ import annotations

import logging
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from litellm.proxy.auth import auth_checks
from litellm.proxy.auth.route_checks import RouteChecks
from litellm.proxy.db import db_spend_update_writer
from litellm.proxy.db.spend_counter_reseed import SpendCounterReseed

from litellm_evenkeel.wiring.lean import lean

if TYPE_CHECKING:
    from collections.abc import Callable

STOCK = "stock"
OTEL = "litellm.integrations.otel.logger"


class Client:
    """The database client, which the environment of these tests lacks."""

    async def request(self, *_: Any) -> str:
        return STOCK


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Callable[..., str]:
    """Make the changes for a configuration, and return the last line of the log."""
    for name in ("coalesced", "coalesced_window"):
        monkeypatch.setattr(SpendCounterReseed, name, staticmethod(getattr(SpendCounterReseed, name)))
    monkeypatch.setattr(auth_checks, "_load_bounded_registry", auth_checks._load_bounded_registry)
    monkeypatch.setattr(RouteChecks, "_route_matches_pattern", staticmethod(RouteChecks._route_matches_pattern))
    stock_savings = db_spend_update_writer.compute_savings_spend
    monkeypatch.setattr(db_spend_update_writer, "compute_savings_spend", stock_savings)
    monkeypatch.setitem(sys.modules, OTEL, ModuleType(OTEL))
    monkeypatch.setattr(uvicorn.Server, "main_loop", uvicorn.Server.main_loop)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delitem(sys.modules, "litellm_evenkeel.lean.database_queue", raising=False)

    def run(client: type[Client] | None = None, database: str = "postgres://h/d", **switches: bool) -> str:
        module: Any = ModuleType("prisma._async_http")
        if client:
            module.HTTP = client
        monkeypatch.setitem(sys.modules, "prisma", ModuleType("prisma"))
        monkeypatch.setitem(sys.modules, "prisma._async_http", module)
        config = {"general_settings": {"database_url": database}, "evenkeel": {"lean": switches}}
        server: Any = ModuleType("litellm.proxy.proxy_server")
        server.proxy_config = SimpleNamespace(config=config)
        monkeypatch.setitem(sys.modules, "litellm.proxy.proxy_server", server)
        with caplog.at_level(logging.INFO, "litellm_evenkeel.lean"):
            lean()
        return "\n".join(record.getMessage() for record in caplog.records)

    return run


def test_all_changes_are_made(start: Callable[..., str]) -> None:
    stock = SpendCounterReseed.coalesced
    assert start(client := type("Client", (Client,), {})) == (
        "evenkeel: lean: connections, registries, spend_counters, database_queue, savings, routes, failed_imports"
    )
    assert SpendCounterReseed.coalesced is not stock
    assert client.request is not Client.request


def test_a_change_can_be_switched_off(start: Callable[..., str]) -> None:
    stock = SpendCounterReseed.coalesced
    client = type("Client", (Client,), {})
    log = start(client, spend_counters=False, routes=False)
    assert log == "evenkeel: lean: connections, registries, database_queue, savings, failed_imports"
    assert SpendCounterReseed.coalesced is stock


def test_a_change_for_which_litellm_has_no_code_leaves_the_others(start: Callable[..., str]) -> None:
    warning, made = start().splitlines()
    assert warning.startswith("evenkeel: evenkeel.lean.database_queue has no effect with this LiteLLM: ")
    assert made == "evenkeel: lean: connections, registries, spend_counters, savings, routes, failed_imports"


def test_without_a_database_its_code_does_not_change(start: Callable[..., str]) -> None:
    assert start(Client, database="") == "evenkeel: lean: connections, routes, failed_imports"
    log = start(Client, database="", connections=False, routes=False, failed_imports=False)
    assert log.endswith("evenkeel: lean: no change is made")
