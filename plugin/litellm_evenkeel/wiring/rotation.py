"""Composition of a worker's rotation."""

from __future__ import annotations

import functools
import logging
import os
import random
from typing import TYPE_CHECKING, Any

from litellm_evenkeel import proxy_process
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.affinity.replicator import SessionReplicator
from litellm_evenkeel.rotation.affinity.session_store import open_session_store
from litellm_evenkeel.rotation.affinity.session_table import SessionTable
from litellm_evenkeel.rotation.inspection.inspector import RotationInspector
from litellm_evenkeel.rotation.litellm_callback import AccountRotation_PROXY_, AccountRotationWithHeader_PROXY_
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.quota_sharing import CoordinatorSettings, QuotaCoordinator, open_coordinator
from litellm_evenkeel.rotation.settings import SessionBackend
from litellm_evenkeel.rotation.settings_check import settings_warnings
from litellm_evenkeel.settings import SECTION, settings
from litellm_evenkeel.settings_schema.types import ServerUrl
from litellm_evenkeel.support import clock
from litellm_evenkeel.support.error_log import ErrorReporter
from litellm_evenkeel.wiring import observability, server_urls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litellm_evenkeel.rotation.model.account import AccountSettings
    from litellm_evenkeel.rotation.settings import RotationSettings

LOG = logging.getLogger("litellm_evenkeel.rotation")
ACCOUNTS = f"{SECTION}.rotation.accounts"


def rotation() -> AccountRotation_PROXY_:
    """Create the rotation callback of this worker."""
    config = proxy_process.config()
    own = settings(config.get(SECTION)).rotation
    deployments = config.get("model_list") or ()
    for deployment in deployments:
        # Raise errors in the configured deployments at the start, not at the first request.
        DeploymentSpec.from_litellm(deployment, own.accounts)
    for warning in settings_warnings(own.accounts, deployments, ACCOUNTS):
        LOG.warning("evenkeel: %s", warning)
    metrics = observability.metrics()
    coordinator = _coordinator(own, config)
    sessions = SessionTable(own.affinity)
    errors = ErrorReporter("rotation", metrics.plugin_error)
    router = AccountRouter(
        own,
        clock=clock.unstepped,
        random=random.random,
        spec=functools.partial(_spec, own.accounts),
        observer=metrics,
        sessions=sessions,
        replicator=_replicator(own, config, sessions),
        sharing=coordinator,
        errors=errors.report,
    )
    inspector = RotationInspector(router, metrics.counts, deployments=observability.deployments)
    observability.expose(
        inspector,
        metrics,
        errors.report,
        is_shared=lambda: None if coordinator is None else coordinator.counts().is_connected,
    )
    callback = AccountRotationWithHeader_PROXY_ if own.account_header else AccountRotation_PROXY_
    begin = None if coordinator is None else lambda: coordinator.start(router.pool)
    return callback(own, router, errors, begin)


def _coordinator(settings: RotationSettings, config: Mapping[str, Any]) -> QuotaCoordinator | None:
    """Return the coordinator of shared limits, or `None` if workers do not share them."""
    address = settings.shared.redis_url
    if address is None:
        return None
    path = "evenkeel.rotation.shared.redis_url"
    url = server_urls.redis(config, os.environ, path) if address.is_litellm else address.get_secret_value()
    workers = proxy_process.worker_count(os.environ) or 1
    shared = CoordinatorSettings(url=url, prefix=settings.shared.prefix, workers=workers)
    return open_coordinator(shared, clock.unstepped)


def _replicator(
    settings: RotationSettings, config: Mapping[str, Any], sessions: SessionTable
) -> SessionReplicator | None:
    """Return the replicator of this worker's pins, or `None` if pins stay in memory."""
    own, path = settings.affinity, "evenkeel.rotation.affinity.backend"
    if own.url.is_litellm and own.backend is not SessionBackend.MEMORY:
        is_postgres = own.backend is SessionBackend.POSTGRES
        url = (server_urls.postgres if is_postgres else server_urls.redis)(config, os.environ, path)
        own = own.model_copy(update={"url": ServerUrl(url)})
    pins = open_session_store(own, clock.unstepped, settings.shared.prefix)
    if pins is None:
        return None
    return SessionReplicator(
        pins, own, lambda key, account: sessions.merge(key, account, clock.unstepped()), clock.unstepped
    )


def _spec(accounts: Mapping[str, AccountSettings], deployment: Mapping[str, Any], requested: str) -> DeploymentSpec:
    """Return the specification of a deployment. Of an invalid `model_info`, only `id` and `account` are used.

    Deployments that are added at run time are first checked here, and an error would make them unusable.
    """
    try:
        return DeploymentSpec.from_litellm(deployment, accounts, requested)
    except SettingsError as error:
        LOG.warning("evenkeel: %s The deployment is used with only id and account of its model_info.", error)
        info = {name: (deployment.get("model_info") or {}).get(name) for name in ("id", "account")}
        return DeploymentSpec.from_litellm({**deployment, "model_info": info}, accounts, requested)
