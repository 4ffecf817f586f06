"""Every option of a load, once: `evenkeel load` and plain Locust both offer them, and both read them here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenkeel_load.arrivals import OPEN
from evenkeel_load.draws import Mix
from evenkeel_load.errors import LoadConfigError
from evenkeel_load.modes import MODES
from evenkeel_load.plan import CLOSED, PER_USER, SHARED, Plan
from evenkeel_load.scenario import SCENARIOS

DEFAULT_MODEL = "gpt-4o-mini"
Read = Callable[[str], Any]


def positive(text: str) -> float:
    """Read a number above zero."""
    number = float(text)
    if not 0 < number < math.inf:
        raise ValueError(text)
    return number


def count(text: str) -> int:
    """Read a whole number, 0 included."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def natural(text: str) -> int:
    """Read a whole number above zero."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


@dataclass(frozen=True)
class Option:
    """One option; its name is that on the command line without the dashes."""

    name: str
    about: str
    read: Read = str
    metavar: str = "X"
    default: Any = None
    choices: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        """The name in Python."""
        return self.name.replace("-", "_")


OPTIONS = (
    Option(
        "arrivals",
        "closed: each user waits for its answer; or when requests are due",
        default=CLOSED,
        choices=(CLOSED, *OPEN),
    ),
    Option("requests", "how many requests in all", natural, "N"),
    Option("duration", "for how many seconds", positive, "SECONDS"),
    Option("rate", "requests a second, of an open load", positive, "RATE"),
    Option("rate-to", "the rate at which a ramp ends", positive, "RATE"),
    Option("cv", "how much the gaps of gamma arrivals vary; 1 is Poisson, 4 is bursty", positive, "X", 4.0),
    Option("trace", "a file with a time on each line, for trace arrivals", metavar="FILE"),
    Option("user-mode", "what stands in the field `user`", default="none", choices=tuple(MODES)),
    Option(
        "requests-per-user", "how many requests keep a random or created id; 0: all of a simulated user's", count, "N"
    ),
    Option(
        "key-mode", "one API key for all, or one for each simulated user", default=SHARED, choices=(SHARED, PER_USER)
    ),
    Option("api-key", "the API key of the requests", metavar="KEY", default="sk-evenkeel"),
    Option("admin-key", "the proxy's master key, to create users and keys; the API key if not given", metavar="KEY"),
    Option("payload-bytes", "the size of what is said to the model", natural, "N", 64),
    Option("max-tokens", "how long an answer may be; 0: as long as it is", count, "N", 0),
    Option("prompts", "how many different prompts there are; 0: each request has its own", count, "N", 0),
    Option("models", "such as gpt-4o, or a mix: gpt-4o=3,gpt-4o-mini=1", metavar="MIX", default=DEFAULT_MODEL),
    Option("timeout", "seconds after which a request has failed", positive, "SECONDS", 120.0),
    Option("connections", "how many connections each process may open", natural, "N", 4096),
    Option("seed", "what arrivals, prompts and ids are drawn from", count, "N", 0),
    Option("records", "the folder that the records go to", metavar="FOLDER"),
    Option("arm", "the name of what is measured, for the records", metavar="NAME", default=""),
    Option(
        "identities", "how many simulated users an open load has; as many as Locust's users if not given", natural, "N"
    ),
    Option("step", "the number of this run among several in one folder", count, "N", 0),
    Option("run-name", "the name of this run, for the records; the time if not given", metavar="NAME"),
)
"""All there are, but for how many users: plain Locust has an option of its own for that."""


def plan(scenario: str, users: int, run: str, given: Mapping[str, Any]) -> Plan:
    """Return the plan that options make; what is None was not given."""
    found = SCENARIOS[scenario]
    users = given.get("identities") or users
    usual = {option.field: option.default for option in OPTIONS}
    chosen = usual | found.defaults | {name: value for name, value in given.items() if value is not None}
    per_user = given.get("requests_per_user")
    chosen["requests_per_user"] = 1 if per_user is None else per_user
    if given.get("requests") is None:
        if chosen["arrivals"] == CLOSED and per_user:
            chosen["requests"] = users * per_user
        elif given.get("duration") is not None:
            chosen["requests"] = None
    if chosen["arrivals"] == CLOSED and given.get("rate") is None:
        chosen["rate"] = None
    _check(chosen, users)
    return Plan(
        scenario=found,
        users=users,
        run=run,
        requests_per_user=chosen["requests_per_user"],
        models=mix(chosen["models"]),
        trace=None if chosen["trace"] is None else Path(chosen["trace"]),
        admin_key=chosen["admin_key"] or chosen["api_key"],
        **{
            name: chosen[name]
            for name in (
                "arrivals", "requests", "duration", "rate", "rate_to", "cv", "user_mode", "key_mode", "api_key",
                "payload_bytes", "max_tokens", "prompts", "timeout", "connections", "seed", "arm", "step",
            )
        },
    )  # fmt: skip


def mix(text: str) -> Mix[str]:
    """Read a mix of models."""
    names, weights = [], []
    for part in text.split(","):
        name, _, weight = part.partition("=")
        try:
            weights.append(positive(weight) if weight else 1.0)
        except ValueError as error:
            raise LoadConfigError(f"--models: {part!r} is no model with a weight.", cure="Such as gpt-4o=3.") from error
        if not name.strip():
            raise LoadConfigError(f"--models: {text!r} names no model.", cure="Such as gpt-4o=3,gpt-4o-mini=1.")
        names.append(name.strip())
    return Mix("model", tuple(names), tuple(weights))


def read(option: Option, text: str) -> Any:
    """Read what a user wrote."""
    try:
        found = option.read(text)
    except ValueError as error:
        raise LoadConfigError(f"--{option.name}: {text!r} cannot be.", cure=f"It is {option.about}.") from error
    if option.choices and found not in option.choices:
        raise LoadConfigError(f"--{option.name}: there is no {text!r}.", cure=f"It is {', '.join(option.choices)}.")
    return found


def _check(chosen: Mapping[str, Any], users: int) -> None:
    arrivals = chosen["arrivals"]
    if users < 1:
        raise LoadConfigError("A load needs users.", cure="Give --users a number above zero.")
    if arrivals == CLOSED and chosen["rate"]:
        raise LoadConfigError(
            "A closed load has no --rate: it is as fast as it is answered.", cure=f"Add --arrivals {OPEN[0]}."
        )
    if (
        chosen["user_mode"] == "created"
        and arrivals == CLOSED
        and not chosen["requests"]
        and chosen["requests_per_user"]
    ):
        raise LoadConfigError(
            "Nobody knows how many users have to be created for a closed load that only time ends.",
            cure="Add --requests, or --requests-per-user 0: then each simulated user keeps its id.",
        )
    needed = {"constant": ("rate",), "poisson": ("rate",), "gamma": ("rate",), "trace": ("trace",)}
    for name in needed.get(arrivals, ("rate", "rate_to", "duration") if arrivals == "ramp" else ()):
        if chosen[name] is None:
            raise LoadConfigError(f"{arrivals} arrivals need --{name.replace('_', '-')}.", cure="Give it.")
