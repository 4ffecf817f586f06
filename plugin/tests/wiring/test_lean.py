"""Which changes the `lean` callback makes, and its log at the start of a worker."""

from __future__ import annotations

import inspect
import logging
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import litellm
import pytest
from litellm._service_logger import ServiceLogging
from litellm.caching import redis_batch, redis_cache
from litellm.litellm_core_utils import secret_redaction
from litellm.proxy import utils
from litellm.proxy.auth import auth_checks, auth_utils
from litellm.proxy.auth.route_checks import RouteChecks
from litellm.proxy.db import db_spend_update_writer
from litellm.proxy.db.spend_counter_reseed import SpendCounterReseed
from litellm.proxy.guardrails import auto_router_compression
from litellm.proxy.spend_tracking import budget_reservation
from litellm.router_utils.cooldown_cache import CooldownCache
from litellm.router_utils.routing_read_batch import RoutingPrefetch

from litellm_evenkeel.wiring.lean import lean

if TYPE_CHECKING:
    from collections.abc import Callable

OF_DEPLOYMENTS = (
    "deployments, rare_fields, cooldowns, clients, model_infos, team_settings, usage_headers, service_events, "
    "redis_client, failed_imports, long_texts"
)
WITH_PRICES = OF_DEPLOYMENTS.replace("clients, ", "clients, prices, ")
OTEL = "litellm.integrations.otel.logger"


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Callable[..., str]:
    """Make the changes for a configuration, and return the last line of the log."""
    for name in ("coalesced", "coalesced_window"):
        monkeypatch.setattr(SpendCounterReseed, name, staticmethod(getattr(SpendCounterReseed, name)))
    monkeypatch.setattr(auth_checks, "_load_bounded_registry", auth_checks._load_bounded_registry)
    monkeypatch.setattr(RouteChecks, "_route_matches_pattern", staticmethod(RouteChecks._route_matches_pattern))
    stock_savings = db_spend_update_writer.compute_savings_spend
    monkeypatch.setattr(db_spend_update_writer, "compute_savings_spend", stock_savings)
    for owner in (litellm.Router, CooldownCache, RoutingPrefetch):
        for name, value in vars(owner).copy().items():
            if inspect.isfunction(value) or isinstance(value, staticmethod):
                monkeypatch.setattr(owner, name, value)
    monkeypatch.setattr(auth_utils, "_get_deployment_default_limit", auth_utils._get_deployment_default_limit)
    name = "_get_deployment_tiered_pricing_tables"
    monkeypatch.setattr(budget_reservation, name, getattr(budget_reservation, name))
    monkeypatch.setattr(auto_router_compression, "policy_for_model", auto_router_compression.policy_for_model)
    for module in (redis_cache, redis_batch):
        monkeypatch.setattr(module, "_get_call_stack_info", module._get_call_stack_info)
    hook = ServiceLogging.async_service_success_hook
    monkeypatch.setattr(ServiceLogging, "async_service_success_hook", hook)
    monkeypatch.setitem(sys.modules, OTEL, ModuleType(OTEL))
    monkeypatch.setattr(secret_redaction, "_SECRET_RE", secret_redaction._SECRET_RE)
    monkeypatch.delenv("DATABASE_URL", raising=False)

    def run(database: str = "postgres://h/d", **switches: bool) -> str:
        config = {"general_settings": {"database_url": database}, "evenkeel": {"lean": switches}}
        server: Any = ModuleType("litellm.proxy.proxy_server")
        server.proxy_config = SimpleNamespace(config=config)
        server.ProxyConfig = type("ProxyConfig", (), {"load_team_config": lambda _self, _team: {}})
        monkeypatch.setitem(sys.modules, "litellm.proxy.proxy_server", server)
        with caplog.at_level(logging.INFO, "litellm_evenkeel.lean"):
            lean()
        return "\n".join(record.getMessage() for record in caplog.records)

    return run


def test_all_changes_are_made(start: Callable[..., str]) -> None:
    stock = SpendCounterReseed.coalesced
    assert start() == f"evenkeel: lean: registries, spend_counters, savings, routes, {WITH_PRICES}"
    assert SpendCounterReseed.coalesced is not stock


def test_a_change_can_be_switched_off(start: Callable[..., str]) -> None:
    stock = SpendCounterReseed.coalesced
    log = start(spend_counters=False, routes=False)
    assert log == f"evenkeel: lean: registries, savings, {WITH_PRICES}"
    assert SpendCounterReseed.coalesced is stock


def test_a_change_for_which_litellm_has_no_code_leaves_the_others(
    start: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(auth_checks, "_load_bounded_registry")
    warning, made = start().splitlines()
    assert warning.startswith("evenkeel: evenkeel.lean.registries has no effect with this LiteLLM: ")
    assert made == f"evenkeel: lean: spend_counters, savings, routes, {WITH_PRICES}"


def test_a_change_is_made_whole_or_not_at_all(start: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    stock = db_spend_update_writer.compute_savings_spend
    monkeypatch.delattr(utils.PrismaClient, "get_request_status")
    assert "evenkeel.lean.savings has no effect" in start()
    assert db_spend_update_writer.compute_savings_spend is stock


def test_without_a_database_its_code_does_not_change(start: Callable[..., str]) -> None:
    assert start(database="") == f"evenkeel: lean: routes, {OF_DEPLOYMENTS}"
    log = start(database="", **dict.fromkeys(["routes", *OF_DEPLOYMENTS.split(", ")], False))
    assert log.endswith("evenkeel: lean: no change is made")
