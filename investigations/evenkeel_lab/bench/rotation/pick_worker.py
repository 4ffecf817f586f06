"""What the choice of an account costs, ours and LiteLLM's own, on the same deployments; a round for each line of stdin.

`selection.py 1000` times ours among so many, `selection.py new:1000` the same where each request comes with new
dictionaries, as LiteLLM makes them since 1.110, and `selection.py simple-shuffle:1000` LiteLLM's. Each is a process,
because the lab imports no LiteLLM, and no proxy has the memory of another. Ours is the hook that LiteLLM calls, each
request in a task of its own, with sticky sessions, limits, caps and holds on, at nine tenths of what the accounts bear:
in a clock of its own, or ten thousand accounts would need ten thousand requests a second. Snapshots are made between
the picks, as they are between the requests of a proxy, and timed apart.
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

# Or it asks the internet for prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
litellm = importlib.import_module("litellm")
litellm_callback = importlib.import_module("litellm_evenkeel.rotation.litellm_callback")

# Long enough for sixty picks to be slower than the 99th percentile, and for the first ones, which find what others have
# left in the processor's caches, to be few among these.
PICKS, STOCK_PICKS = 6_144, 24
# Making new dictionaries takes far longer than a pick. Over all rounds these are 20,480 picks.
NEW_PICKS = 2_560
NEW = "new"
WARM_UPS, FIXED = 3_200, 700
# So many requests come at once, in one turn of the loop.
BURST = 16
# One in five hundred requests fails, and holds its account for two seconds: one account in twenty-five is held, and the
# others bear what is asked for.
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
    """A refusal."""

    status_code = 429
    litellm_response_headers = {"retry-after": "2"}  # noqa: RUF012


def deployments(number: int) -> list[dict[str, Any]]:
    """Return so many, of accounts of unequal limits."""
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
    """Adds up what snapshots cost."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def on_snapshot(self, seconds: float) -> None:
        """Know of one."""
        self.seconds.append(seconds)


class Ours:
    """The rotation, under a steady load."""

    picks = PICKS

    def __init__(self, number: int) -> None:
        self._random = random.Random(number)
        self._deployments = deployments(number)
        self._now = 1_000_000.0
        self._pause = 60 / sum(one["model_info"]["limits"]["rpm"] for one in self._deployments) / SHARE
        self._rebuilds = Rebuilds()
        settings = RotationSettings(queue_timeout=0.0)
        account_router = AccountRouter(
            settings,
            clock=lambda: self._now,
            random=self._random.random,
            spec=lambda deployment, model: DeploymentSpec.from_litellm(deployment, {}, model),
            observer=self._rebuilds,
        )
        self._plugin = litellm_callback.AccountRotation_PROXY_(settings, account_router, ErrorReporter("rotation"))
        self._under_way: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._took: list[float] = []
        self._number = 0
        self._refused = 0

    async def warm(self) -> None:
        """Come to what is usual."""
        await self.round(WARM_UPS)

    def beside(self) -> dict[str, float]:
        """Return what there was beside the picks of the last round."""
        seconds, refused = sum(self._rebuilds.seconds), self._refused
        self._rebuilds.seconds.clear()
        self._refused = 0
        return {"rebuild_seconds": seconds, "refused": refused}

    async def round(self, picks: int | None = None) -> list[float]:
        """Return how many microseconds each of about so many picks took."""
        self._took = []
        for _ in range((picks or self.picks) // BURST):
            for _ in range(BURST):
                task = asyncio.create_task(self._request())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            # The picks, then what the ends of others bring.
            await asyncio.sleep(0)
            while self._under_way and self._under_way[0][0] <= self._now:
                self._under_way.popleft()[1].set_result(None)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return self._took

    async def _request(self) -> dict[str, Any]:
        """Make one request in a task of its own, as LiteLLM does."""
        self._now += self._pause
        self._number += 1
        request, messages, candidates = self._asked(), self._messages(), self._listed()
        began = time.perf_counter()
        try:
            found = await self._plugin.async_filter_deployments(MODEL, candidates, messages, request)
        except litellm.RateLimitError:
            self._refused += 1
            return ANSWER
        self._took.append((time.perf_counter() - began) * 1e6)
        # A router lets go of its list here, too.
        del candidates
        answered = asyncio.get_running_loop().create_future()
        self._under_way.append((self._now + SECONDS_AN_ANSWER, answered))
        await answered
        if self._random.random() < FAILING:
            await self._plugin.async_post_call_failure_deployment_hook(found[0], TooMany())
        return ANSWER

    def _listed(self) -> list[dict[str, Any]]:
        """Return the candidates as a router hands them out: a new list of the same dictionaries."""
        return list(self._deployments)

    def _messages(self) -> list[dict[str, Any]]:
        text = "y" * self._random.choice(LENGTHS)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]

    def _asked(self) -> dict[str, Any]:
        session = self._random.randrange(SESSIONS_AN_ACCOUNT * len(self._deployments))
        client = self._random.choice(CLIENTS)
        return {
            "litellm_call_id": f"call-{self._number}",
            "metadata": {"user_api_key_hash": client, "session_id": f"session-{session:08}"},
            "max_tokens": 500,
            "stream": False,
        }


class OursOfNewDictionaries(Ours):
    """The rotation on a LiteLLM that makes new dictionaries, and new texts in them, for every request."""

    picks = NEW_PICKS

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._written = orjson.dumps(self._deployments)

    def beside(self) -> dict[str, float]:
        """Return what there was beside the picks of the last round, and how much memory the process has now."""
        gc.collect()
        return {**super().beside(), "resident_mib": psutil.Process().memory_info().rss / 2**20}

    def _listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = orjson.loads(self._written)
        return found


class Stock:
    """LiteLLM's router, with one of its strategies."""

    def __init__(self, strategy: str, number: str) -> None:
        self._router = litellm.Router(model_list=deployments(int(number)), routing_strategy=strategy)

    async def warm(self) -> None:
        """Come to what is usual."""
        await self.round()

    def beside(self) -> dict[str, float]:
        """Return nothing."""
        return {}

    async def round(self, picks: int = STOCK_PICKS) -> list[float]:
        """Return how many microseconds each of so many picks took."""
        found = []
        for number in range(picks):
            request = {"litellm_call_id": f"call-{number}", "metadata": {}}
            messages = [{"role": "user", "content": "y" * 400}]
            if number % BURST == 0:
                await asyncio.sleep(0)
            began = time.perf_counter()
            await self._router.async_get_available_deployment(MODEL, request_kwargs=request, messages=messages)
            found.append((time.perf_counter() - began) * 1e6)
        return found


class Fixed:
    """The same work each time, about as long as a pick: what of the spread is the machine's."""

    async def warm(self) -> None:
        """Need nothing."""

    def beside(self) -> dict[str, float]:
        """Return nothing."""
        return {}

    async def round(self) -> list[float]:
        """Return how many microseconds it took each time."""
        found = []
        for _ in range(PICKS):
            began = time.perf_counter()
            sum(number * 0.5 for number in range(FIXED))
            found.append((time.perf_counter() - began) * 1e6)
        return found


def taker(name: str) -> Ours | Stock | Fixed:
    """Return what a name stands for."""
    if name == "fixed":
        return Fixed()
    kind, _, number = name.rpartition(":")
    if kind == NEW:
        return OursOfNewDictionaries(int(number))
    return Stock(kind, number) if kind else Ours(int(number))


async def rounds(names: Sequence[str]) -> None:
    """Do a round of each for each line that comes, and print how long its picks took."""
    takers = {name: taker(name) for name in names}
    for one in takers.values():
        await one.warm()
    say({"litellm": importlib.import_module("importlib.metadata").version("litellm")})
    for _ in sys.stdin:
        say({name: {"picks": await one.round(), **one.beside()} for name, one in takers.items()})


def say(told: object) -> None:
    """Print it for the bench to read."""
    print(json.dumps(told), flush=True)  # noqa: T201 - that is what it is for


if __name__ == "__main__":
    asyncio.run(rounds(sys.argv[1:]))
