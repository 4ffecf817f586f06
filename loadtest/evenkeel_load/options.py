"""Every option of a load, once: `evenkeel load` and plain Locust both offer them, and both read them here."""

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
# Beyond this a number is no longer one for all who read it.
MOST = 2**53
# Gaps that vary more than this are one burst and then nothing.
MOST_CV = 100.0
Read = Callable[[str], Any]


def positive(text: str) -> float:
    """Read a number above zero."""
    number = float(text)
    if not 0 < number < math.inf:
        raise ValueError(text)
    return number


def variation(text: str) -> float:
    """Read a coefficient of variation."""
    number = positive(text)
    if number > MOST_CV:
        raise ValueError(text)
    return number


def delay(text: str) -> float:
    """Read a number of seconds, 0 included."""
    number = float(text)
    if not 0 <= number < math.inf:
        raise ValueError(text)
    return number


def count(text: str) -> int:
    """Read a whole number, 0 included."""
    number = int(text)
    if not 0 <= number <= MOST:
        raise ValueError(text)
    return number


def instant(text: str) -> int:
    """Read a point of time in nanoseconds."""
    number = int(text)
    if not 0 <= number < 2**63:
        raise ValueError(text)
    return number


def natural(text: str) -> int:
    """Read a whole number above zero."""
    number = count(text)
    if not number:
        raise ValueError(text)
    return number


def token(text: str) -> str:
    """Read a key, as a header can carry it."""
    if not text or not all("!" <= letter <= "~" for letter in text):
        raise ValueError(text)
    return text


@dataclass(frozen=True)
class Option:
    """One option; its name is that on the command line without the dashes."""

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
        """The environment variable that may hold it: of a secret, which the list of processes should not show."""
        return f"EVENKEEL_LOAD_{self.field.upper()}" if self.secret else None

    def parse(self, text: str) -> Any:
        """Read what a user wrote."""
        try:
            found = self.read(text)
        except ValueError as error:
            told = "this" if self.secret else repr(text)
            raise LoadConfigError(f"--{self.name}: {told} cannot be.", hint=f"It is {self.about}.") from error
        if self.choices and found not in self.choices:
            raise LoadConfigError(f"--{self.name}: there is no {text!r}.", hint=f"It is {', '.join(self.choices)}.")
        return found


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
    Option("cv", "how much the gaps of gamma arrivals vary; 1 is Poisson, 4 is bursty", variation, "X", 4.0),
    Option("trace", "a file with a time on each line, for trace arrivals", metavar="FILE", is_path=True),
    # A locustfile may add user modes, so the plan checks the choice.
    Option("user-mode", f"what the field `user` contains: {', '.join(USER_MODES)}", metavar="MODE", default="none"),
    Option(
        "requests-per-user", "how many requests keep a random or created id; 0: all of a simulated user's", count, "N"
    ),
    Option(
        "key-mode", "one API key for all, or one for each simulated user", default=SHARED, choices=(SHARED, PER_USER)
    ),
    Option(
        "weights",
        "how much each simulated user of an open load sends, against the others, such as 1,3,20; alike if not given",
        metavar="W,W...",
    ),
    Option("api-key", "the API key of the requests", token, "KEY", "sk-evenkeel", secret=True),
    Option(
        "admin-key",
        "the proxy's master key, to create users and keys; the API key if not given",
        token,
        "KEY",
        secret=True,
    ),
    Option(
        "create-users",
        "yes; or no: the users of the mode created are there already, and stay",
        default=YES,
        choices=(YES, NO),
    ),
    Option(
        "remove-after",
        "seconds until created users are removed: LiteLLM books late, and that would bring them back",
        delay,
        "SECONDS",
        17.0,
    ),
    Option("payload-bytes", "the size of what is said to the model", natural, "N", 64),
    Option("max-tokens", "how long an answer may be; 0: as long as it is", count, "N", 0),
    Option("prompts", "how many different prompts there are; 0: each request has its own", count, "N", 0),
    Option("models", "such as gpt-4o, or a mix: gpt-4o=3,gpt-4o-mini=1", metavar="MIX", default=DEFAULT_MODEL),
    Option("timeout", "seconds after which a request has failed", positive, "SECONDS", 120.0),
    Option("connections", "how many connections each process may open", natural, "N", 4096),
    Option("seed", "what arrivals, prompts and ids are drawn from", count, "N", 0),
    Option("records", "the folder that the records go to", metavar="FOLDER", is_path=True),
    Option("arm", "the name of what is measured, for the records", metavar="NAME", default=""),
    Option(
        "identities", "how many simulated users an open load has; as many as Locust's users if not given", natural, "N"
    ),
    Option("step", "the number of this run among several in one folder", count, "N"),
    Option("start-at", "when it begins, in nanoseconds of Unix time; as soon as can be if not given", instant, "NS"),
    Option("run-name", "the name of this run, for the records; the time if not given", metavar="NAME"),
)
"""All there are, but for how many users: plain Locust has an option of its own for that."""

SECRETS = tuple(option for option in OPTIONS if option.secret)
