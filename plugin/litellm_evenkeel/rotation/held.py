"""What one worker tells the others: an account, or a model at it, is held, or free again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.kinds import FailureKind


@dataclass(frozen=True, slots=True)
class CooldownUpdate:
    """The state of one hold."""

    account: str
    model: str | None
    """None for the account as a whole."""
    kind: FailureKind | None
    """None if an operator has released it."""
    reason: str
    until: float
    """Infinite for one that waits for an operator."""
    is_provider_stated: bool
    """Whether its provider said how long."""
    credential: str = ""
    """The fingerprint of the key that has died; empty if nobody knows, or if it matters to all keys."""
