"""Composition of a worker's rotation metrics and admin routes."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from prometheus_client import REGISTRY

from litellm_evenkeel import proxy_process
from litellm_evenkeel.admin.handlers import AdminHandlers, Worker
from litellm_evenkeel.instrumentation.export import export_samples, exposition
from litellm_evenkeel.litellm_router import deployments_of, running_router
from litellm_evenkeel.rotation.inspection import metric_definitions
from litellm_evenkeel.rotation.inspection.gauges import Gauges
from litellm_evenkeel.rotation.inspection.metrics import RotationMetrics
from litellm_evenkeel.rotation.model.account import Account

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prometheus_client import CollectorRegistry

    from litellm_evenkeel.rotation.controls.control_sync import ControlSync
    from litellm_evenkeel.rotation.inspection.inspector import RotationInspector

LOG = logging.getLogger("litellm_evenkeel.rotation")


def expose(
    inspector: RotationInspector,
    metrics: RotationMetrics,
    controls: ControlSync,
    on_error: Callable[[str, Exception], None],
    *,
    is_shared: Callable[[], bool | None] = lambda: None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Export the rotation's metrics and, in a proxy, install the admin routes. `on_error` gets errors of the export."""
    if metrics.registry is None:
        # A second rotation in this process. Metrics and routes belong to the first one.
        return
    gauges = Gauges(inspector, metrics.accounts, metrics.models, is_shared)
    export_samples(gauges.samples, metric_definitions.SAMPLED, metrics.registry, environ, on_error=on_error)
    if proxy_process.server() is not None:
        from litellm_evenkeel.admin import routes  # noqa: PLC0415 - needs FastAPI, which may be missing without a proxy

        registry = metrics.registry
        worker = Worker(os.getpid(), proxy_process.worker_count(environ), is_shared)
        handlers = AdminHandlers(inspector, worker, controls, configured=configured_accounts)
        routes.install(handlers, lambda: exposition(registry, environ))


def metrics(registry: CollectorRegistry = REGISTRY) -> RotationMetrics:
    """Return the rotation metrics. A second rotation in a process (a test or a mistake) gets unregistered ones."""
    try:
        return RotationMetrics(registry)
    except ValueError:
        LOG.warning(
            "evenkeel: this process has a second rotation, which has no metrics and no routes. Name the callback only"
            " once."
        )
        return RotationMetrics(None)


def configured_accounts() -> set[str]:
    """Return the names of the accounts of all deployments in the running proxy."""
    router = running_router()
    return {
        Account.from_deployment(deployment.get("litellm_params") or {}, deployment.get("model_info")).name
        for deployment in (() if router is None else deployments_of(router, None))
    }


def deployments(model: str) -> Sequence[Mapping[str, Any]]:
    """Return the running proxy's deployments of a model group."""
    router = running_router()
    return () if router is None else deployments_of(router, model)
