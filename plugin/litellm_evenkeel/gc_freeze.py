"""Python's garbage collector, kept from looking through a whole proxy again and again.

A full collection looks at every object there is, and nothing else happens meanwhile. Of a LiteLLM proxy these are
millions, nearly all of which live as long as it does: it takes more than half a second, every ten seconds or so under
load. What is there when requests begin to come, and what survives the first full collections after that, is frozen: no
later one looks at it. Objects that nobody holds any more are freed as ever; only cycles among those that were frozen
stay, which is why it is done a few times and no more.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from litellm_evenkeel.settings_schema.types import Count  # noqa: TC001 - read by annotation

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDEST_GENERATION = 2


@dataclass(frozen=True, slots=True)
class GcFreezeSettings:
    """What an operator may decide about it."""

    freezes: Count = 3
    """After how many full collections, after the one at the start, all that has survived is frozen."""


class Collector(Protocol):
    """What of the module `gc` is needed."""

    callbacks: list[Any]
    """Whoever wants to hear of a collection: called with its phase and what there is to know about it."""

    def collect(self) -> int:
        """Collect all garbage."""
        ...

    def freeze(self) -> None:
        """Let no further collection look at what is there now."""
        ...


class GcFreezer:
    """Freezes what has survived: at once, and after the next full collections, which come when they would anyway.

    With `is_start_frozen`, LiteLLM freezes by itself what there is at the end of its start: then only the rest is done,
    and what is garbage by now is collected, which LiteLLM would freeze with the rest.
    """

    def __init__(self, settings: GcFreezeSettings, collector: Collector = gc, *, is_start_frozen: bool = False) -> None:
        self._remaining_freezes = settings.freezes
        self._collector, self._is_start_frozen = collector, is_start_frozen

    def start(self) -> None:
        """Freeze what is there now, and listen for what comes."""
        self._collector.collect()
        if not self._is_start_frozen:
            self._collector.freeze()
        if self._remaining_freezes:
            self._collector.callbacks.append(self._on_collection)

    def _on_collection(self, phase: str, about: Mapping[str, int]) -> None:
        # Called in the midst of anything: no logging here, nor anything else that waits for a lock.
        # Nor does it take itself off the list: Python goes through that by numbers, and would leave the next one out.
        if self._remaining_freezes and phase == "stop" and about["generation"] == OLDEST_GENERATION:
            self._collector.freeze()
            self._remaining_freezes -= 1
