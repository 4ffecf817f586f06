"""Time picks of our rotation and of LiteLLM's strategies on the same deployments: a round for each line of stdin.

`pick_worker.py 1000` times ours among 1,000 accounts, `pick_worker.py new:1000` the same with new dictionaries for each
request, as in LiteLLM 1.110 and newer, and `pick_worker.py simple-shuffle:1000` LiteLLM's strategy. Each runs in its
own process, because the lab does not import LiteLLM. Ours is the hook that LiteLLM calls, each request in its own task,
with sessions, limits and cooldowns, at 90 % of the accounts' capacity. The clock is simulated: in real time, ten
thousand accounts would need ten thousand requests a second. Snapshots are made between the picks, as in a proxy, and
timed separately.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import random
import sys
import time
from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson
import psutil

from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.observer import Observer
from litellm_evenkeel.rotation.settings import RotationSettings
from litellm_evenkeel.support.error_log import ErrorReporter

if TYPE_CHECKING:
    from collections.abc import Sequence

# Else LiteLLM fetches prices from the internet.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
litellm = importlib.import_module("litellm")
litellm_callback = importlib.import_module("litellm_evenkeel.rotation.litellm_callback")

# Sixty picks of a round are slower than its 99th percentile. The first picks, with the processor's caches still full of
# other data, are few among these.
PICKS, STOCK_PICKS = 6_144, 24
# New dictionaries take far longer than a pick. All rounds together have 20,480 picks.
NEW_PICKS = 2_560
NEW = "new"
WARM_UPS, FIXED = 3_200, 700
# Requests that arrive at once, in one iteration of the loop.
BURST = 16
# One in five hundred requests fails, with a cooldown of two seconds: one account in twenty-five is cooling down, and
# the others have enough capacity.
SHARE, SECONDS_AN_ANSWER, FAILING = 0.9, 0.2, 0.002
SESSIONS_AN_ACCOUNT = 20
CLIENTS = tuple(sha256(bytes([number])).hexdigest() for number in range(16))
LENGTHS = (40, 400, 4_000)
RPM = (300, 600, 1_200)
ANSWER = {
    "usage": {"prompt_tokens": 500, "completion_tokens": 300, "prompt_tokens_details": {"cached_tokens": 100}},
    "_hidden_params": {"response_cost": 0.001},
}
MODEL = "m"
SYSTEM = "You are a careful assistant. " * 60


class TooMany(Exception):
    """A rate limit error of a provider."""

    status_code = 429
    litellm_response_headers = {"retry-after": "2"}  # noqa: RUF012


def deployments(number: int) -> list[dict[str, Any]]:
    """Return deployments of `number` accounts with different limits."""
    return [
        {
            "model_name": MODEL,
            "litellm_params": {"model": f"openai/{MODEL}", "api_key": f"key-{each}", "api_base": "http://127.0.0.1:9/"},
            "model_info": {
                "id": f"deployment-{each}",
                "account": f"account-{each}",
                "limits": {
                    "rpm": RPM[each % len(RPM)],
                    "tpm": 2_000 * RPM[each % len(RPM)],
                    "concurrent": 64,
                    "windows": [{"for": "5h", "requests": 200 * RPM[each % len(RPM)]}],
                },
            },
        }
        for each in range(number)
    ]


class Rebuilds(Observer):
    """Observer that records the duration of snapshots."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def on_snapshot(self, seconds: float) -> None:
        """Record a snapshot."""
        self.seconds.append(seconds)


class Ours:
    """Our rotation under a steady load."""

    picks = PICKS

    def __init__(self, number: int) -> None:
        self._random = random.Random(number)
        self._deployments = deployments(number)
        self._now = 1_000_000.0
        self._pause = 60 / sum(deployment["model_info"]["limits"]["rpm"] for deployment in self._deployments) / SHARE
        self._rebuilds = Rebuilds()
        settings = RotationSettings(queue_timeout=0.0)
        account_router = AccountRouter(
            settings,
            clock=lambda: self._now,
            random=self._random.random,
            spec=lambda deployment, model: DeploymentSpec.from_litellm(deployment, {}, model),
            observer=self._rebuilds,
        )
        self._plugin = litellm_callback.AccountRotation_PROXY_(account_router, ErrorReporter("rotation"))
        self._in_flight: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._took: list[float] = []
        self._number = 0
        self._rejected = 0

    async def warm(self) -> None:
        """Run requests until the state is typical."""
        await self.round(WARM_UPS)

    def beside(self) -> dict[str, float]:
        """Return further values of the last round: the seconds of snapshots, and the rejected requests."""
        seconds, rejected = sum(self._rebuilds.seconds), self._rejected
        self._rebuilds.seconds.clear()
        self._rejected = 0
        return {"rebuild_seconds": seconds, "refused": rejected}

    async def round(self, picks: int | None = None) -> list[float]:
        """Return the microseconds of each of about `picks` picks."""
        self._took = []
        for _ in range((picks or self.picks) // BURST):
            for _ in range(BURST):
                task = asyncio.create_task(self._request())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            # First the picks, then the ends of earlier requests.
            await asyncio.sleep(0)
            while self._in_flight and self._in_flight[0][0] <= self._now:
                self._in_flight.popleft()[1].set_result(None)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return self._took

    async def _request(self) -> dict[str, Any]:
        """Make a request."""
        self._now += self._pause
        self._number += 1
        request, messages, candidates = self._request_fields(), self._messages(), self._listed()
        began = time.perf_counter()
        try:
            candidates_left = await self._plugin.async_filter_deployments(MODEL, candidates, messages, request)
        except litellm.RateLimitError:
            self._rejected += 1
            return ANSWER
        self._took.append((time.perf_counter() - began) * 1e6)
        # A router frees its list here too.
        del candidates
        answered = asyncio.get_running_loop().create_future()
        self._in_flight.append((self._now + SECONDS_AN_ANSWER, answered))
        await answered
        if self._random.random() < FAILING:
            await self._plugin.async_post_call_failure_deployment_hook(candidates_left[0], TooMany())
        return ANSWER

    def _listed(self) -> list[dict[str, Any]]:
        """Return the candidates like LiteLLM's router: a new list of the same dictionaries."""
        return list(self._deployments)

    def _messages(self) -> list[dict[str, Any]]:
        text = "y" * self._random.choice(LENGTHS)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]

    def _request_fields(self) -> dict[str, Any]:
        session = self._random.randrange(SESSIONS_AN_ACCOUNT * len(self._deployments))
        client = self._random.choice(CLIENTS)
        return {
            "litellm_call_id": f"call-{self._number}",
            "metadata": {"user_api_key_hash": client, "session_id": f"session-{session:08}"},
            "max_tokens": 500,
            "stream": False,
        }


class OursOfNewDictionaries(Ours):
    """Our rotation on a LiteLLM that makes new dictionaries, with new strings, for every request."""

    picks = NEW_PICKS

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._written = orjson.dumps(self._deployments)

    def beside(self) -> dict[str, float]:
        """Return the values of `Ours`, and the resident memory of the process."""
        gc.collect()
        return {**super().beside(), "resident_mib": psutil.Process().memory_info().rss / 2**20}

    def _listed(self) -> list[dict[str, Any]]:
        copied: list[dict[str, Any]] = orjson.loads(self._written)
        return copied


class Stock:
    """LiteLLM's router, with one of its strategies."""

    def __init__(self, strategy: str, number: str) -> None:
        self._router = litellm.Router(model_list=deployments(int(number)), routing_strategy=strategy)

    async def warm(self) -> None:
        """Run a round that is not timed."""
        await self.round()

    def beside(self) -> dict[str, float]:
        """Return nothing."""
        return {}

    async def round(self, picks: int = STOCK_PICKS) -> list[float]:
        """Return the microseconds of each of `picks` picks."""
        took = []
        for number in range(picks):
            request = {"litellm_call_id": f"call-{number}", "metadata": {}}
            messages = [{"role": "user", "content": "y" * 400}]
            if number % BURST == 0:
                await asyncio.sleep(0)
            began = time.perf_counter()
            await self._router.async_get_available_deployment(MODEL, request_kwargs=request, messages=messages)
            took.append((time.perf_counter() - began) * 1e6)
        return took


class Fixed:
    """Constant work, about as long as a pick. Its spread is the machine's noise."""

    async def warm(self) -> None:
        """Do nothing."""

    def beside(self) -> dict[str, float]:
        """Return nothing."""
        return {}

    async def round(self) -> list[float]:
        """Return the microseconds of each repetition."""
        took = []
        for _ in range(PICKS):
            began = time.perf_counter()
            sum(number * 0.5 for number in range(FIXED))
            took.append((time.perf_counter() - began) * 1e6)
        return took


def subject(name: str) -> Ours | Stock | Fixed:
    """Return the subject of a name such as `1000`, `new:1000` or `simple-shuffle:1000`."""
    if name == "fixed":
        return Fixed()
    kind, _, number = name.rpartition(":")
    if kind == NEW:
        return OursOfNewDictionaries(int(number))
    return Stock(kind, number) if kind else Ours(int(number))


async def rounds(names: Sequence[str]) -> None:
    """Run a round of each subject for each line of stdin, and print its results."""
    subjects = {name: subject(name) for name in names}
    for each in subjects.values():
        await each.warm()
    write_line({"litellm": importlib.import_module("importlib.metadata").version("litellm")})
    for _ in sys.stdin:
        write_line({name: {"picks": await each.round(), **each.beside()} for name, each in subjects.items()})


def write_line(document: object) -> None:
    """Write a line of JSON for the benchmark."""
    print(json.dumps(document), flush=True)  # noqa: T201 - the protocol with the benchmark


if __name__ == "__main__":
    asyncio.run(rounds(sys.argv[1:]))
