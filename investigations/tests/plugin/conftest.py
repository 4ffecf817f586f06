"""A real LiteLLM router over the mock provider, with the rotation as its callback."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections import Counter
from datetime import UTC, datetime
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest
from prometheus_client import CollectorRegistry

from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.litellm.accounts import Account, mock_settings
from evenkeel_lab.stack.servers.mock import mock
from litellm_evenkeel.rotation.inspection.metrics import RotationMetrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

# Without it, LiteLLM asks the internet for prices as it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

SERVER = "litellm.proxy.proxy_server"
MODEL = "gpt-4o-mini"
ACCOUNTS = {name: Account(name, 1000) for name in "abcd"}
MESSAGES = [{"role": "user", "content": "ahoy"}]


@pytest.fixture(scope="session")
async def provider_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    logs = tmp_path_factory.mktemp("mock")
    async with stack_folder() as folder, mock(folder, logs, settings=mock_settings(list(ACCOUNTS.values()))) as running:
        yield running.url


class Rig:
    """A router, the rotation, and the provider behind them."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.url = url
        self.accounts = tuple(ACCOUNTS.values())
        self._monkeypatch = monkeypatch
        self.client = httpx.AsyncClient(base_url=url)
        self.router: Any = None
        self.rotation: Any = None

    def deployment(self, name: str, *, group: str = MODEL, params: Mapping[str, Any] = {}, **about: Any) -> Any:
        return {
            "model_name": group,
            "litellm_params": {
                "model": f"openai/{MODEL}",
                "api_base": f"{self.url}/v1",
                "api_key": ACCOUNTS[name].key,
                **params,
            },
            "model_info": {"id": name if group == MODEL else f"{group}-{name}", "account": name, **about},
        }

    def start(
        self, deployments: list[Any] | None = None, *, rotation: Mapping[str, Any] | None = None, **router: Any
    ) -> None:
        """Begin as a proxy does: first the callback is made, then the router."""
        import litellm  # noqa: PLC0415 - as late as can be: it takes seconds

        from litellm_evenkeel.admin import routes  # noqa: PLC0415 - as above
        from litellm_evenkeel.wiring import observability, rotation as wiring  # noqa: PLC0415

        deployments = deployments or [self.deployment(name) for name in ACCOUNTS]
        server = ModuleType(SERVER)
        terms = {"queue_timeout": 0, **(rotation or {})}
        server.proxy_config = SimpleNamespace(config={"model_list": deployments, "evenkeel": {"rotation": terms}})
        self._monkeypatch.setitem(sys.modules, SERVER, server)
        # There is no app to which routes could be added, and each rotation has metrics of its own.
        self._monkeypatch.setattr(routes, "install", lambda *_: None)
        self._monkeypatch.setattr(observability, "metrics", self._metrics)
        self.rotation = wiring.rotation()
        # It keeps one callback of each class, the first.
        litellm.logging_callback_manager._reset_all_callbacks()
        self._monkeypatch.setattr(litellm, "callbacks", [self.rotation])
        server.llm_router = self.router = litellm.Router(model_list=deployments, **{"num_retries": 4, **router})

    def _metrics(self) -> RotationMetrics:
        self.registry = CollectorRegistry()
        return RotationMetrics(self.registry)

    @property
    def errors(self) -> Mapping[str, int]:
        """Errors of the plugin itself."""
        return self.rotation._errors.counts

    @property
    def account_router(self) -> Any:
        return self.rotation.router

    def listed(self, group: str = MODEL) -> list[Any]:
        """Return what LiteLLM hands to the filter."""
        return [one for one in self.router.model_list if one["model_name"] == group]

    async def filter(self, request: dict[str, Any] | None = None, deployments: list[Any] | None = None) -> list[Any]:
        """Ask the hook alone, with a request that has an id, as a proxy's requests have."""
        listed = self.listed() if deployments is None else deployments
        kwargs = {"litellm_call_id": str(uuid.uuid4()), **(request or {})}

        async def asking() -> list[Any]:
            return await self.rotation.async_filter_deployments(
                model=MODEL, healthy_deployments=listed, messages=MESSAGES, request_kwargs=kwargs
            )

        return await asyncio.create_task(asking())

    async def ask(self, **request: Any) -> Any:
        """Make a request as the proxy does: in a task of its own, with a call id."""
        asked = {"model": MODEL, "messages": MESSAGES, "litellm_call_id": str(uuid.uuid4()), **request}
        found = await asyncio.create_task(self.router.acompletion(**asked))
        await asyncio.sleep(0)
        return found

    @staticmethod
    def logged(kind: str = "acompletion", **request: Any) -> dict[str, Any]:
        """Return a request with the logging object that a proxy makes for it."""
        import litellm  # noqa: PLC0415

        asked = {"model": MODEL, "messages": MESSAGES, "litellm_call_id": str(uuid.uuid4()), **request}
        made, told = litellm.utils.function_setup(kind, litellm.utils.Rules(), datetime.now(UTC), **asked)
        return {**told, "litellm_logging_obj": made}

    async def journal(self) -> list[Any]:
        """Return what came in at the provider."""
        answer = await self.client.get("/_mock/journal")
        return [orjson.loads(line) for line in answer.content.splitlines()]

    async def asked(self) -> Counter[str]:
        """Return how often each account was asked."""
        return Counter(line["account"] for line in await self.journal())

    async def fails(self, **faults: str) -> None:
        """Make accounts fail from now on."""
        lines = [{"at": 0, "for": 600, "account": name, "fault": fault} for name, fault in faults.items()]
        (await self.client.post("/_mock/faults", json=lines)).raise_for_status()

    def under_way(self) -> int:
        return sum(place.in_flight for place in self.account_router.pool.deployments.values())


@pytest.fixture
async def rig(provider_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    made = Rig(provider_url, monkeypatch)
    await made.fails()
    (await made.client.post("/_mock/reset")).raise_for_status()
    yield made
    await made.client.aclose()


@pytest.fixture
def eventually() -> Iterator[Callable[[Callable[[], object]], Any]]:
    async def wait(holds: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not holds():
                await asyncio.sleep(0.01)

    return wait
