"""Log of operators' actions, in a table beside the records of the journal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.operator_actions import OperatorAction


class ActionStore(Protocol):
    """Store of actions. Its methods block, and raise the driver's own errors."""

    def write_action(self, action: OperatorAction) -> None:
        """Write an action. The table is created if it is missing."""

    def close(self) -> None:
        """Close the store. The next call opens it again."""


class ActionLog:
    """Writes actions as they come. They are rare, so each is written by itself."""

    def __init__(self, open_store: Callable[[], ActionStore], errors: Callable[[str, Exception], None]) -> None:
        self._open_store, self._errors = open_store, errors
        self._lock = asyncio.Lock()

    async def append(self, action: OperatorAction) -> None:
        """Write an action without blocking the event loop. An error is reported, and raised again."""
        try:
            async with self._lock:
                await asyncio.to_thread(self._write, action)
        except Exception as error:
            self._errors("writing an operator's action", error)
            raise

    def _write(self, action: OperatorAction) -> None:
        store = self._open_store()
        try:
            store.write_action(action)
        finally:
            store.close()
