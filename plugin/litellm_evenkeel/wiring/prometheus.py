"""The Prometheus callback of a worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.metrics.callback import STOCK, EvenkeelPrometheusLogger, mount
from litellm_evenkeel.wiring.config import of_proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

LISTS = ("callbacks", "success_callback", "failure_callback")


def prometheus() -> EvenkeelPrometheusLogger:
    """Make the callback of this worker."""
    for where in _stock_in(of_proxy()):
        raise SettingsError(
            f"{where}: {STOCK!r} stands beside litellm_evenkeel.proxy.prometheus, and both would count each request. "
            f"Remove {STOCK!r}: ours has the same series."
        )
    made = EvenkeelPrometheusLogger()
    mount(made)
    return made


def _stock_in(config: Mapping[str, Any]) -> Iterator[str]:
    settings = config.get("litellm_settings")
    for name in LISTS:
        named = settings.get(name) if isinstance(settings, Mapping) else None
        if STOCK in ([named] if isinstance(named, str) else named or ()):
            yield f"litellm_settings.{name}"
