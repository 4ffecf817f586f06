"""How it went with the server so far, for metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SharingCounts:
    """All numbers are since the start."""

    is_connected: bool
    """Whether the server answers."""
    is_local: bool
    """Whether this worker goes on with its part of the limits: it does, too, for a moment after the server is back."""
    age: float
    """Seconds since the server has answered last; infinite if it never has."""
    workers: int
    """How many were alive when it did."""
    outages: int
    errors: Mapping[str, int]
    """Failed questions, by the kind of error."""
    exchanges: int
    said: int
    """Holds told to others."""
    heard: int
    """Holds that others told."""
    damaged: int
    """Words that nobody could understand."""
    is_listening: bool
