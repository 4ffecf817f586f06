"""Which runs a path names: one, those of a meeting, or all of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.runner.measurement.run import FILE
from evenkeel_load.records import folder as names

if TYPE_CHECKING:
    from pathlib import Path

# What subjects were warmed up with; its pairs count from 1.
WARM_UP = "000+"


def runs(path: Path) -> list[Path]:
    """Return the folders of records that a path names, in the order in which a session ran them."""
    if not path.exists():
        raise WrongUse(f"There is no {path}.", hint="Name a folder that `evenkeel load` or a session has made.")
    if not path.is_dir():
        raise WrongUse(f"{path} is no folder.", hint="Name the folder that its records lie in.")
    if _is_run(path):
        return [path]
    for pattern in ("*", "*/*"):
        found = [
            folder
            for folder in sorted(path.glob(pattern))
            if folder.is_dir() and _is_run(folder) and not folder.relative_to(path).parts[0].startswith(WARM_UP)
        ]
        # One that a session has not finished, or never will, is no run yet.
        finished = [folder for folder in found if (folder / FILE).exists()]
        if found:
            return finished or found
    failure = names.read_json(path / names.FAILURE)
    if failure:
        raise WrongUse(f"{path} holds no records: {failure.get('what', '')}", hint=str(failure.get("hint", "")))
    raise WrongUse(
        f"{path} holds no records.",
        hint="Name a folder that `evenkeel load` has made, or of a session: data/NAME/DIGEST, or a folder in it.",
    )


def _is_run(folder: Path) -> bool:
    return (folder / names.RECORDS).exists() or (folder / FILE).exists() or any(folder.glob(names.PARTS))
