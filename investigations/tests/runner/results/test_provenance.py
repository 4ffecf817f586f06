"""With what something was measured."""

from __future__ import annotations

import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.investigation_spec import Investigation, template
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.provenance import Provenance, provenance
from evenkeel_lab.runner.results.store import Store
from evenkeel_lab.runner.schedule import schedule

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """Return the folder of some code, somewhere in a repository."""
    place = tmp_path / "investigations" / "lab"
    place.mkdir(parents=True)
    (place / "code.py").write_text("")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return place


def test_what_a_session_writes_does_not_make_the_next_one_dirty(code: Path, tmp_path: Path) -> None:
    chapter = tmp_path / "investigations" / "study" / "bug"
    (tmp_path / "reports" / "study").mkdir(parents=True)
    chapter.mkdir(parents=True)
    for path in (chapter / "summary.json", chapter / "notebook.ipynb", tmp_path / "reports" / "study" / "bug.md"):
        path.write_text("")
    found = provenance("none", code)
    assert len(found.commit) == 40
    assert not found.dirty


@pytest.mark.parametrize("changed", ["investigations/lab/code.py", "Makefile", "investigations/x/investigation.toml"])
def test_anything_else_beside_the_commit_does(code: Path, tmp_path: Path, changed: str) -> None:
    (tmp_path / changed).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / changed).write_text("changed")
    assert provenance("none", code).dirty


def test_nothing_is_said_of_code_that_lies_in_no_repository(tmp_path: Path) -> None:
    found = provenance("none", tmp_path)
    assert (found.commit, found.dirty) == ("", False)


def test_a_session_says_with_what_it_went_on(tmp_path: Path) -> None:
    wanted, store = Investigation.model_validate(tomllib.loads(template("x"))), Store(tmp_path)

    def went_on(kernel: str) -> tuple[str, list[dict[str, Any]]]:
        store.begin("x", wanted, Provenance(kernel=kernel))
        found = Store(tmp_path).head().provenance
        return found.kernel, found.later

    # What has measured nothing begins now.
    assert went_on("1") == ("1", [])
    assert went_on("2") == ("2", [])
    first = next(schedule(wanted, 6))
    store.add(first, [Run(arm, 0, 1.0, 1, {}) for arm in first.arms])
    assert went_on("2") == ("2", [])
    assert went_on("3") == ("2", [{"kernel": "3"}])
    assert went_on("3") == ("2", [{"kernel": "3"}])
    assert went_on("2") == ("2", [{"kernel": "3"}, {"kernel": "2"}])
