"""Seeing what LiteLLM's own code would write for an event, without having it written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from litellm_evenkeel.metrics.registry.families import MetricStore, RecordedUpdate


def record_updates(store: MetricStore, running: Coroutine[Any, Any, None]) -> list[RecordedUpdate] | None:
    """Run what writes to the families of a store, and return what it would have written.

    None if it waits for something on its way: nobody can say what others would write meanwhile.
    """
    notes = _Notes()
    with store.lock:
        store.tap = notes
        try:
            running.send(None)
        except StopIteration:
            return notes.taken
        finally:
            store.tap = None
            running.close()
    return None


class _Notes:
    def __init__(self) -> None:
        self.taken: list[RecordedUpdate] = []

    def record(self, updates: RecordedUpdate) -> None:
        self.taken.append(updates)
