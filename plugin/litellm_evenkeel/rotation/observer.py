"""Who watches the rotation: metrics, for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.answers import Answer
    from litellm_evenkeel.rotation.attempts import Attempt
    from litellm_evenkeel.rotation.picks import Full, Pick
    from litellm_evenkeel.rotation.signals import Signal


class Observer(Protocol):
    """What is told as it happens. Nothing of it may take long, or raise."""

    def picked(self, pick: Pick, group: str, seconds: float) -> None:
        """Know of a choice, and how long it took."""

    def waited(self, group: str, seconds: float, *, is_served: bool) -> None:
        """Know of a request that has waited for an account."""

    def refused(self, group: str, full: Full) -> None:
        """Know of a request for which there was none."""

    def failed(self, attempt: Attempt, signal: Signal) -> None:
        """Know of a failed attempt."""

    def answered(self, attempt: Attempt, answer: Answer) -> None:
        """Know of an answer."""

    def vanished(self, attempt: Attempt) -> None:
        """Know of an attempt of whose end nobody told."""

    def rebuilt(self, seconds: float) -> None:
        """Know that a snapshot was made anew."""


class Unobserved:
    """Nobody."""

    def picked(self, pick: Pick, group: str, seconds: float) -> None:
        """Look away."""

    def waited(self, group: str, seconds: float, *, is_served: bool) -> None:
        """Look away."""

    def refused(self, group: str, full: Full) -> None:
        """Look away."""

    def failed(self, attempt: Attempt, signal: Signal) -> None:
        """Look away."""

    def answered(self, attempt: Attempt, answer: Answer) -> None:
        """Look away."""

    def vanished(self, attempt: Attempt) -> None:
        """Look away."""

    def rebuilt(self, seconds: float) -> None:
        """Look away."""
