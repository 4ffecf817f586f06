"""A profile to be looked at: a page of markdown and its flame graphs beside the records."""

from __future__ import annotations

from pathlib import Path

from evenkeel_lab.profiling.profile import FILE, read, write
from evenkeel_lab.profiling.section import figures, section
from evenkeel_lab.profiling.take import FOLDER

PAGE = Path(FOLDER) / "profile.md"


def publish(store: Path, committed: Path | None) -> None:
    """Draw the profile of a session's folder; lay it into the investigation's folder, too, if it is to last."""
    profile = read(store / FILE)
    for name, drawn in figures(profile).items():
        (store / FOLDER / name).write_text(drawn, encoding="utf-8")
    (store / PAGE).write_text("\n".join(section(profile)) + "\n", encoding="utf-8")
    if committed is not None:
        write(profile, committed / FILE)
