"""What a session writes, all of it or nothing; and reads: whatever became of it, as it is expected, or a sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.errors import LabError

T = TypeVar("T", bound=BaseModel)


class Refused(Protocol):
    """Makes a sentence an error."""

    def __call__(self, what: str, /) -> LabError:
        """Return it."""


def replace_text(path: Path, text: str) -> None:
    """Write a file that is whole at any moment, whoever is killed meanwhile."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def text_of(path: Path, refused: Refused) -> str:
    """Return a file's text."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise refused(f"{path} cannot be read: {error}.") from error


def understood(kind: type[T], text: str, where: str, refused: Refused, schema: int | None = None) -> T:
    """Return what a text says, if it is of the schema that is expected."""
    try:
        told = json.loads(text)
    except ValueError as error:
        raise refused(f"{where} cannot be read: {error}.") from error
    if schema is not None:
        found = told.pop("schema", None) if isinstance(told, dict) else None
        if found != schema:
            raise refused(f"{where} is of schema {found}, this evenkeel reads {schema}.")
    try:
        return kind.model_validate(told)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "all of it"
        raise refused(f"{where} is not what was written: {place}: {first['msg'].lower()}.") from error
