"""Files that are written as a whole or not at all, and read with a clear error if they are not what is expected."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Protocol, TextIO, TypeVar

from pydantic import BaseModel, ValidationError

from evenkeel_lab.errors import RigFailure, WrongUse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenkeel_lab.errors import LabError

T = TypeVar("T", bound=BaseModel)


class ErrorFactory(Protocol):
    """Makes a sentence an error."""

    def __call__(self, what: str, /) -> LabError:
        """Return it."""


def replace_text(path: Path, text: str) -> None:
    """Write a file that is whole at any moment, whoever is killed meanwhile."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


@contextlib.contextmanager
def open_replacement(path: str, *, forbidden: str) -> Iterator[TextIO]:
    """Open a file for writing that replaces `path` at the end. It must not be the file `forbidden`."""
    place = os.path.realpath(path)
    # Not the paths' own methods, which raise for a name that is too long.
    if not os.path.isdir(os.path.dirname(place)):  # noqa: PTH112, PTH120
        raise WrongUse(f"There is no folder for {path}.", hint="Make it, or name a file elsewhere.")
    if os.path.exists(forbidden) and os.path.exists(place) and os.path.samefile(forbidden, place):  # noqa: PTH110, PTH121
        raise WrongUse(f"{path} is the journal itself.", hint="Name another file to write to.")
    if os.path.exists(place) and not os.path.isfile(place):  # noqa: PTH110, PTH113
        # A pipe or a device is no place for another file.
        with open(place, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            yield file
        return
    new = f"{place}.{os.getpid()}.new"
    try:
        with open(new, "x", encoding="utf-8", newline="") as file:  # noqa: PTH123
            yield file
        os.replace(new, place)  # noqa: PTH105
    except OSError as error:
        raise RigFailure(
            f"Cannot write {path}: {error.strerror}.", hint="See that its folder may be written to and has room."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)  # noqa: PTH108


def read_text(path: Path, refused: ErrorFactory) -> str:
    """Return a file's text."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise refused(f"{path} cannot be read: {error}.") from error


def parse_json(kind: type[T], text: str, where: str, refused: ErrorFactory, schema: int | None = None) -> T:
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
