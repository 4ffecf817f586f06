"""A store in Redis or Valkey, and the words that workers leave there for each other."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from litellm_evenkeel.rotation.shared.asks import Reply, SideAnswer, SlotsAnswer, WindowAnswer
from litellm_evenkeel.rotation.shared.script import EXCHANGE
from litellm_evenkeel.rotation.shared.words import LONGEST, SAY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from litellm_evenkeel.rotation.shared.asks import Call, SideAsk
    from litellm_evenkeel.rotation.shared.words import Word

# Where nothing is heard for so long, it is asked whether anybody is there.
HEARD_SECONDS = 5.0


class RedisStore:
    """Connections of its own: one to ask, one to listen."""

    def __init__(self, url: str, prefix: str, timeout: float) -> None:
        self._prefix = prefix
        # Whoever asks looks to the time, and what went wrong is not tried again behind its back.
        self._client = Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=timeout)
        self._ear = Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=HEARD_SECONDS)
        self._exchange = self._client.register_script(EXCHANGE)
        self._say = self._client.register_script(SAY)
        self._common = [f"{prefix}:shared", f"{prefix}:workers"]

    async def exchange(self, call: Call) -> Reply:
        """Ask, all at once."""
        keys = [*self._common, *(f"{self._prefix}:side:{{{side.key}}}" for side in call.sides)]
        return read(await self._exchange(keys=keys, args=[written(call)]), call.sides)

    async def say(self, words: Sequence[Word]) -> None:
        """Let all others know, those too that start later."""
        told = json.dumps([[word.field, word.text, word.until, word.account] for word in words])
        keys, longest = [f"{self._prefix}:holds"], int(LONGEST * 1000)
        await self._say(keys=keys, args=[f"{self._prefix}:held", told, longest])

    async def said(self) -> list[bytes | str]:
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


def written(call: Call) -> str:
    """Write a question as the script reads it."""
    return json.dumps(
        {
            "worker": call.worker,
            "epoch": call.epoch,
            "new_epoch": call.new_epoch,
            "gone": call.gone,
            "fresh": call.fresh,
            "settle": call.settle,
            "rejoins": call.rejoins,
            "leaves": call.leaves,
            "sides": [_side(side) for side in call.sides],
        }
    )


def read(answer: bytes | str, sides: Sequence[SideAsk]) -> Reply:
    """Read what the script answers."""
    words = iter((answer.decode() if isinstance(answer, bytes) else answer).split())
    now, epoch, opens, workers = float(next(words)), next(words), float(next(words)), int(next(words))
    rest = list(words)
    answered = sides if rest else ()
    return Reply(now, epoch, opens, workers, tuple(_answers(answered, iter(rest))))


def _answers(sides: Sequence[SideAsk], words: Iterator[str]) -> Iterator[SideAnswer]:
    for side in sides:
        windows = tuple(
            WindowAnswer(int(next(words)), float(next(words)), float(next(words)), float(next(words)))
            for _ in side.windows
        )
        slots = SlotsAnswer(int(next(words)), next(words) == "1") if side.slots else None
        yield SideAnswer(windows, slots)


def _side(side: SideAsk) -> list[Any]:
    windows = [
        [
            one.name,
            one.limit,
            one.width,
            one.parts,
            one.is_whole,
            one.demand,
            one.ahead,
            [[back.first, back.last, back.amount] for back in one.returns],
            [[debt.part, debt.amount] for debt in one.debts],
            [one.told.left, one.told.began, one.told.resets_in] if one.told else False,
        ]
        for one in side.windows
    ]
    slots = side.slots
    asked = [slots.limit, slots.in_flight, slots.wanted, slots.lacks] if slots else False
    return [int(side.keeps * 1000), windows, asked]
