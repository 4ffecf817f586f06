"""All that one side shares: its windows and its slots, asked for together."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from litellm_evenkeel.rotation.shared.asks import SideAsk, WindowAsk
from litellm_evenkeel.rotation.shared.window import SharedWindow

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.limits import Limit
    from litellm_evenkeel.rotation.shared.asks import SideAnswer
    from litellm_evenkeel.rotation.shared.ground import Ground, Times
    from litellm_evenkeel.rotation.shared.slots import Slots
    from litellm_evenkeel.rotation.side import Key


class Desk:
    """One side's."""

    __slots__ = ("_asked", "_ground", "key", "name", "slots", "windows")

    def __init__(self, key: Key, ground: Ground) -> None:
        account, model = key
        self.key, self._ground = key, ground
        self.name = quote(account, safe="") + ("" if model is None else "/" + quote(model, safe=""))
        self.windows: dict[str, SharedWindow] = {}
        self.slots: Slots | None = None
        self._asked: list[tuple[SharedWindow, WindowAsk]] = []

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to say, and nothing to give back."""
        return all(window.is_idle for window in self.windows.values()) and (self.slots is None or self.slots.is_idle)

    @property
    def is_restless(self) -> bool:
        """Whether it is to be looked at again soon."""
        if self.slots and not self.slots.is_idle:
            return True
        return any(window.is_demanding for window in self.windows.values())

    def window(self, limit: Limit) -> SharedWindow:
        """Return a new window; one of the same name was of a limit that has changed."""
        window = SharedWindow(limit, self, self._ground)
        self.windows[window.name] = window
        return window

    def ask(self, now: float, *, confirms: bool) -> SideAsk | None:
        """Return what is to be said to the store, if anything is; a sign of life confirms what is held."""
        is_pulled = any(window.is_demanding for window in self.windows.values())
        self._asked = [
            (window, ask)
            for window in self.windows.values()
            if (ask := window.ask(now, is_pulled=is_pulled, confirms=confirms)) is not None
        ]
        is_local = self._ground.standing.is_local
        slots = self.slots.ask(now, self._ground.workers, is_local=is_local, confirms=confirms) if self.slots else None
        if not self._asked and slots is None:
            return None
        keeps = max((window.keeps for window in self.windows.values()), default=0.0)
        return SideAsk(self.name, max(keeps, 60.0), tuple(ask for _, ask in self._asked), slots)

    def answered(self, ask: SideAsk, answer: SideAnswer, now: float, times: Times) -> bool:
        """Know what the store says; return whether somebody who was refused may try again."""
        pairs = zip(self._asked, answer.windows, strict=True)
        opened = [window.answered(asked, told, now, times) for (window, asked), told in pairs]
        self._asked = []
        if self.slots and ask.slots and answer.slots and not self._ground.standing.is_local:
            opened.append(self.slots.answered(ask.slots, answer.slots, now))
        return any(opened)

    def leave(self, now: float) -> SideAsk | None:
        """Give everything back."""
        for window in self.windows.values():
            window.leave()
        if self.slots:
            self.slots.side.slots = 0
        return self.ask(now, confirms=True)

    def unanswered(self) -> None:
        """Know that nobody knows what has become of it."""
        for window, _ in self._asked:
            window.unanswered()
        self._asked = []
