"""Cooldown updates between workers: published at once, and kept for workers that were not listening."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from litellm_evenkeel.rotation.pool.account_pool import AccountPool

VERSION = 2
MAX_MESSAGE_BYTES = 4096
MAX_REASON_CHARACTERS = 200
MAX_CREDENTIAL_CHARACTERS = 64
# No cooldown is longer, except a quarantine.
MAX_COOLDOWN_SECONDS = 9 * 86_400.0
# The quarantine of a single model is kept for this long: clients may invent ever new names of models.
MODEL_QUARANTINE_SECONDS = 86_400.0
# Cooldowns that have ended are deleted this often.
PRUNE_SECONDS = 60.0
# Workers that start read all cooldowns. After this many, other tasks run.
MESSAGES_PER_SLICE = 200

# The longer cooldown wins, as in each worker. Releasing an account also releases all its models.
PUBLISH_SCRIPT = """
local function until_of(text)
  local is_valid, message = pcall(cjson.decode, text)
  if not is_valid or type(message) ~= 'table' then return -1 end
  return type(message['until']) == 'number' and message['until'] or math.huge
end
local function kept_until(text)
  local is_valid, message = pcall(cjson.decode, text)
  if not is_valid or type(message) ~= 'table' then return 0 end
  local kept = type(message['kept_until']) == 'number' and message['kept_until'] or message['until']
  return type(kept) == 'number' and kept or math.huge
end
if redis.call('SET', KEYS[2], '1', 'NX', 'PX', ARGV[4]) then
  local now = tonumber(redis.call('TIME')[1])
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    if kept_until(all[i + 1]) <= now then redis.call('HDEL', KEYS[1], all[i]) end
  end
end
for _, update in ipairs(cjson.decode(ARGV[2])) do
  local field, text, ends, account = update[1], update[2], update[3], update[4]
  if ends == -1 then
    for _, other in ipairs(redis.call('HKEYS', KEYS[1])) do
      local is_valid, key = pcall(cjson.decode, other)
      if other == field or (account ~= '' and is_valid and type(key) == 'table' and key[1] == account) then
        redis.call('HDEL', KEYS[1], other)
      end
    end
  else
    local stored = redis.call('HGET', KEYS[1], field)
    if not stored or until_of(stored) <= until_of(text) then redis.call('HSET', KEYS[1], field, text) end
    local lasts = redis.call('PTTL', KEYS[1])
    if ends == 0 then
      redis.call('PERSIST', KEYS[1])
    elseif lasts >= 0 or redis.call('HLEN', KEYS[1]) == 1 then
      redis.call('PEXPIRE', KEYS[1], ARGV[3])
    end
  end
  redis.call('PUBLISH', ARGV[1], text)
end
"""
RELEASED, FOREVER = -1.0, 0.0


@dataclass(frozen=True, slots=True)
class CooldownMessage:
    """One cooldown update, encoded for the channel."""

    field: str
    """The scope, as the name of a field of the Redis hash."""
    text: str
    until: float
    """Until when it is kept, or `RELEASED`, or `FOREVER`."""
    account: str
    """The account whose models are released too; empty if the update concerns one model only."""


def encode(update: CooldownUpdate, worker: str, now: float) -> CooldownMessage:
    """Encode `update` as a message from `worker`."""
    has_end = math.isfinite(update.until)
    kept_until = update.until if has_end else now + MODEL_QUARANTINE_SECONDS
    is_kept_forever = not has_end and update.model is None
    text = json.dumps(
        {
            "v": VERSION,
            "from": worker,
            "account": update.account,
            "model": update.model,
            "kind": update.kind,
            "reason": update.reason[:MAX_REASON_CHARACTERS],
            "until": update.until if has_end else None,
            "kept_until": None if is_kept_forever else kept_until,
            "provider_stated": update.is_provider_stated,
            "credential": update.credential,
        }
    )
    until = RELEASED if update.kind is None else FOREVER if is_kept_forever else kept_until
    return CooldownMessage(
        json.dumps([update.account, update.model]), text, until, update.account if update.model is None else ""
    )


class ReceivedMessage(BaseModel):
    """The fields of a received message. Messages of newer releases may have more."""

    model_config = ConfigDict(strict=True, frozen=True)

    v: int = Field(ge=VERSION, le=VERSION)
    worker: str = Field(alias="from")
    account: str
    model: str | None = None
    kind: FailureKind | None = None
    reason: str
    until: FiniteFloat | None = None
    """`None` if the cooldown has no end."""
    provider_stated: bool
    credential: str = Field(default="", max_length=MAX_CREDENTIAL_CHARACTERS)
    """Missing in messages of workers that run an older release."""


def decode(text: bytes | str) -> tuple[str, CooldownUpdate] | None:
    """Return the sending worker and the update of a message; `None` if it is not a valid message of this version."""
    if len(text) > MAX_MESSAGE_BYTES:
        return None
    try:
        message = ReceivedMessage.model_validate_json(text)
    except ValidationError:
        return None
    # Only a quarantine has no end.
    if message.until is None and message.kind not in {None, FailureKind.PERMANENT}:
        return None
    return message.worker, CooldownUpdate(
        message.account,
        message.model,
        message.kind,
        message.reason[:MAX_REASON_CHARACTERS],
        math.inf if message.until is None else message.until,
        message.provider_stated,
        message.credential,
    )


MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 2.0
# Bounds memory while the channel is away: beyond it, the oldest updates are dropped.
MAX_QUEUED_UPDATES = 20_000
UPDATES_PER_PUBLISH = 200


class CooldownChannel(Protocol):
    """Channel that delivers messages to all workers."""

    async def publish(self, messages: Sequence[CooldownMessage], /) -> None:
        """Send messages to all workers, and keep them for workers that start later."""

    async def history(self) -> list[bytes | str]:
        """Return all messages that are kept, also those of cooldowns that have ended."""

    def listen(self) -> AsyncIterator[bytes | None]:
        """Yield messages as they arrive. After the first `None`, the subscription is active and misses nothing."""


class CooldownBus:
    """One worker's end of the channel."""

    def __init__(self, channel: CooldownChannel, worker: str, clock: Callable[[], float]) -> None:
        self._channel, self._worker, self._clock = channel, worker, clock
        self.queued: dict[tuple[str, str | None], CooldownUpdate] = {}
        """Updates that wait to be published, by scope."""
        self.published = self.received = self.damaged = 0
        self.is_listening = False
        self._released: set[str] = set()
        """Accounts that this worker has released since it began to read the history."""

    def enqueue(self, update: CooldownUpdate) -> None:
        """Queue an update. It replaces an older one of the same scope."""
        if update.kind is None and update.model is None:
            self._released.add(update.account)
            for key in [key for key in self.queued if key[0] == update.account]:
                del self.queued[key]
        key = update.account, update.model
        self.queued.pop(key, None)
        if len(self.queued) >= MAX_QUEUED_UPDATES:
            del self.queued[next(iter(self.queued))]
        self.queued[key] = update

    async def publish(self) -> None:
        """Publish queued updates, up to `UPDATES_PER_PUBLISH` of them."""
        batch = dict(list(self.queued.items())[:UPDATES_PER_PUBLISH])
        now = self._clock()
        await self._channel.publish([encode(update, self._worker, now) for update in batch.values()])
        self.published += len(batch)
        for key, update in batch.items():
            # A newer update may have been queued in the meantime.
            if self.queued.get(key) is update:
                del self.queued[key]

    async def listen(self, pool: AccountPool) -> None:
        """Apply the updates of other workers to `pool`. Runs until it is cancelled."""
        pause = MIN_RETRY_SECONDS
        while True:
            try:
                async for text in self._channel.listen():
                    if text is not None:
                        self._receive(text, pool)
                        continue
                    # Read after the subscription is active: a message in between is applied twice rather than never.
                    self._released.clear()
                    for number, kept in enumerate(await self._channel.history(), 1):
                        self._receive(kept, pool, is_history=True)
                        if number % MESSAGES_PER_SLICE == 0:
                            await asyncio.sleep(0)
                    self.is_listening, pause = True, MIN_RETRY_SECONDS
            except Exception:  # noqa: BLE001 - any error of a driver or server is retried; the exchange counts outages
                self.is_listening = False
            await asyncio.sleep(pause)
            pause = min(pause * 2, MAX_RETRY_SECONDS)

    def _receive(self, text: bytes | str, pool: AccountPool, *, is_history: bool = False) -> None:
        decoded = decode(text)
        if decoded is None:
            self.damaged += 1
            return
        worker, update = decoded
        if is_history:
            if update.account in self._released or update.until <= self._clock():
                return
        elif worker == self._worker:
            return
        self.received += 1
        pool.apply_cooldown_update(update)
