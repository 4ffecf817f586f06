"""What a mock is told to be: the settings file, and the same as the worker processes keep it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
import yaml

from evenkeel_mock import faults, fields, latency
from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.limits import Accounts, parse_accounts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenkeel_mock.faults import Entry
    from evenkeel_mock.latency import Latency

SETTINGS = ("seed", "latency", "accounts", "others", "faults", "answers", "prompt_cache", "models")
ANSWERS = ("echo", "call_tools")
DEFAULT_MODELS = ("gpt-4o-mini", "gpt-4o", "text-embedding-3-small", "claude-sonnet-5-5")
MOST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Config:
    """Everything that steers the answers."""

    started_ns: int
    """From when a timeline's seconds and relative expiries count (Unix time)."""
    seed: int
    latency: Latency
    accounts: Accounts
    faults: tuple[Entry, ...]
    echo: bool
    """Whether the answer is what the user said last."""
    call_tools: bool
    """Whether a function is called as soon as a request allows it; one that demands it always gets its call."""
    prompt_cache: bool
    models: tuple[str, ...]


def parse(settings: Mapping[str, Any], started_ns: int) -> Config:
    """Read settings; one that cannot be is an error that names the nearest valid one."""
    given = fields.mapping(settings, SETTINGS, "settings")
    answers = fields.mapping(given.get("answers") or {}, ANSWERS, "answers")
    models = given.get("models", list(DEFAULT_MODELS))
    if not isinstance(models, list):
        raise MockConfigError("models: is not a list.", cure="Such as [gpt-4o-mini, gpt-4o].")
    return Config(
        started_ns=started_ns,
        seed=fields.whole(given.get("seed", 0), "seed", least=0, most=MOST_SEED),
        latency=latency.parse(given.get("latency") or {}),
        accounts=parse_accounts({name: given[name] for name in ("accounts", "others") if name in given}, started_ns),
        faults=faults.parse_timeline(given.get("faults") or []),
        echo=_flag(answers, "echo"),
        call_tools=_flag(answers, "call_tools"),
        prompt_cache=_flag(given, "prompt_cache", default=True),
        models=tuple(fields.text(model, "models") for model in models),
    )


def read_file(path: Path) -> dict[str, Any]:
    """Read a settings file."""
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise MockConfigError(f"{path} cannot be read: {error}.", cure="Mend it.") from error
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise MockConfigError(f"{path} is not a mapping.", cure=f"Its keys are: {', '.join(SETTINGS)}.")
    return settings


def dump(settings: Mapping[str, Any], started_ns: int) -> bytes:
    """Write settings as the workers share them."""
    return orjson.dumps({"started_ns": started_ns, "settings": settings}, option=orjson.OPT_NON_STR_KEYS)


def load(text: bytes) -> tuple[dict[str, Any], int]:
    """Read what `dump` has written."""
    found = orjson.loads(text)
    return found["settings"], found["started_ns"]


def _flag(given: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    value = given.get(name, default)
    if not isinstance(value, bool):
        raise MockConfigError(f"{name}: {value!r} is neither true nor false.", cure="Write one of the two.")
    return value
