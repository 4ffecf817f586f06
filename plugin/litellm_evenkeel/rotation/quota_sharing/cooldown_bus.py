"""What workers tell each other of holds, as soon as it happens; whoever could not listen reads what still holds."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from litellm_evenkeel.rotation.pool.account_pool import AccountPool

VERSION = 1
# A list, because what others say may not even be hashable.
KINDS = [str(kind) for kind in FailureKind]
MOST_BYTES = 4096
MOST_REASON = 200
MOST_CREDENTIAL = 64
# No hold but a quarantine lasts longer.
LONGEST = 9 * 86_400.0

# What is longer wins here as it does in each worker; a release forgets an account with all its models.
SAY = """
local function until_of(text)
  local good, found = pcall(cjson.decode, text)
  if not good or type(found) ~= 'table' then return -1 end
  return type(found['until']) == 'number' and found['until'] or math.huge
end
for _, word in ipairs(cjson.decode(ARGV[2])) do
  local field, text, ends, account = word[1], word[2], word[3], word[4]
  if ends == -1 then
    for _, one in ipairs(redis.call('HKEYS', KEYS[1])) do
      local good, key = pcall(cjson.decode, one)
      if one == field or (account ~= '' and good and type(key) == 'table' and key[1] == account) then
        redis.call('HDEL', KEYS[1], one)
      end
    end
  else
    local held = redis.call('HGET', KEYS[1], field)
    if not held or until_of(held) <= until_of(text) then redis.call('HSET', KEYS[1], field, text) end
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
    """One hold, ready to be said."""

    field: str
    text: str
    until: float
    """Or `RELEASED`, or `FOREVER`."""
    account: str
    """Of which all is to be forgotten; empty if only this."""


def encode(update: CooldownUpdate, speaker: str) -> CooldownMessage:
    """Write down a hold."""
    text = json.dumps(
        {
            "v": VERSION,
            "from": speaker,
            "account": update.account,
            "model": update.model,
            "kind": update.kind,
            "reason": update.reason[:MOST_REASON],
            "until": update.until if math.isfinite(update.until) else None,
            "told": update.is_provider_stated,
            "credential": update.credential,
        }
    )
    until = RELEASED if update.kind is None else update.until if math.isfinite(update.until) else FOREVER
    return CooldownMessage(
        json.dumps([update.account, update.model]), text, until, update.account if update.model is None else ""
    )


def decode(text: bytes | str) -> tuple[str, CooldownUpdate] | None:
    """Return who says what; None if that is not a word of this version."""
    if len(text) > MOST_BYTES:
        return None
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or told.get("v") != VERSION or not isinstance(told.get("from"), str):
        return None
    update = _held(told)
    return None if update is None else (told["from"], update)


def _held(told: dict[str, Any]) -> CooldownUpdate | None:
    account, model, kind, reason = (told.get(name) for name in ("account", "model", "kind", "reason"))
    until, is_told = told.get("until"), told.get("told")
    if not isinstance(account, str) or not isinstance(reason, str) or not isinstance(is_told, bool):
        return None
    # Those who do not know of it yet do not say it.
    credential = told.get("credential", "")
    if not isinstance(credential, str) or len(credential) > MOST_CREDENTIAL:
        return None
    if not isinstance(model, str | None) or (kind is not None and kind not in KINDS):
        return None
    if until is None:
        until = math.inf
    if isinstance(until, bool) or not isinstance(until, int | float) or math.isnan(until):
        return None
    # Only a quarantine lasts for ever.
    if math.isinf(until) and kind not in {None, FailureKind.PERMANENT}:
        return None
    kind = None if kind is None else FailureKind(kind)
    return CooldownUpdate(account, model, kind, reason[:MOST_REASON], float(until), is_told, credential)


FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
# There are no more accounts than that, or the oldest words wait no longer.
MOST_WAITING = 20_000
AT_ONCE = 200


class CooldownChannel(Protocol):
    """Where words are left."""

    async def publish(self, words: Sequence[CooldownMessage]) -> None:
        """Let all others know, those too that start later."""

    async def history(self) -> list[bytes | str]:
        """Return what was said and still holds."""

    def listen(self) -> AsyncIterator[bytes | None]:
        """Hear what others say; the first None says that from now on nothing is missed."""


class CooldownBus:
    """One worker's part in it."""

    def __init__(self, board: CooldownChannel, speaker: str, clock: Callable[[], float]) -> None:
        self._board, self._speaker, self._clock = board, speaker, clock
        self._waiting: dict[tuple[str, str | None], CooldownUpdate] = {}
        self.published = self.received = self.damaged = 0
        self.is_listening = False

    @property
    def has_updates(self) -> bool:
        """Whether there is something to say."""
        return bool(self._waiting)

    def enqueue(self, update: CooldownUpdate) -> None:
        """Have something to say; a newer word on the same hold replaces an older one."""
        if update.kind is None and update.model is None:
            for key in [key for key in self._waiting if key[0] == update.account]:
                del self._waiting[key]
        key = update.account, update.model
        self._waiting.pop(key, None)
        if len(self._waiting) >= MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._waiting[key] = update

    async def publish(self) -> None:
        """Say what waits to be said, some of it."""
        saying = dict(list(self._waiting.items())[:AT_ONCE])
        await self._board.publish([encode(update, self._speaker) for update in saying.values()])
        self.published += len(saying)
        for key, update in saying.items():
            if self._waiting.get(key) is update:
                del self._waiting[key]

    async def listen(self, pool: AccountPool) -> None:
        """Tell the pool what others say, as long as this runs."""
        pause = FIRST_PAUSE
        while True:
            try:
                async for text in self._board.listen():
                    if text is not None:
                        self._hear(text, pool)
                        continue
                    # After the channel is open: what is said meanwhile is heard twice rather than never.
                    for remembered in await self._board.history():
                        self._hear(remembered, pool, is_remembered=True)
                    self.is_listening, pause = True, FIRST_PAUSE
            except Exception:  # noqa: BLE001 - whatever a driver or a server does, it is tried again; who asks counts it
                self.is_listening = False
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _hear(self, text: bytes | str, pool: AccountPool, *, is_remembered: bool = False) -> None:
        found = decode(text)
        if found is None:
            self.damaged += 1
            return
        speaker, update = found
        if is_remembered:
            released = self._waiting.get((update.account, None))
            if (released and released.kind is None) or update.until <= self._clock():
                return
        elif speaker == self._speaker:
            return
        self.received += 1
        pool.apply_cooldown_update(update)
