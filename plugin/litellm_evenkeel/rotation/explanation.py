"""Why the next pick is what it is, as values for routes and commands."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.rotation.said import finite

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.asked import PickRequest
    from litellm_evenkeel.rotation.bars import BlockReason
    from litellm_evenkeel.rotation.holds import HealthState
    from litellm_evenkeel.rotation.picks import PickReason


@dataclass(frozen=True, slots=True)
class CandidateBlocker:
    """What keeps the request from a candidate."""

    why: BlockReason
    what: str
    """The limit or the reason, by name."""
    opens_in: float | None
    """Seconds; None if waiting does not help."""
    is_sure: bool
    """Whether a provider or an operator said so; a guess of ours never refuses a request by itself."""
    wanted: float
    left: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """One that could have been chosen, and what came of it."""

    account: str
    deployment: str
    model: str
    tier: int
    chance: float
    """Which share of such requests it would get now."""
    is_possible: bool
    """Whether it may be chosen at all, however unlikely."""
    reason: PickReason | None
    """Why it is chosen, if it is."""
    score: float | None
    """How good the strategy finds it; more is better."""
    weight: float
    """How often it is drawn, beside others; 0 if it was shut when the snapshot was made."""
    account_state: HealthState
    model_state: HealthState
    obstacle: CandidateBlocker | None
    ramp: float
    """Which share of its traffic it may have: less than 1 on its way back from a hold."""
    in_flight: int
    """Requests under way at its account, over all models."""
    latency: float | None
    """Seconds, of late; None if nobody knows."""
    changes: tuple[str, ...]
    """What would have to change for it to be chosen, in sentences; nothing if it is what is chosen."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One request, and all that could have answered it, the likeliest first."""

    model: str
    request: PickRequest
    strategy: str
    snapshot_age: float
    verdict: str
    """All of it in one sentence."""
    chosen: str | None
    """The account that is chosen most often; None if there is none now."""
    opens_in: float | None
    """Seconds until there may be one, where there is none now; None also if waiting does not help."""
    samples: int
    """How often the choice was tried; 1 where nothing is left to chance."""
    candidates: tuple[Candidate, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it for a program; what is infinite or unknown is null."""
        request = self.request
        told = {
            "tokens": request.usage.tokens,
            "dollars": request.usage.dollars,
            "tried": sorted(request.excluded),
            "pinned_to": request.preferred_account,
            "stream": request.is_stream,
        }
        return {
            "model": self.model,
            "asked": told,
            "strategy": self.strategy,
            "snapshot_age_seconds": finite(self.snapshot_age),
            "verdict": self.verdict,
            "chosen": self.chosen,
            "opens_in_seconds": finite(self.opens_in),
            "samples": self.samples,
            "candidates": [_plain(one) for one in self.candidates],
        }


def _plain(one: Candidate) -> dict[str, Any]:
    found = asdict(one)
    for name in ("chance", "score", "weight", "ramp", "latency"):
        found[name] = finite(found[name])
    found["latency_seconds"] = found.pop("latency")
    obstacle = found["obstacle"]
    if obstacle is not None:
        obstacle["opens_in_seconds"] = finite(obstacle.pop("opens_in"))
        obstacle["wanted"], obstacle["left"] = finite(obstacle["wanted"]), finite(obstacle["left"])
    found["changes"] = list(one.changes)
    return found
