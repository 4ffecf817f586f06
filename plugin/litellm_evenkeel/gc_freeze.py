"""Freezing of long-lived objects, so that Python's full garbage collections do not traverse the whole proxy.

A full collection stops the process while it traverses every object. A LiteLLM proxy has millions of objects, and nearly
all of them live as long as the process. So a full collection takes more than half a second, about every ten seconds
under load. This module freezes the objects that exist when requests begin, and those that survive the first full
collections afterwards: later collections skip them. Frozen objects are still freed when their reference count drops to
zero. Only reference cycles among them leak, so freezing is limited to a few times.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.settings_schema.types import Count, SettingsModel

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDEST_GENERATION = 2


class GcFreezeSettings(SettingsModel):
    """Settings of the `gc_freeze` callback, `evenkeel.gc_freeze`."""

    freezes: Count = 3
    """Number of full collections, after the one at the start, whose survivors are frozen."""


class GcFreezer:
    """Freezes the surviving objects at once, and after each of the next full collections. It triggers no further ones.

    `collector` is the module `gc` outside of tests. `is_start_frozen` is whether LiteLLM itself freezes all objects at
    the end of its start. Then the freezer only collects the garbage at once, which LiteLLM would otherwise freeze too,
    and freezes after the next collections.
    """

    def __init__(self, settings: GcFreezeSettings, collector: Any = gc, *, is_start_frozen: bool = False) -> None:
        self._remaining_freezes = settings.freezes
        self._collector, self._is_start_frozen = collector, is_start_frozen

    def start(self) -> None:
        """Collect, freeze the survivors, and register for the next collections."""
        self._collector.collect()
        if not self._is_start_frozen:
            self._collector.freeze()
        if self._remaining_freezes:
            self._collector.callbacks.append(self._on_collection)

    def _on_collection(self, phase: str, details: Mapping[str, int]) -> None:
        # A collection may start at any allocation, also while a lock is held. So this must not log or take any lock.
        # It does not remove itself from the list either: Python iterates over that by index, and would skip the next.
        if self._remaining_freezes and phase == "stop" and details["generation"] == OLDEST_GENERATION:
            self._collector.freeze()
            self._remaining_freezes -= 1
