"""A proxy's app with the plugin's routes, served over loopback by a thread, after a request."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request

from litellm_evenkeel.admin.handlers import AdminHandlers, Worker
from litellm_evenkeel.admin.routes import mount
from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.controls.control_sync import ControlSync
from litellm_evenkeel.rotation.inspection.inspector import RotationInspector
from litellm_evenkeel.rotation.inspection.metrics import RotationMetrics
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.settings import RotationSettings
from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOOPBACK = "127.0.0.1"
ROLES = {"admin": "proxy_admin", "viewer": "proxy_admin_viewer", "user": "internal_user"}
LIMITS: Mapping[str, Any] = {
    "north": {"rpm": 100, "tpm": 50_000},
    "south": {"rpm": 10, "concurrent": 4},
    "east/west [1]": None,
}


class Caller:
    """LiteLLM's authentication of a request."""

    def __init__(self, key: str) -> None:
        self.user_role, self.api_key, self.key_alias = ROLES[key], f"hash of {key}", f"key of {key}"


async def authenticated(request: Request) -> Caller:
    key = request.headers.get("authorization", "").removeprefix("Bearer ")
    if key not in ROLES:
        raise HTTPException(401, {"error": {"message": "no such key"}})
    return Caller(key)


class Server:
    """A proxy's app with the routes, in a thread, after a few requests."""

    def __init__(self, limits: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
        self.limits = limits
        self.app = FastAPI(lifespan=self.lifespan)
        self.app.state.evenkeel_parts = {name: lambda document=document: document for name, document in parts.items()}
        self.uvicorn = uvicorn.Server(uvicorn.Config(self.app, host=LOOPBACK, port=0, log_level="error"))
        self.thread = threading.Thread(target=self.uvicorn.run, daemon=True)

    @contextlib.asynccontextmanager
    async def lifespan(self, app: FastAPI) -> Any:
        metrics = RotationMetrics(None)
        router = AccountRouter(
            RotationSettings(),
            clock=time.time,
            random=random.Random(1).random,
            spec=lambda one, model: DeploymentSpec.from_litellm(one, {}, model),
            observer=metrics,
        )
        inspector = RotationInspector(router, metrics.counts)
        mount(
            app,
            AdminHandlers(inspector, Worker(4711, 4), ControlSync(router.controls)),
            lambda: b"evenkeel_rotation_picks_total 1.0\n",
            authenticated,
        )
        deployments = [
            {
                "model_name": "chat",
                "litellm_params": {"model": "openai/gpt", "api_key": "sk-secret"},
                "model_info": {"id": f"id-{name}", "account": name, "limits": limits},
            }
            for name, limits in self.limits.items()
        ]
        await router.pick("chat", deployments, [], {"litellm_call_id": "call"})
        router.pool.apply_cooldown_update(
            CooldownUpdate(
                "north", None, FailureKind.QUOTA, "out of quota", time.time() + 3600, is_provider_stated=True
            )
        )
        yield

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.uvicorn.servers[0].sockets[0].getsockname()[1]}"


@contextlib.contextmanager
def served(limits: Mapping[str, Any] = LIMITS, parts: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Serve accounts with these limits. `parts` are the states of other parts of the plugin."""
    server = Server(limits, parts or {})
    server.thread.start()
    while not server.uvicorn.started:
        assert server.thread.is_alive()
        time.sleep(0.01)
    try:
        yield server.url
    finally:
        server.uvicorn.should_exit = True
        server.thread.join()
