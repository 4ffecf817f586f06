"""A file that rows are written to: it is there when all of them are, and until then whatever it was before."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, TextIO

from evenkeel_lab.errors import RigFailure, WrongUse

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def whole(path: str, *, but: str) -> Iterator[TextIO]:
    """Let a file be written, and put it in its place at the end; `but` is what it must not be."""
    place = os.path.realpath(path)
    # Not the paths' own methods, which raise for a name that is too long.
    if not os.path.isdir(os.path.dirname(place)):  # noqa: PTH112, PTH120
        raise WrongUse(f"There is no folder for {path}.", cure="Make it, or name a file elsewhere.")
    if os.path.exists(but) and os.path.exists(place) and os.path.samefile(but, place):  # noqa: PTH110, PTH121
        raise WrongUse(f"{path} is the journal itself.", cure="Name another file to write to.")
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
            f"Cannot write {path}: {error.strerror}.", cure="See that its folder may be written to and has room."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)  # noqa: PTH108
