"""Composition of a worker's rotation."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from litellm_evenkeel import proxy_process
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.affinity.replicator import SessionReplicator
from litellm_evenkeel.rotation.affinity.session_affinity import SessionAffinity
from litellm_evenkeel.rotation.affinity.session_store import open_session_store
from litellm_evenkeel.rotation.affinity.session_table import SessionTable
from litellm_evenkeel.rotation.controls.control_store import RedisControlStore
from litellm_evenkeel.rotation.controls.control_sync import ControlSync
from litellm_evenkeel.rotation.controls.control_table import ControlTable
from litellm_evenkeel.rotation.inspection.inspector import RotationInspector
from litellm_evenkeel.rotation.litellm_callback import AccountRotation_PROXY_, AccountRotationWithHeader_PROXY_
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.quota_sharing import CoordinatorSettings, QuotaCoordinator, open_coordinator
from litellm_evenkeel.rotation.settings import SessionBackend
from litellm_evenkeel.rotation.settings_check import settings_warnings
from litellm_evenkeel.settings import SECTION, Settings, settings
from litellm_evenkeel.settings_schema.types import ServerUrl
from litellm_evenkeel.support import clock
from litellm_evenkeel.support.error_log import ErrorReporter
from litellm_evenkeel.wiring import observability, server_urls
from litellm_evenkeel.wiring.reload import SettingsReloader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.model.account import AccountSettings
    from litellm_evenkeel.rotation.settings import RotationSettings

LOG = logging.getLogger("litellm_evenkeel.rotation")
ACCOUNTS = f"{SECTION}.rotation.accounts"
# For leases and pins, which both have a shorter limit of their own.
CLOSE_SECONDS = 3.0


def rotation() -> AccountRotation_PROXY_:
    """Create the rotation callback of this worker."""
    config = proxy_process.config()
    everything = settings(config.get(SECTION))
    own = everything.rotation
    deployments = config.get("model_list") or ()
    for deployment in deployments:
        # Raise errors in the configured deployments at the start, not at the first request.
        DeploymentSpec.from_litellm(deployment, own.accounts)
    for warning in settings_warnings(own.accounts, deployments, ACCOUNTS):
        LOG.warning("evenkeel: %s", warning)
    metrics = observability.metrics()
    coordinator = _coordinator(own, config)
    errors = ErrorReporter("rotation", metrics.plugin_error)
    controls = _controls(own, config, errors.report)
    router: AccountRouter = AccountRouter(
        own,
        clock=clock.unstepped,
        random=random.random,
        spec=lambda deployment, requested: _spec(router.settings.accounts, deployment, requested),
        observer=metrics,
        affinity=_affinity(own, config),
        sharing=coordinator,
        controls=controls.table,
        errors=errors.report,
    )
    inspector = RotationInspector(router, metrics.counts, deployments=observability.deployments)
    observability.expose(
        inspector,
        metrics,
        controls,
        errors.report,
        is_shared=lambda: None if coordinator is None else coordinator.counts().is_connected,
    )
    reloader = _reloader(everything, router)
    callback = AccountRotationWithHeader_PROXY_ if own.account_header else AccountRotation_PROXY_

    working: list[asyncio.Future[Any]] = []

    async def start() -> None:
        if coordinator is not None:
            await coordinator.start(router.pool)
        working.append(asyncio.gather(controls.run(), *([] if reloader is None else [reloader.run()])))
        await working[0]

    async def close() -> None:
        """Return what this worker has leased, and write its last pins."""
        for work in working:
            work.cancel()
        closing = [router.affinity.close(), *([] if coordinator is None else [coordinator.stop()]), controls.close()]
        # No error may keep LiteLLM from its own shutdown.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(*closing, return_exceptions=True)

    proxy_process.on_shutdown(before=close)
    return callback(router, errors, start)


def _coordinator(settings: RotationSettings, config: Mapping[str, Any]) -> QuotaCoordinator | None:
    """Return the coordinator of shared limits, or `None` if workers do not share them."""
    address = settings.shared.redis_url
    if address is None:
        return None
    url = _shared_url(config, address)
    workers = proxy_process.worker_count(os.environ) or 1
    shared = CoordinatorSettings(url=url, prefix=settings.shared.prefix, workers=workers)
    return open_coordinator(shared, clock.unstepped)


def _controls(
    settings: RotationSettings, config: Mapping[str, Any], errors: Callable[[str, Exception], None]
) -> ControlSync:
    """Return this worker's controls, which all workers share if they share their limits."""
    address = settings.shared.redis_url
    store = None
    if address is not None:
        store = RedisControlStore(_shared_url(config, address), settings.shared.prefix, clock.unstepped)
    return ControlSync(ControlTable(clock.unstepped), store, errors=errors)


def _reloader(everything: Settings, router: AccountRouter) -> SettingsReloader | None:
    """Return what applies changes of the YAML, or `None` if that is switched off or there is no file."""
    path = proxy_process.config_path()
    if not everything.reload or path is None:
        return None
    reloader = SettingsReloader(Path(path), everything, lambda wanted: router.use(wanted.rotation))
    if proxy_process.server() is not None:
        from litellm_evenkeel.admin import routes  # noqa: PLC0415 - needs FastAPI

        routes.install_health("settings", lambda: asdict(reloader.status))
    return reloader


def _shared_url(config: Mapping[str, Any], address: ServerUrl) -> str:
    path = "evenkeel.rotation.shared.redis_url"
    return server_urls.redis(config, os.environ, path) if address.is_litellm else address.get_secret_value()


def _affinity(settings: RotationSettings, config: Mapping[str, Any]) -> SessionAffinity:
    sessions = SessionTable(settings.affinity)
    return SessionAffinity(
        settings.affinity,
        clock=clock.unstepped,
        sessions=sessions,
        replicator=_replicator(settings, config, sessions),
    )


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
