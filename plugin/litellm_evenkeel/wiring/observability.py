"""How those who look at the rotation of this worker are let in: Prometheus, and the routes of the proxy."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

from prometheus_client import REGISTRY

from litellm_evenkeel.admin.handlers import AdminHandlers, Worker
from litellm_evenkeel.instrumentation.export import export_samples, exposition
from litellm_evenkeel.litellm_router import SERVER, deployments_of, running_router
from litellm_evenkeel.rotation.inspection import metric_definitions
from litellm_evenkeel.rotation.inspection.gauges import Gauges
from litellm_evenkeel.rotation.inspection.metrics import RotationMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prometheus_client import CollectorRegistry

    from litellm_evenkeel.rotation.inspection.inspector import RotationInspector

LOG = logging.getLogger("litellm_evenkeel.rotation")
# LiteLLM's command reads it; who starts workers otherwise does not say how many.
WORKERS_VARIABLE = "NUM_WORKERS"


def expose(
    inspector: RotationInspector,
    metrics: RotationMetrics,
    on_error: Callable[[str, Exception], None],
    *,
    is_shared: Callable[[], bool | None] = lambda: None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Let Prometheus and, in a proxy, its admins look; errors of ours are told to `happened`."""
    if metrics.registry is None:
        # Those of the first rotation of this process are there; of this one, nobody asked.
        return
    gauges = Gauges(inspector, metrics.accounts, metrics.models, is_shared)
    export_samples(gauges.samples, metric_definitions.READ, metrics.registry, environ, on_error=on_error)
    if SERVER in sys.modules:
        # Not there, and not wanted, without a proxy.
        from litellm_evenkeel.admin import routes  # noqa: PLC0415 - not there without a proxy

        registry = metrics.registry
        handlers = AdminHandlers(inspector, Worker(os.getpid(), workers(environ), is_shared))
        routes.install(handlers, lambda: exposition(registry, environ))


def metrics(registry: CollectorRegistry = REGISTRY) -> RotationMetrics:
    """Return the metrics of this process; a second rotation in it, which a test or a mistake makes, is not counted."""
    try:
        return RotationMetrics(registry)
    except ValueError:
        LOG.warning("evenkeel: a second rotation in the same process is not counted in its metrics, and has no routes.")
        return RotationMetrics(None)


def deployments(model: str) -> Sequence[Mapping[str, Any]]:
    """Return the running proxy's deployments of a model."""
    router = running_router()
    return () if router is None else deployments_of(router, model)


def workers(environ: Mapping[str, str]) -> int | None:
    """Return how many workers there are, if anybody says so."""
    told = environ.get(WORKERS_VARIABLE, "")
    return int(told) if told.isdecimal() and told.isascii() and len(told) < len("10000") else None
