"""Settings of the `lean` callback."""

from __future__ import annotations

from litellm_evenkeel.settings_schema.types import SettingsModel, Switch


class LeanSettings(SettingsModel):
    """Settings of the `lean` callback, `evenkeel.lean`: its changes to LiteLLM, each of which can be switched off."""

    registries: Switch = True
    """Whether requests that wait for the same list of restricted entities get it at the same time."""
    spend_counters: Switch = True
    """Whether requests that wait for the same spend counter read it together if Redis has lost it."""
    savings: Switch = True
    """Whether a request's savings and success are computed once for all its daily rows."""
    routes: Switch = True
    """Whether comparisons of a request's path with the patterns of routes are remembered."""
    deployments: Switch = True
    """Whether lists of deployments are remembered for a second, or until the deployments change."""
    rare_fields: Switch = True
    """Whether LiteLLM looks for rare fields of deployments (reservations, default limits) only if one has them."""
    cooldowns: Switch = True
    """Whether only the cooldowns in force are looked through with each request, not one for each deployment."""
    clients: Switch = True
    """Whether LiteLLM keeps the clients of all deployments, not only 200 clients."""
    prices: Switch = True
    """Whether LiteLLM keeps the prices of all deployments, not only of 64, for the reservation of budgets."""
    model_infos: Switch = True
    """Whether LiteLLM looks up what is known of a deployment's model once in a second, not twice for each request."""
    team_settings: Switch = True
    """Whether LiteLLM copies only `litellm_settings` to find the settings of a team, not its whole configuration."""
    usage_headers: Switch = True
    """Whether the rate-limit headers of groups with more than 50 deployments are computed once in a second."""
    service_events: Switch = True
    """Whether LiteLLM prepares events about its calls of Redis and the database only for service callbacks."""
    redis_client: Switch = True
    """Whether the name under which LiteLLM finds its Redis client is computed once, not for each batch of commands."""
    failed_imports: Switch = True
    """Whether imports of LiteLLM's logger for OpenTelemetry fail at once where that is not installed."""
    long_texts: Switch = True
    """Whether texts of errors of more than 16 KiB are cut to 8 KiB before LiteLLM searches them for secrets."""
