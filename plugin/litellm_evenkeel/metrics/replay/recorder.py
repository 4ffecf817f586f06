"""Recording of the metric updates that LiteLLM's own code would make for an event, without applying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from litellm_evenkeel.metrics.registry.families import MetricStore, RecordedUpdate


def record_updates(store: MetricStore, running: Coroutine[Any, Any, None]) -> list[RecordedUpdate] | None:
    """Run a coroutine that updates metrics of `store`, and return the updates without applying them.

    Return `None` if the coroutine suspends: other code could update metrics meanwhile, so the record would be wrong.
    """
    recording = _Recording()
    with store.lock:
        store.recorder = recording
        try:
            running.send(None)
        except StopIteration:
            return recording.updates
        finally:
            store.recorder = None
            running.close()
    return None


class _Recording:
    def __init__(self) -> None:
        self.updates: list[RecordedUpdate] = []

    def record(self, update: RecordedUpdate) -> None:
        self.updates.append(update)
