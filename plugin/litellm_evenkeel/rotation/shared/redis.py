"""A store in Redis or Valkey, and the words that workers leave there for each other."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from litellm_evenkeel.rotation.shared.asks import LeaseResponse, ScopeGrant, SlotsGrant, WindowGrant
from litellm_evenkeel.rotation.shared.script import EXCHANGE
from litellm_evenkeel.rotation.shared.words import LONGEST, SAY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from litellm_evenkeel.rotation.shared.asks import LeaseRequest, ScopeRequest
    from litellm_evenkeel.rotation.shared.words import CooldownMessage

# Where nothing is heard for so long, it is asked whether anybody is there.
HEARD_SECONDS = 5.0


class RedisLeaseStore:
    """Connections of its own: one to ask, one to listen."""

    def __init__(self, url: str, prefix: str, timeout: float) -> None:
        self._prefix = prefix
        # Whoever asks looks to the time, and what went wrong is not tried again behind its back.
        self._client = Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=timeout)
        self._ear = Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=HEARD_SECONDS)
        self._exchange = self._client.register_script(EXCHANGE)
        self._say = self._client.register_script(SAY)
        self._common = [f"{prefix}:shared", f"{prefix}:workers"]

    async def exchange(self, call: LeaseRequest) -> LeaseResponse:
        """Ask, all at once."""
        keys = [*self._common, *(f"{self._prefix}:side:{{{side.key}}}" for side in call.scopes)]
        return decode_response(await self._exchange(keys=keys, args=[encode_request(call)]), call.scopes)

    async def publish(self, words: Sequence[CooldownMessage]) -> None:
        """Let all others know, those too that start later."""
        told = json.dumps([[word.field, word.text, word.until, word.account] for word in words])
        keys, longest = [f"{self._prefix}:holds"], int(LONGEST * 1000)
        await self._say(keys=keys, args=[f"{self._prefix}:held", told, longest])

    async def history(self) -> list[bytes | str]:
        """Return what was said and still holds."""
        async with asyncio.timeout(HEARD_SECONDS):
            return list((await self._ear.hgetall(f"{self._prefix}:holds")).values())

    async def listen(self) -> AsyncIterator[bytes | None]:
        """Hear what others say; the first None says that from now on nothing is missed."""
        async with self._ear.pubsub() as ear:
            async with asyncio.timeout(HEARD_SECONDS):
                await ear.subscribe(f"{self._prefix}:held")
            is_asked = False
            while True:
                heard = await ear.get_message(timeout=HEARD_SECONDS)
                if heard is None:
                    # Nobody has anything to say, or nobody is there.
                    if is_asked:
                        raise TimeoutError
                    await ear.ping()
                is_asked = heard is None
                if heard and heard["type"] == "subscribe":
                    yield None
                elif heard and heard["type"] == "message":
                    yield heard["data"]

    async def drop(self) -> None:
        """Let go of connections that do not answer."""
        await self._client.connection_pool.disconnect()

    async def close(self) -> None:
        """Let go of the server."""
        await self._client.aclose()
        await self._ear.aclose()


def encode_request(call: LeaseRequest) -> str:
    """Write a question as the script reads it."""
    return json.dumps(
        {
            "worker": call.worker,
            "epoch": call.epoch,
            "new_epoch": call.new_epoch,
            "gone": call.gone,
            "fresh": call.fresh,
            "settle": call.grace_period,
            "rejoins": call.rejoins,
            "leaves": call.leaves,
            "sides": [_side(side) for side in call.scopes],
        }
    )


def decode_response(answer: bytes | str, sides: Sequence[ScopeRequest]) -> LeaseResponse:
    """Read what the script answers."""
    words = iter((answer.decode() if isinstance(answer, bytes) else answer).split())
    now, epoch, opens, workers = float(next(words)), next(words), float(next(words)), int(next(words))
    rest = list(words)
    answered = sides if rest else ()
    return LeaseResponse(now, epoch, opens, workers, tuple(_answers(answered, iter(rest))))


def _answers(sides: Sequence[ScopeRequest], words: Iterator[str]) -> Iterator[ScopeGrant]:
    for side in sides:
        windows = tuple(
            WindowGrant(int(next(words)), float(next(words)), float(next(words)), float(next(words)))
            for _ in side.windows
        )
        slots = SlotsGrant(int(next(words)), next(words) == "1") if side.slots else None
        yield ScopeGrant(windows, slots)


def _side(side: ScopeRequest) -> list[Any]:
    windows = [
        [
            one.name,
            one.limit,
            one.part_seconds,
            one.parts,
            one.is_whole,
            one.needed,
            one.prefetch,
            [[back.first, back.last, back.amount] for back in one.returns],
            [[debt.part, debt.amount] for debt in one.unleased],
            [one.provider_report.left, one.provider_report.began, one.provider_report.resets_in]
            if one.provider_report
            else False,
        ]
        for one in side.windows
    ]
    slots = side.slots
    asked = [slots.limit, slots.in_flight, slots.wanted, slots.lacks] if slots else False
    return [int(side.keeps * 1000), windows, asked]
