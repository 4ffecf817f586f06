"""Settings of the mock: the file, the form that worker processes share, and the parsed configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import yaml

from evenkeel_mock import faults
from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.parsing import fields
from evenkeel_mock.quotas.limits import Accounts, parse_accounts
from evenkeel_mock.timing import latency
from evenkeel_mock.timing.distribution_syntax import Read, read_file as read_measured

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenkeel_mock.faults import Entry
    from evenkeel_mock.timing.latency import Latency

SETTINGS = ("seed", "latency", "accounts", "others", "faults", "answers", "prompt_cache", "models")
ANSWERS = ("echo", "call_tools")
DEFAULT_MODELS = ("gpt-4o-mini", "gpt-4o", "text-embedding-3-small", "claude-sonnet-5-5")
MOST_SEED = 2**63 - 1
PLAIN_HINT = "Write plain numbers and texts; docs/mock.md shows them."


@dataclass(frozen=True)
class Config:
    """Parsed configuration of the mock."""

    timeline_ns: int
    """Start of the fault timeline (Unix time in ns)."""
    seed: int
    latency: Latency
    accounts: Accounts
    faults: tuple[Entry, ...]
    echo: bool
    """Whether the answer repeats the last user message."""
    call_tools: bool
    """Whether answers call a function if the request allows it. A request that demands a call always gets it."""
    prompt_cache: bool
    models: tuple[str, ...]


class StoredSettings(NamedTuple):
    """Unparsed settings and their start times, as the worker processes share them."""

    settings: dict[str, Any]
    started_ns: int
    """Start of relative expiries (Unix time in ns)."""
    timeline_ns: int
    """Start of the fault timeline (Unix time in ns)."""

    @classmethod
    def load(cls, text: bytes) -> StoredSettings:
        """Deserialize the bytes that `dump` returned."""
        return cls(**orjson.loads(text))

    def dump(self) -> bytes:
        """Serialize to JSON."""
        try:
            return orjson.dumps(self._asdict(), option=orjson.OPT_NON_STR_KEYS)
        except TypeError as error:
            raise MockConfigError(f"The settings cannot be stored: {error}.", hint=PLAIN_HINT) from error

    def config(self, read: Read = read_measured) -> Config:
        """Parse the settings. An error names the nearest valid value."""
        try:
            return _parse(self, read)
        except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
            # Values that the field parsers do not foresee, such as deep nesting or huge numbers.
            raise MockConfigError(f"The settings cannot be read: {error}.", hint=PLAIN_HINT) from error


def parse(settings: Mapping[str, Any], started_ns: int) -> Config:
    """Parse `settings` whose relative times start at `started_ns`."""
    stored = StoredSettings(dict(settings), started_ns, started_ns)
    stored.dump()
    return stored.config()


def read_file(path: Path) -> dict[str, Any]:
    """Read a settings file."""
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise MockConfigError(f"{path} cannot be read: {error}.", hint="Mend it.") from error
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise MockConfigError(f"{path} is not a mapping.", hint=f"Its keys are: {', '.join(SETTINGS)}.")
    return settings


def _parse(stored: StoredSettings, read: Read) -> Config:
    given = fields.mapping(stored.settings, SETTINGS, "settings")
    answers = fields.mapping(given.get("answers") or {}, ANSWERS, "answers")
    models = given.get("models", list(DEFAULT_MODELS))
    if not isinstance(models, list):
        raise MockConfigError("models: is not a list.", hint="Such as [gpt-4o-mini, gpt-4o].")
    listed = {name: given[name] for name in ("accounts", "others") if name in given}
    return Config(
        timeline_ns=stored.timeline_ns,
        seed=fields.integer(given.get("seed", 0), "seed", least=0, most=MOST_SEED),
        latency=latency.parse(given.get("latency") or {}, read=read),
        accounts=parse_accounts(listed, stored.started_ns),
        faults=faults.parse_timeline(given.get("faults") or []),
        echo=_flag(answers, "echo"),
        call_tools=_flag(answers, "call_tools"),
        prompt_cache=_flag(given, "prompt_cache", default=True),
        models=tuple(fields.text(model, "models") for model in models),
    )


def _flag(given: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    value = given.get(name, default)
    if not isinstance(value, bool):
        raise MockConfigError(f"{name}: {value!r} is neither true nor false.", hint="Write one of the two.")
    return value
