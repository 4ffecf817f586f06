"""Folders of the runs that a path names: one run, those of a scheduled pair, or all of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.runner.measurement.run import FILE
from evenkeel_load.records import folder as names

if TYPE_CHECKING:
    from pathlib import Path

# Folders of the warm-up; the pairs of a session count from 1.
WARM_UP = "000+"


def find_runs(path: Path) -> list[Path]:
    """Return the folders of records below `path`, in the order in which they ran."""
    if not path.exists():
        raise WrongUse(
            f"There is no {path}.", hint="Name a folder of `evenkeel load` or of an investigation's session."
        )
    if not path.is_dir():
        raise WrongUse(f"{path} is no folder.", hint="Name the folder that contains the records.")
    if _is_run(path):
        return [path]
    for pattern in ("*", "*/*"):
        folders = [
            folder
            for folder in sorted(path.glob(pattern))
            if folder.is_dir() and _is_run(folder) and not folder.relative_to(path).parts[0].startswith(WARM_UP)
        ]
        # Only finished runs count, unless there is none.
        finished = [folder for folder in folders if (folder / FILE).exists()]
        if folders:
            return finished or folders
    failure = names.read_json(path / names.FAILURE)
    if failure:
        raise WrongUse(f"{path} holds no records: {failure.get('what', '')}", hint=str(failure.get("hint", "")))
    raise WrongUse(
        f"{path} holds no records.",
        hint="Name a folder of `evenkeel load`, or of a session: data/NAME/DIGEST, or a folder in it.",
    )


def _is_run(folder: Path) -> bool:
    return (folder / names.RECORDS).exists() or (folder / FILE).exists() or any(folder.glob(names.PARTS))
