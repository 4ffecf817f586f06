"""Settings of the `lean` callback."""

from __future__ import annotations

from litellm_evenkeel.settings_schema.types import SettingsModel, Switch


class LeanSettings(SettingsModel):
    """Settings of the `lean` callback, `evenkeel.lean`: its changes to LiteLLM, each of which can be switched off."""

    connections: Switch = True
    """Whether up to 32 new connections are accepted in each turn of the event loop."""
    registries: Switch = True
    """Whether requests that wait for the same list of restricted entities get it at the same time."""
    spend_counters: Switch = True
    """Whether requests that wait for the same spend counter read it together if Redis has lost it."""
    database_queue: Switch = True
    """Whether requests to the database client wait in a queue, first in, first out, once 32 are in flight."""
    savings: Switch = True
    """Whether what a request has saved is computed once for all its daily rows, not for each of them."""
    routes: Switch = True
    """Whether comparisons of a request's path with the patterns of routes are remembered."""
    failed_imports: Switch = True
    """Whether imports of LiteLLM's logger for OpenTelemetry fail at once where that is not installed."""
