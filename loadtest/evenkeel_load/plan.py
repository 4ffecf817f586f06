"""All that decides what a load sends, and when: from options, checked once, the same in every process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_load.arrivals import Arrivals, Constant, Extent, Gamma, Poisson, Ramp, Trace
from evenkeel_load.modes import MODES, Mode

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_load.draws import Mix
    from evenkeel_load.scenario import Scenario

CLOSED = "closed"
SHARED, PER_USER = "shared", "per-user"


@dataclass(frozen=True)
class Plan:
    """One load."""

    scenario: Scenario
    arrivals: str
    users: int
    """How many simulated users there are; of a closed load, how many requests are on their way at once."""
    requests: int | None
    duration: float | None
    rate: float | None
    rate_to: float | None
    cv: float
    trace: Path | None
    user_mode: str
    requests_per_user: int
    key_mode: str
    api_key: str
    admin_key: str
    payload_bytes: int
    max_tokens: int
    prompts: int
    models: Mix[str]
    timeout: float
    connections: int
    seed: int
    run: str
    arm: str
    step: int

    @property
    def is_open(self) -> bool:
        """Whether requests are sent when they are due, rather than when a user is free."""
        return self.arrivals != CLOSED

    def schedule(self) -> Arrivals:
        """Return when the requests of an open load are due."""
        if self.arrivals == "trace":
            assert self.trace is not None
            return Trace(self.trace)
        assert self.rate is not None
        if self.arrivals == "ramp":
            assert self.rate_to is not None
            assert self.duration is not None
            return Ramp(self.rate, self.rate_to, self.duration)
        extent = Extent(self.requests, self.duration)
        if self.arrivals == "gamma":
            return Gamma(self.rate, self.cv, extent)
        return Constant(self.rate, extent) if self.arrivals == "constant" else Poisson(self.rate, extent)

    @property
    def expected(self) -> int | None:
        """How many requests there will be; None if that depends on how fast they are answered."""
        return len(self.schedule().times(self.seed)) if self.is_open else self.requests

    def mode(self) -> Mode:
        """Return who the requests say that they come from."""
        return MODES[self.user_mode](self.seed, self.run, self.requests_per_user)

    def place(self, number: int) -> tuple[int, int]:
        """Return which simulated user sends a request, and how many it has sent before."""
        return number % self.users, number // self.users
