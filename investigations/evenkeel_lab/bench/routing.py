"""What choosing an account costs where there are many model groups, with and without what is remembered of them."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

from evenkeel_lab.stack.accounts import fleet
from evenkeel_lab.stack.config import MODEL
from litellm_evenkeel.rotation.observer import Unobserved
from litellm_evenkeel.rotation.picks import Pick
from litellm_evenkeel.rotation.seat import Seat
from litellm_evenkeel.rotation.steering import Steering
from litellm_evenkeel.rotation.terms import RotationTerms

if TYPE_CHECKING:
    from collections.abc import Sequence

PICKS, WARM_UPS = 4_000, 1_000
MICROSECONDS = 1e6
MESSAGES = [{"role": "user", "content": "ahoy"}]
ANSWER: dict[str, Any] = {"usage": {"prompt_tokens": 50, "completion_tokens": 30}, "_hidden_params": {}}


def pick(seed: int, *, groups: int = 3, accounts: int = 3, cached: bool = True) -> float:
    """Return how many microseconds a pick takes, of requests that ask for any of the groups."""
    several: dict[str, list[dict[str, Any]]] = {}
    for one in fleet(accounts, groups):
        several.setdefault(one.group or MODEL, []).append(one.deployment(MODEL, "http://127.0.0.1:9/v1"))
    chance = random.Random(seed)
    steering = Steering(
        RotationTerms(route_cache=cached),
        clock=time.monotonic,
        random=chance.random,
        seat=lambda deployment, model: Seat.of(deployment, {}, model),
        observer=Unobserved(),
    )
    asked = chance.choices(list(several), k=WARM_UPS + PICKS)
    return asyncio.run(_picked(steering, several, asked)) * MICROSECONDS


async def _picked(steering: Steering, several: dict[str, list[dict[str, Any]]], asked: Sequence[str]) -> float:
    """Return how many seconds each of the picks took, without the first ones."""

    async def request(number: int, model: str) -> Any:
        # LiteLLM makes a new list for each request.
        candidates = list(several[model])
        began = time.perf_counter()
        found = await steering.choose(model, candidates, MESSAGES, {"litellm_call_id": f"call-{number}"})
        took = time.perf_counter() - began
        assert isinstance(found, Pick)
        return {**ANSWER, "took": took}

    seconds = 0.0
    for number, model in enumerate(asked):
        # A task for each, whose end is the answer to it.
        answer = await asyncio.create_task(request(number, model))
        await asyncio.sleep(0)
        if number >= WARM_UPS:
            seconds += answer["took"]
    return seconds / (len(asked) - WARM_UPS)
