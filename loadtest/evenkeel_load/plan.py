"""Plan of a load: everything that decides what is sent and when. It is made of options, equally in every process."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkeel_load.arrivals import CLOSED, OPEN, Arrivals, Constant, Extent, Gamma, Poisson, Ramp, Trace
from evenkeel_load.draws import Mix
from evenkeel_load.errors import LoadConfigError
from evenkeel_load.options import OPTIONS, positive
from evenkeel_load.user_modes import USER_MODES, UserMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_load.arrivals.schedule import Times
    from evenkeel_load.scenario import Scenario

# Options that each kind of arrivals needs, and those that it may have besides --requests and --duration.
NEEDED = {
    CLOSED: (),
    "constant": ("rate",),
    "poisson": ("rate",),
    "gamma": ("rate",),
    "ramp": ("rate", "rate_to", "duration"),
    "trace": ("trace",),
}
POSSIBLE = NEEDED | {"gamma": ("rate", "cv")}
# Three years.
MOST_SECONDS = 1e8
# User modes whose ids do not depend on the number of earlier requests.
UNTURNED = ("none", "sequential")
OF_ARRIVALS = ("rate", "rate_to", "cv", "trace")


@dataclass(frozen=True)
class Plan:
    """Plan of a load."""

    scenario: Scenario
    arrivals: str
    users: int
    """The number of simulated users; in a closed load, of requests in flight."""
    requests: int | None
    duration: float | None
    rate: float | None
    rate_to: float | None
    cv: float
    trace: Path | None
    user_mode: str
    requests_per_user: int
    key_mode: str
    weights: Mix[int] | None
    """Weights of the simulated users; `None` if they take turns."""
    api_key: str
    admin_key: str
    create_users: str
    remove_after: float
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
    user_modes: Mapping[str, type[UserMode]]
    start_at: int | None
    """The start in nanoseconds of Unix time; `None` for as soon as possible."""

    @property
    def is_open(self) -> bool:
        """Whether requests are sent when they are due, rather than when a user is free."""
        return self.arrivals != CLOSED

    def schedule(self) -> Arrivals:
        """Return the schedule of an open load."""
        if self.arrivals == "trace":
            assert self.trace is not None
            whole = self.requests is None and self.duration is None
            return Trace(self.trace, None if whole else Extent(self.requests, self.duration))
        assert self.rate is not None
        extent = Extent(self.requests, self.duration)
        if self.arrivals == "ramp":
            assert self.rate_to is not None
            return Ramp(self.rate, self.rate_to, extent)
        if self.arrivals == "gamma":
            return Gamma(self.rate, self.cv, extent)
        return Constant(self.rate, extent) if self.arrivals == "constant" else Poisson(self.rate, extent)

    @cached_property
    def times(self) -> Times:
        """The due times of an open load, in seconds from its start."""
        times = self.schedule().times(self.seed)
        if len(times) and times[-1] > MOST_SECONDS:
            raise LoadConfigError(
                f"The last request would be due after {times[-1]:.3g} seconds.", hint="Shorten the load."
            )
        return times

    def prepare(self) -> None:
        """Compute the schedule now, because it would delay the first requests."""
        if self.is_open:
            len(self.times)

    @property
    def expected(self) -> int | None:
        """The number of requests; `None` if it depends on latencies."""
        if self.is_open:
            return len(self.times)
        return self.requests if self.duration is None else None

    @property
    def span(self) -> float | None:
        """Seconds between the first and the last request of an open load."""
        if not self.is_open:
            return None
        return float(self.times[-1] - self.times[0]) if len(self.times) else 0.0

    def mode(self) -> UserMode:
        """Return the user mode."""
        return self.user_modes[self.user_mode](self.seed, self.run, self.requests_per_user)

    def user_and_turn(self, number: int) -> tuple[int, int]:
        """Return the simulated user of a request, and the number of its requests before this one."""
        if self.weights is not None:
            return self.weights.choose(self.seed, number), number // self.users
        return number % self.users, number // self.users


def make_plan(
    scenario: Scenario,
    users: int,
    run: str,
    given: Mapping[str, Any],
    user_modes: Mapping[str, type[UserMode]] = USER_MODES,
) -> Plan:
    """Return the plan of a scenario with the options in `given`. An option that is None was not given."""
    users = given.get("identities") or users
    explicit = {name: value for name, value in given.items() if value is not None}
    chosen = {option.field: option.default for option in OPTIONS} | {**scenario.defaults} | explicit
    per_user = explicit.get("requests_per_user")
    chosen["requests_per_user"] = 1 if per_user is None else per_user
    if "requests" not in explicit:
        if chosen["arrivals"] == CLOSED and per_user and "duration" not in explicit:
            chosen["requests"] = users * per_user
        elif "duration" in explicit or chosen["arrivals"] == "trace":
            chosen["requests"] = None
    if chosen["user_mode"] not in user_modes:
        raise LoadConfigError(
            f"--user-mode: there is no {chosen['user_mode']!r}.", hint=f"It is one of {', '.join(user_modes)}."
        )
    _check(chosen, explicit, users)
    chosen |= {
        "scenario": scenario,
        "user_modes": user_modes,
        "users": users,
        "run": run,
        "models": _mix(chosen["models"]),
        "weights": None if chosen["weights"] is None else _weights(chosen["weights"], users),
        "trace": None if chosen["trace"] is None else Path(chosen["trace"]),
        "admin_key": chosen["admin_key"] or chosen["api_key"],
        "step": chosen["step"] or 0,
    }
    return Plan(**{field.name: chosen[field.name] for field in fields(Plan)})


def _mix(text: str) -> Mix[str]:
    names, weights = [], []
    for part in text.split(","):
        name, _, weight = part.partition("=")
        try:
            weights.append(positive(weight) if weight else 1.0)
        except ValueError as error:
            raise LoadConfigError(
                f"--models: {part!r} is no model with a weight.", hint="An example is gpt-4o=3."
            ) from error
        if not name.strip():
            raise LoadConfigError(
                f"--models: {text!r} has an empty name.", hint="An example is gpt-4o=3,gpt-4o-mini=1."
            )
        names.append(name.strip())
    return Mix("model", tuple(names), tuple(weights))


def _weights(text: str, users: int) -> Mix[int]:
    try:
        weights = [positive(part) for part in text.split(",")]
    except ValueError as error:
        raise LoadConfigError(f"--weights: {text!r} is no list of numbers.", hint="An example is 1,3,20.") from error
    if len(weights) != users:
        raise LoadConfigError(f"There are {len(weights)} --weights for {users} users.", hint="Give each user one.")
    return Mix("user", range(users), weights)


def _check(chosen: Mapping[str, Any], explicit: Mapping[str, Any], users: int) -> None:
    arrivals = chosen["arrivals"]
    if users < 1:
        raise LoadConfigError("A load needs users.", hint="Give --users a number above zero.")
    for name in OF_ARRIVALS:
        if name in explicit and name not in POSSIBLE[arrivals]:
            users_of = ", ".join(kind for kind in OPEN if name in POSSIBLE[kind])
            raise LoadConfigError(
                f"{arrivals} arrivals have no --{name.replace('_', '-')}.", hint=f"It is for {users_of}."
            )
    for name in NEEDED[arrivals]:
        if chosen[name] is None:
            raise LoadConfigError(f"{arrivals} arrivals need --{name.replace('_', '-')}.", hint="Give it.")
    if chosen["weights"] is not None and (arrivals == CLOSED or chosen["user_mode"] not in UNTURNED):
        raise LoadConfigError(
            f"--weights are for open loads, with --user-mode {' or '.join(UNTURNED)}.",
            hint="Leave them out: the users take turns.",
        )
    created = chosen["user_mode"] == "created" and chosen["requests_per_user"]
    if created and arrivals == CLOSED and (chosen["requests"] is None or chosen["duration"] is not None):
        raise LoadConfigError(
            "A closed load with a duration needs an unknown number of created users.",
            hint="Leave out --duration, or add --requests-per-user 0, so that each simulated user keeps its id.",
        )
