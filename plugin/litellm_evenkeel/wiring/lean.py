"""Composition of the `lean` callback, which changes LiteLLM at a worker's start and does nothing afterwards."""

from __future__ import annotations

import logging
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from litellm.integrations.custom_logger import CustomLogger

from litellm_evenkeel import proxy_process
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings import SECTION, settings
from litellm_evenkeel.wiring import server_urls

if TYPE_CHECKING:
    from collections.abc import Mapping

LOG = logging.getLogger("litellm_evenkeel.lean")


class Change(NamedTuple):
    """A change to LiteLLM, which a function makes. Its module can be imported only where LiteLLM has the code."""

    module: str
    function: str
    is_of_database: bool = True


CHANGES = {
    "registries": Change("litellm_evenkeel.lean.bursts.registries", "share_registry_loads"),
    "spend_counters": Change("litellm_evenkeel.lean.bursts.spend_counters", "share_spend_counter_reads"),
    "savings": Change("litellm_evenkeel.lean.savings", "compute_savings_once"),
    "routes": Change("litellm_evenkeel.lean.routes", "remember_route_matches", is_of_database=False),
    "deployments": Change("litellm_evenkeel.lean.deployments.lists", "remember_deployments", is_of_database=False),
    "rare_fields": Change(
        "litellm_evenkeel.lean.deployments.rare_fields", "look_for_used_fields_only", is_of_database=False
    ),
    "cooldowns": Change("litellm_evenkeel.lean.deployments.cooldowns", "read_cooldowns_in_force", is_of_database=False),
    "clients": Change(
        "litellm_evenkeel.lean.deployments.clients", "keep_clients_of_all_deployments", is_of_database=False
    ),
    "prices": Change("litellm_evenkeel.lean.deployments.prices", "keep_prices_of_all_deployments"),
    "model_infos": Change(
        "litellm_evenkeel.lean.deployments.model_infos", "remember_model_infos", is_of_database=False
    ),
    "team_settings": Change("litellm_evenkeel.lean.team_settings", "copy_team_settings_only", is_of_database=False),
    "usage_headers": Change(
        "litellm_evenkeel.lean.deployments.usage_headers", "remember_usage_headers", is_of_database=False
    ),
    "service_events": Change(
        "litellm_evenkeel.lean.service_events", "skip_events_without_callbacks", is_of_database=False
    ),
    "redis_client": Change("litellm_evenkeel.lean.redis_client", "compute_client_name_once", is_of_database=False),
    "failed_imports": Change("litellm_evenkeel.lean.failed_imports", "let_imports_fail_at_once", is_of_database=False),
    "long_texts": Change("litellm_evenkeel.lean.long_texts", "cut_long_texts", is_of_database=False),
}


def lean() -> CustomLogger:
    """Make the changes that are switched on, except those for which this LiteLLM lacks the code."""
    config = proxy_process.config()
    own = settings(config.get(SECTION)).lean
    has_database = _has_database(config)
    made = []
    for name, change in CHANGES.items():
        if not getattr(own, name):
            continue
        if change.is_of_database and not has_database:
            # The import of its client would only take time and memory.
            LOG.debug("evenkeel: %s.lean.%s has no effect without a database", SECTION, name)
            continue
        try:
            getattr(import_module(change.module), change.function)()
        except Exception as error:  # noqa: BLE001 - no change is worth a proxy that does not start
            LOG.warning("evenkeel: %s.lean.%s has no effect with this LiteLLM: %s", SECTION, name, error)
        else:
            made.append(name)
    LOG.info("evenkeel: lean: %s", ", ".join(made) or "no change is made")
    return CustomLogger()


def _has_database(config: Mapping[str, Any]) -> bool:
    try:
        server_urls.postgres(config, os.environ, SECTION)
    except SettingsError:
        return False
    return True
