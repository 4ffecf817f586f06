"""What workers tell each other of holds, as soon as it happens; whoever could not listen reads what still holds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from litellm_evenkeel.rotation.shared.words import heard, word

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from litellm_evenkeel.rotation.held import Held
    from litellm_evenkeel.rotation.pool import Pool
    from litellm_evenkeel.rotation.shared.words import Word

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
# There are no more accounts than that, or the oldest words wait no longer.
MOST_WAITING = 20_000
AT_ONCE = 200


class Board(Protocol):
    """Where words are left."""

    async def say(self, words: Sequence[Word]) -> None:
        """Let all others know, those too that start later."""

    async def said(self) -> list[bytes | str]:
        """Return what was said and still holds."""

    def listen(self) -> AsyncIterator[bytes | None]:
        """Hear what others say; the first None says that from now on nothing is missed."""


class Gossip:
    """One worker's part in it."""

    def __init__(self, board: Board, speaker: str, clock: Callable[[], float]) -> None:
        self._board, self._speaker, self._clock = board, speaker, clock
        self._waiting: dict[tuple[str, str | None], Held] = {}
        self.said = self.heard = self.damaged = 0
        self.is_listening = False

    @property
    def has_words(self) -> bool:
        """Whether there is something to say."""
        return bool(self._waiting)

    def tell(self, held: Held) -> None:
        """Have something to say; a newer word on the same hold replaces an older one."""
        if held.kind is None and held.model is None:
            for key in [key for key in self._waiting if key[0] == held.account]:
                del self._waiting[key]
        key = held.account, held.model
        self._waiting.pop(key, None)
        if len(self._waiting) >= MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._waiting[key] = held

    async def say(self) -> None:
        """Say what waits to be said, some of it."""
        saying = dict(list(self._waiting.items())[:AT_ONCE])
        await self._board.say([word(held, self._speaker) for held in saying.values()])
        self.said += len(saying)
        for key, held in saying.items():
            if self._waiting.get(key) is held:
                del self._waiting[key]

    async def listen(self, pool: Pool) -> None:
        """Tell the pool what others say, as long as this runs."""
        pause = FIRST_PAUSE
        while True:
            try:
                async for text in self._board.listen():
                    if text is not None:
                        self._hear(text, pool)
                        continue
                    # After the channel is open: what is said meanwhile is heard twice rather than never.
                    for remembered in await self._board.said():
                        self._hear(remembered, pool, is_remembered=True)
                    self.is_listening, pause = True, FIRST_PAUSE
            except Exception:  # noqa: BLE001 - whatever a driver or a server does, it is tried again; who asks counts it
                self.is_listening = False
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _hear(self, text: bytes | str, pool: Pool, *, is_remembered: bool = False) -> None:
        found = heard(text)
        if found is None:
            self.damaged += 1
            return
        speaker, held = found
        if is_remembered:
            released = self._waiting.get((held.account, None))
            if (released and released.kind is None) or held.until <= self._clock():
                return
        elif speaker == self._speaker:
            return
        self.heard += 1
        pool.hold(held)
