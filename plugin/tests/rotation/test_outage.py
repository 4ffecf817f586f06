"""All accounts refuse for a while, and no provider says for how long."""

from __future__ import annotations

import asyncio
import math
import random
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from virtual_time import VirtualTimeLoop

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.observer import Observer
from litellm_evenkeel.rotation.selection.pick import NoCapacity
from litellm_evenkeel.rotation.settings import RotationSettings

if TYPE_CHECKING:
    from collections.abc import Callable

REFUSED = Failure(FailureKind.RATE_LIMIT, FailureScope.ACCOUNT_MODEL, None, "429")
ANSWER = SimpleNamespace(usage=None, _hidden_params={})
QUEUE_TIMEOUT, PROVIDER_SECONDS = 5.0, 0.02


class Proxy:
    """Requests as LiteLLM makes them: some attempts each, at accounts that refuse for a while."""

    def __init__(self, accounts: int, retries: int, refuses: Callable[[float], bool]) -> None:
        self._retries, self._refuses = retries, refuses
        self._clock = asyncio.get_running_loop().time
        self.router = AccountRouter(
            RotationSettings(queue_timeout=QUEUE_TIMEOUT),
            clock=self._clock,
            random=random.Random(3).random,
            spec=lambda deployment, model: DeploymentSpec.from_litellm(deployment, {}, model),
            observer=Observer(),
        )
        self._deployments = [
            {"litellm_params": {"model": "m"}, "model_info": {"id": str(number), "account": str(number)}}
            for number in range(accounts)
        ]
        self.attempts = 0
        self.seconds: list[float] = []
        self.refused_at: list[float] = []

    async def load(self, rate: float, seconds: float) -> None:
        requests = []
        for number in range(int(rate * seconds)):
            requests.append(asyncio.create_task(self._request(str(number))))
            await asyncio.sleep(1 / rate)
        await asyncio.gather(*requests, return_exceptions=True)

    async def _request(self, name: str) -> object:
        began = self._clock()
        metadata = {"max_retries": self._retries}
        for attempt in range(self._retries + 1):
            metadata["attempted_retries"] = attempt
            request = {"litellm_call_id": name, "metadata": metadata}
            pick = await self.router.pick("g", self._deployments, None, request)
            if isinstance(pick, NoCapacity):
                break
            self.attempts += 1
            await asyncio.sleep(PROVIDER_SECONDS)
            if not self._refuses(self._clock()):
                self.seconds.append(self._clock() - began)
                return ANSWER
            self.router.on_failure(pick.deployment.spec.id, REFUSED, None, 0.0)
        self.refused_at.append(self._clock())
        raise ConnectionRefusedError


def outage(accounts: int, retries: int, seconds: float, *, rate: float = 8.0) -> Proxy:
    """Run a load, in the midst of which all accounts refuse for a while."""

    async def run() -> Proxy:
        start = asyncio.get_running_loop().time() + 2.0
        proxy = Proxy(accounts, retries, lambda now: start <= now < start + seconds)
        await proxy.load(rate, seconds + 4.0)
        return proxy

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(run())


@pytest.mark.parametrize("seconds", [0.5, 2.0, QUEUE_TIMEOUT])
@pytest.mark.parametrize("accounts", [1, 4, 20])
def test_requests_outlast_refusals_of_all_accounts_within_the_queue_timeout(accounts: int, seconds: float) -> None:
    retries = 3
    proxy = outage(accounts, retries, seconds)
    # Until each account has refused once, a request may use up its attempts.
    assert len(proxy.refused_at) <= math.ceil(accounts / (retries + 1))
    assert max(proxy.seconds) <= QUEUE_TIMEOUT + 1.0
