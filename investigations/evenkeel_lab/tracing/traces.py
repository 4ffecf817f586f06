"""The traces of an investigation, in a file beside its summary. Files of another schema are rejected."""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - read by annotation
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from evenkeel_lab.atomic_files import replace_text
from evenkeel_lab.errors import WrongUse

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = 1
FILE = "traces.json"


@dataclass(frozen=True)
class Trace:
    """The time of one request, in milliseconds."""

    arrived: int
    """Since the first request of the run."""
    waits: tuple[int, ...]
    """By part, in the order of `Traces.parts`."""

    @property
    def duration(self) -> int:
        """The time from its arrival until its response was sent."""
        return sum(self.waits)


@dataclass(frozen=True)
class Traces:
    """Traces of the first requests of a run of each arm."""

    name: str
    digest: str
    """Digest of the traced investigation, as in the name of its session's folder."""
    provenance: Mapping[str, Any]
    parts: tuple[str, ...]
    arms: Mapping[str, tuple[Trace, ...]]
    skipped: Mapping[str, str]
    """Why an arm has no traces."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")


DOCUMENT = TypeAdapter(Traces)


def write(traces: Traces, path: Path) -> None:
    """Write traces atomically, a request a line."""
    document = DOCUMENT.dump_python(traces, mode="json")
    arms = document.pop("arms")
    head = json.dumps({"schema": SCHEMA} | document, sort_keys=True)
    rows = {
        arm: ",\n".join(json.dumps([request["arrived"], *request["waits"]]) for request in arms[arm]) for arm in arms
    }
    body = ",\n".join(f"{json.dumps(arm)}: [\n{rows[arm]}\n]" for arm in sorted(rows))
    replace_text(path, f'{head[:-1]}, "arms": {{\n{body}\n}}}}\n')


def read(path: Path) -> Traces:
    """Read traces."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be read: {error}.", hint="Take it with --traces.") from error
    schema = document.pop("schema", None) if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise WrongUse(f"{path} is of schema {schema}, this evenkeel reads {SCHEMA}.", hint="Take it again, --traces.")
    try:
        document["arms"] = {
            arm: [{"arrived": arrived, "waits": waits} for arrived, *waits in rows]
            for arm, rows in document["arms"].items()
        }
        return DOCUMENT.validate_python(document)
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise WrongUse(f"{path} is damaged: {error!r}.", hint="Restore it from git.") from error
