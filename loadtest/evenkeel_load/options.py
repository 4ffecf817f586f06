"""Options of a load, for `evenkeel load` and for plain Locust."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evenkeel_load.arrivals import CLOSED, OPEN
from evenkeel_load.errors import LoadConfigError
from evenkeel_load.user_modes import USER_MODES

SHARED, PER_USER = "shared", "per-user"
YES, NO = "yes", "no"
DEFAULT_MODEL = "gpt-4o-mini"
# Larger integers are not exact in JSON.
MOST = 2**53
# With more variation, all arrivals are one burst.
MOST_CV = 100.0
Read = Callable[[str], Any]


def positive(text: str) -> float:
    """Parse a number above zero."""
    number = float(text)
    if not 0 < number < math.inf:
        raise ValueError(text)
    return number


def variation(text: str) -> float:
    """Parse a coefficient of variation."""
    number = positive(text)
    if number > MOST_CV:
        raise ValueError(text)
    return number


def delay(text: str) -> float:
    """Parse a number of seconds, which may be 0."""
    number = float(text)
    if not 0 <= number < math.inf:
        raise ValueError(text)
    return number


def count(text: str) -> int:
    """Parse an integer, which may be 0."""
    number = int(text)
    if not 0 <= number <= MOST:
        raise ValueError(text)
    return number


def instant(text: str) -> int:
    """Parse a time in nanoseconds."""
    number = int(text)
    if not 0 <= number < 2**63:
        raise ValueError(text)
    return number


def natural(text: str) -> int:
    """Parse an integer above zero."""
    number = count(text)
    if not number:
        raise ValueError(text)
    return number


def token(text: str) -> str:
    """Parse a key that is valid in a header."""
    if not text or not all("!" <= letter <= "~" for letter in text):
        raise ValueError(text)
    return text


@dataclass(frozen=True)
class Option:
    """An option. Its name is that of the command line without the dashes."""

    name: str
    about: str
    read: Read = str
    metavar: str = "X"
    default: Any = None
    choices: tuple[str, ...] = ()
    secret: bool = False
    is_path: bool = False

    @property
    def field(self) -> str:
        """The name in Python."""
        return self.name.replace("-", "_")

    @property
    def env(self) -> str | None:
        """The environment variable of a secret, which must not be in the list of processes; else `None`."""
        return f"EVENKEEL_LOAD_{self.field.upper()}" if self.secret else None

    def parse(self, text: str) -> Any:
        """Parse the text of a user."""
        try:
            value = self.read(text)
        except ValueError as error:
            shown = "this value" if self.secret else repr(text)
            raise LoadConfigError(f"--{self.name}: {shown} is not valid.", hint=f"It is {self.about}.") from error
        if self.choices and value not in self.choices:
            raise LoadConfigError(
                f"--{self.name}: there is no {text!r}.", hint=f"It is one of {', '.join(self.choices)}."
            )
        return value


OPTIONS = (
    Option(
        "arrivals",
        "the arrival process; closed: each user waits for its answer",
        default=CLOSED,
        choices=(CLOSED, *OPEN),
    ),
    Option("requests", "the number of requests", natural, "N"),
    Option("duration", "the duration in seconds", positive, "SECONDS"),
    Option("rate", "requests per second of an open load", positive, "RATE"),
    Option("rate-to", "the rate at which a ramp ends", positive, "RATE"),
    Option("cv", "the coefficient of variation of gamma gaps; 1 is Poisson, 4 is bursty", variation, "X", 4.0),
    Option("trace", "a file with a time on each line, for trace arrivals", metavar="FILE", is_path=True),
    # A locustfile may add user modes, so the plan checks the choice.
    Option("user-mode", f"the value of the field `user`: {', '.join(USER_MODES)}", metavar="MODE", default="none"),
    Option("requests-per-user", "requests with the same random or created id; 0: all of a simulated user", count, "N"),
    Option(
        "key-mode", "one API key for all simulated users, or one for each", default=SHARED, choices=(SHARED, PER_USER)
    ),
    Option(
        "weights",
        "relative load of each simulated user of an open load, such as 1,3,20; by default equal",
        metavar="W,W...",
    ),
    Option("api-key", "the API key of the requests", token, "KEY", "sk-evenkeel", secret=True),
    Option(
        "admin-key",
        "the proxy's master key, to create users and keys; by default the API key",
        token,
        "KEY",
        secret=True,
    ),
    Option(
        "create-users",
        "no: the users of the mode created exist already, and are kept",
        default=YES,
        choices=(YES, NO),
    ),
    Option(
        "remove-after",
        "seconds until created users are removed: LiteLLM writes their spend late, which would create them again",
        delay,
        "SECONDS",
        32.0,
    ),
    Option("payload-bytes", "the size of a prompt in bytes", natural, "N", 64),
    Option("max-tokens", "the maximum length of an answer; 0: no maximum", count, "N", 0),
    Option("prompts", "the number of different prompts; 0: each request has its own", count, "N", 0),
    Option("models", "a model, or several with weights: gpt-4o=3,gpt-4o-mini=1", metavar="MIX", default=DEFAULT_MODEL),
    Option("timeout", "seconds after which a request fails", positive, "SECONDS", 120.0),
    Option("connections", "the maximum number of connections of each process", natural, "N", 4096),
    Option("seed", "the seed of arrivals, prompts and ids", count, "N", 0),
    Option("records", "the folder for the records", metavar="FOLDER", is_path=True),
    Option("arm", "the name of the arm, for the records", metavar="NAME", default=""),
    Option("identities", "the number of simulated users of an open load; by default Locust's users", natural, "N"),
    Option("step", "the number of this run in its folder", count, "N"),
    Option("start-at", "the start in nanoseconds of Unix time; by default as soon as possible", instant, "NS"),
    Option("run-name", "the name of this run, for the records; by default the time", metavar="NAME"),
)
"""All options, except for the number of users, for which plain Locust has its own."""

SECRETS = tuple(option for option in OPTIONS if option.secret)
