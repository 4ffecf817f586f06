"""What workers tell each other of holds, as soon as it happens; whoever could not listen reads what still holds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from litellm_evenkeel.rotation.shared.words import decode, encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from litellm_evenkeel.rotation.held import CooldownUpdate
    from litellm_evenkeel.rotation.pool import AccountPool
    from litellm_evenkeel.rotation.shared.words import CooldownMessage

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
    def has_words(self) -> bool:
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
