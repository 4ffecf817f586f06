"""Where investigations lie, and how they are read: strictly, with the nearest valid name for one that is none."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.experiment.investigation import NAME, Investigation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_core import ErrorDetails

FOLDER, FILE = "investigations", "investigation.toml"


def known(start: Path | None = None) -> dict[str, Path]:
    """Return the folders of all investigations, by name: of the project that the current folder lies in."""
    start = start or Path.cwd()
    for place in (start, *start.parents):
        found = sorted((place / FOLDER).glob(f"*/{FILE}"))
        if found:
            return {path.parent.name: path.parent for path in found}
    return {}


def find(name: str, start: Path | None = None) -> Path:
    """Return the folder of an investigation, named or given as a path."""
    there = known(start)
    if name in there:
        return there[name]
    given = Path(name)
    if (given / FILE).is_file():
        return given
    close = difflib.get_close_matches(name, there, n=1, cutoff=0.5)
    cure = f"Did you mean {close[0]}?" if close else f"There are {', '.join(there) or 'none here'}."
    raise WrongUse(f"There is no investigation {name!r}.", cure=cure)


def read(folder: Path) -> Investigation:
    """Read an investigation."""
    path = folder / FILE
    if not re.fullmatch(NAME, folder.resolve().name):
        raise WrongUse(f"{folder.name!r} is no name for an investigation.", cure="Small letters, digits, - and _.")
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WrongUse(f"{path} cannot be read: {error}.", cure="Mend it; docs/investigations.md shows one.") from error
    try:
        return Investigation.model_validate(told)
    except ValidationError as error:
        # A field that does not exist explains one that is missing.
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        raise WrongUse(f"{path}: {_what(first)}.", cure=_cure(first)) from error


def _what(error: ErrorDetails) -> str:
    where = ".".join(str(part) for part in error["loc"])
    match error["type"]:
        case "extra_forbidden":
            return f"there is no field {where!r}"
        case "missing":
            return f"{where} is missing"
        case "value_error":
            message = str(error["ctx"]["error"]) if "ctx" in error else error["msg"]
            return f"{where}: {message}" if where else message
        case _:
            return f"{where}: {error['msg'][0].lower()}{error['msg'][1:]}, not {error['input']!r}"


def _cure(error: ErrorDetails) -> str:
    *above, name = error["loc"] or ("",)
    fields = _fields_at(above)
    if error["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(name), fields, n=1, cutoff=0.5)
        return f"Did you mean {close[0]}?" if close else f"There are {', '.join(fields)}."
    if str(name) in fields:
        return f"It is this: {fields[str(name)]}"
    return "docs/investigations.md says what may be."


def _fields_at(place: Sequence[str | int]) -> dict[str, str]:
    """Return the fields that a place in the file may have, and what they say of themselves."""
    schema = Investigation.model_json_schema()

    def resolved(node: dict[str, Any]) -> dict[str, Any]:
        node = next((one for one in node.get("anyOf", ()) if "$ref" in one), node)
        return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node

    node = schema
    for part in place:
        fields = node.get("properties", {})
        named = [*node.get("patternProperties", {}).values(), node.get("additionalProperties"), node.get("items"), {}]
        node = resolved(fields[part] if part in fields else next(one for one in named if isinstance(one, dict)))
    return {name: field.get("description", "") for name, field in node.get("properties", {}).items()}
