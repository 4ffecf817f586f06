"""Copies of controls in all workers: each worker reads the store twice a second, and writes what its operators change.

Without a store, controls hold in one worker only, and end with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.controls.control_store import ControlStore
    from litellm_evenkeel.rotation.controls.control_table import ControlKey, ControlTable
    from litellm_evenkeel.rotation.model.control import Control

INTERVAL_SECONDS = 0.5


class ControlSync:
    """One worker's controls, and the store that it shares them through."""

    def __init__(
        self,
        table: ControlTable,
        store: ControlStore | None = None,
        *,
        errors: Callable[[str, Exception], None] = lambda _operation, _error: None,
        interval: float = INTERVAL_SECONDS,
    ) -> None:
        self.table, self._store, self._errors, self._interval = table, store, errors, interval
        self._epoch = ""
        """The store's epoch when it was last read; empty if it never was."""
        self._unsaved: dict[ControlKey, Control | None] = {}
        # Reads and writes one after the other: a write that is repeated must not undo a later one.
        self._lock = asyncio.Lock()

    async def put(self, control: Control) -> bool:
        """Put a control in force here. Return whether all workers have it, or get it within the interval."""
        self.table.put(control)
        return await self._share((control.account, control.kind), control)

    async def withdraw(self, key: ControlKey) -> bool:
        """Withdraw a control here. Return whether it is withdrawn in all workers within the interval."""
        self.table.withdraw(key)
        return await self._share(key, None)

    async def run(self) -> None:
        """Keep this worker's controls up to date until cancelled."""
        while True:
            with contextlib.suppress(Exception):
                # The next round tries again. The coordinator reports that Redis is away.
                await self.refresh()
            try:
                self.table.expire()
            except Exception as error:  # noqa: BLE001 - a later round tries again
                self._errors("ending controls", error)
            await asyncio.sleep(self._interval)

    async def refresh(self) -> None:
        """Write the changes of this worker, and read those of the others."""
        if self._store is None:
            return
        async with self._lock:
            await self._save()
            stored, epoch = await self._store.load(uuid.uuid4().hex)
            if self._epoch not in {"", epoch}:
                # Redis has lost its content. What operators have paused stays paused.
                there = {(control.account, control.kind) for control in stored}
                lost = {key: own for own in self.table.everything() if (key := (own.account, own.kind)) not in there}
                await self._store.save(lost)
                stored += lost.values()
            self._epoch = epoch
            if not self._unsaved:
                # Otherwise an operator has changed something since, and the next round reads again.
                self.table.replace(stored)

    async def close(self) -> None:
        """Close the connections to the store."""
        if self._store is not None:
            await self._store.close()

    async def _share(self, key: ControlKey, control: Control | None) -> bool:
        if self._store is None:
            return False
        self._unsaved[key] = control
        try:
            async with self._lock:
                await self._save()
        except Exception:  # noqa: BLE001 - any error of a driver or server is retried
            return False
        return True

    async def _save(self) -> None:
        assert self._store is not None
        while self._unsaved:
            changes = dict(self._unsaved)
            await self._store.save(changes)
            for key, control in changes.items():
                if self._unsaved.get(key, control) is control:
                    self._unsaved.pop(key, None)
