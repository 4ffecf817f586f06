"""Who watches the rotation: metrics, for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from litellm_evenkeel.providers.classifier import Failure
    from litellm_evenkeel.providers.response_usage import ResponseUsage
    from litellm_evenkeel.rotation.attempts import Attempt
    from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick


class Observer(Protocol):
    """What is told as it happens. Nothing of it may take long, or raise."""

    def on_pick(self, pick: Pick, group: str, seconds: float) -> None:
        """Know of a choice, and how long it took."""

    def on_queued(self, group: str, seconds: float, *, is_served: bool) -> None:
        """Know of a request that has waited for an account."""

    def on_rejection(self, group: str, no_capacity: NoCapacity) -> None:
        """Know of a request for which there was none."""

    def on_failure(self, attempt: Attempt, failure: Failure) -> None:
        """Know of a failed attempt."""

    def on_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        """Know of an answer."""

    def on_lost(self, attempt: Attempt) -> None:
        """Know of an attempt of whose end nobody told."""

    def on_snapshot(self, seconds: float) -> None:
        """Know that a snapshot was made anew."""


class NullObserver:
    """Nobody."""

    def on_pick(self, pick: Pick, group: str, seconds: float) -> None:
        """Look away."""

    def on_queued(self, group: str, seconds: float, *, is_served: bool) -> None:
        """Look away."""

    def on_rejection(self, group: str, no_capacity: NoCapacity) -> None:
        """Look away."""

    def on_failure(self, attempt: Attempt, failure: Failure) -> None:
        """Look away."""

    def on_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        """Look away."""

    def on_lost(self, attempt: Attempt) -> None:
        """Look away."""

    def on_snapshot(self, seconds: float) -> None:
        """Look away."""
