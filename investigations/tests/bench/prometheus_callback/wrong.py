"""LiteLLM's own callback with faults, to test the comparison. Imported in the process that replays events."""

from __future__ import annotations

from typing import Any

from litellm.integrations.prometheus import PrometheusLogger


class Wrong(PrometheusLogger):
    """Loses cache hits, counts tokens twice, and ignores failures."""

    def _increment_cache_metrics(self, *_: Any, **__: Any) -> None:
        return

    def _increment_token_metrics(self, *args: Any, **kwargs: Any) -> None:
        super()._increment_token_metrics(*args, **kwargs)
        super()._increment_token_metrics(*args, **kwargs)

    async def async_log_failure_event(self, *_: Any, **__: Any) -> None:
        return
