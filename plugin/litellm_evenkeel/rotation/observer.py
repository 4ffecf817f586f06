"""Observer of the rotation, such as its metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litellm_evenkeel.providers.classifier import Failure
    from litellm_evenkeel.providers.response_usage import ResponseUsage
    from litellm_evenkeel.rotation.attempts import Attempt
    from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick


class Observer:
    """Receiver of rotation events, which ignores them. Methods of subclasses must be fast and must not raise."""

    def on_pick(self, pick: Pick, seconds: float) -> None:
        """Record a pick, and the seconds it took, time in the queue included."""

    def on_queued(self, seconds: float, *, is_served: bool) -> None:
        """Record that a request left the queue after `seconds`."""

    def on_session_wait(self, seconds: float) -> None:
        """Record that a request waited for a rate limit of its session's account."""

    def on_rejection(self, model_group: str, no_capacity: NoCapacity) -> None:
        """Record a request that no account could serve."""

    def on_failure(self, attempt: Attempt, failure: Failure) -> None:
        """Record a failed attempt."""

    def on_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        """Record a successful attempt."""

    def on_lost(self, attempt: Attempt) -> None:
        """Record an attempt whose end is unknown."""

    def on_snapshot(self, seconds: float) -> None:
        """Record that a snapshot was rebuilt in `seconds`."""
