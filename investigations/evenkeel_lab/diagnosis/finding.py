"""Result of a check: where the time was lost, how much that matters, and how certain it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON_KEYS = {"location": "place", "impact": "state", "confidence": "sure"}


class Location(StrEnum):
    """Part of the setup that a finding concerns."""

    UPSTREAM = "upstream"
    """The provider and the network to it."""
    LOCAL = "local"
    """The proxy with its Postgres and its Valkey."""
    RIG = "rig"
    """The load generator, the mock provider and the machine."""
    UNKNOWN = "nowhere"
    """The records do not tell."""


class Impact(StrEnum):
    """Effect of a finding on the throughput and latency of the load."""

    BINDS = "binds"
    """It limits the load: unless it is fixed, nothing else makes much of a difference."""
    COSTS = "costs"
    """It takes a noticeable share of the time, or is the next limit."""
    CLEAR = "clear"
    """It was checked and does not limit the load."""
    UNKNOWN = "unknown"
    """The data for the check was not recorded. The hint says how to record it."""


class Confidence(StrEnum):
    """Confidence in a finding."""

    HIGH = "high"
    """Measured, and nothing else explains it."""
    FAIR = "fair"
    """Measured, but something else could explain it."""
    LOW = "low"
    """Estimated, or from few samples."""


@dataclass(frozen=True)
class Finding:
    """Result of one check."""

    check: str
    location: Location
    impact: Impact
    verdict: str
    because: tuple[str, ...] = ()
    """Observations that the verdict is based on."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The observations as numbers, for programs."""
    confidence: Confidence = Confidence.HIGH
    why: str = ""
    """Reason for the confidence."""
    hint: str = ""
    """Recommended action."""

    def document(self) -> dict[str, object]:
        """Return the finding for `--json`, whose keys are older than the names of the fields."""
        return {JSON_KEYS.get(name, name): value for name, value in asdict(self).items()}


def unknown(check: str, location: Location, what: str, *, hint: str) -> Finding:
    """Return the finding that `what` was not recorded, with a hint how to record it."""
    return Finding(check, location, Impact.UNKNOWN, what, hint=hint)
