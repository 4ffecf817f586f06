"""Files that are replaced atomically, and read with a clear error if their content is invalid."""

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
    """Makes an error from a sentence."""

    def __call__(self, what: str, /) -> LabError:
        """Return the error for the sentence `what`."""


def replace_text(path: Path, text: str) -> None:
    """Replace the file `path` atomically, so that it is complete even if the process is killed."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


@contextlib.contextmanager
def open_replacement(path: str, *, forbidden: str) -> Iterator[TextIO]:
    """Open a new file that replaces `path` at the end of the block. `path` must not be the file `forbidden`."""
    target = os.path.realpath(path)
    # The methods of `Path` raise for a name that is too long.
    if not os.path.isdir(os.path.dirname(target)):  # noqa: PTH112, PTH120
        raise WrongUse(f"There is no folder for {path}.", hint="Make it, or name a file elsewhere.")
    if os.path.exists(forbidden) and os.path.exists(target) and os.path.samefile(forbidden, target):  # noqa: PTH110, PTH121
        raise WrongUse(f"{path} is the journal itself.", hint="Name another file to write to.")
    if os.path.exists(target) and not os.path.isfile(target):  # noqa: PTH110, PTH113
        # A pipe or a device cannot be replaced.
        with open(target, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            yield file
        return
    new = f"{target}.{os.getpid()}.new"
    try:
        with open(new, "x", encoding="utf-8", newline="") as file:  # noqa: PTH123
            yield file
        os.replace(new, target)  # noqa: PTH105
    except OSError as error:
        raise RigFailure(
            f"Cannot write {path}: {error.strerror}.", hint="See that its folder may be written to and has room."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)  # noqa: PTH108


def read_text(path: Path, make_error: ErrorFactory) -> str:
    """Return the text of the file `path`."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise make_error(f"{path} cannot be read: {error}.") from error


def parse_json(kind: type[T], text: str, where: str, make_error: ErrorFactory, schema: int | None = None) -> T:
    """Return the JSON `text` as a `kind`, if it is valid and has the number `schema`; `where` names it in errors."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise make_error(f"{where} cannot be read: {error}.") from error
    if schema is not None:
        actual = document.pop("schema", None) if isinstance(document, dict) else None
        if actual != schema:
            raise make_error(f"{where} is of schema {actual}, this evenkeel reads {schema}.")
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(map(str, first["loc"])) or "all of it"
        raise make_error(f"{where} is not what was written: {location}: {first['msg'].lower()}.") from error
