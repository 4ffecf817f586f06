"""Committed notebooks, and the template of new ones."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jupytext
import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from click.testing import CliRunner

from evenkeel_lab.cli.investigate.command import investigate
from evenkeel_lab.errors import CellFailed
from evenkeel_lab.investigation_spec import template
from evenkeel_lab.notebook.files import executed
from evenkeel_lab.notebook.template import first_notebook
from evenkeel_lab.runner.results.summary import write

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_lab.runner.results.summary import Summary

INVESTIGATIONS = Path(__file__).parents[2]
COMMITTED = sorted(path.parent for path in INVESTIGATIONS.glob("*/investigation.toml"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def figures_of(text: str) -> int:
    """Run a notebook's cells in this process, which has the imports already. Return the number of plots drawn."""
    drawn = 0

    def show() -> None:
        nonlocal drawn
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
            drawn += 1
        plt.close("all")

    notebook = jupytext.reads(text, fmt="py:percent")
    names: dict[str, Any] = {}
    with (
        mpl.rc_context({"backend": "agg"}),
        pd.option_context("display.max_rows", 60),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(plt, "show", show)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, "notebook.py", "exec"), names)  # noqa: S102
    return drawn


def test_the_first_notebook_draws_every_plot_of_a_full_session(folder: Path, ablated: Summary) -> None:
    write(ablated, folder / "summary.json")
    assert figures_of(first_notebook()) == 4


def test_the_first_notebook_fits_a_plain_investigation(folder: Path, case: Callable[..., Summary]) -> None:
    write(case(), folder / "summary.json")
    assert figures_of(first_notebook()) == 3


def test_the_first_notebook_fits_a_session_without_a_verdict(folder: Path, case: Callable[..., Summary]) -> None:
    write(case(pairs=2), folder / "summary.json")
    assert figures_of(first_notebook()) == 3


def test_the_first_notebook_fits_a_session_that_measures_a_function(folder: Path, case: Callable[..., Summary]) -> None:
    arm = {"about": "x", "subject": "function", "function": "x:y"}
    write(
        case(
            arms={"off": arm, "on": arm},
            figures={"value": {"margin": 0.05, "primary": True}},
        ),
        folder / "summary.json",
    )
    assert figures_of(first_notebook()) == 2


def test_the_noise_floors_notebook_fits_its_session(folder: Path, case: Callable[..., Summary]) -> None:
    names = ("p50", "mean", "throughput", "cpu_ms", "error_rate")
    judged = {name: {"margin": 0.05, "primary": name == "p50"} for name in names}
    write(case(arms={"off": {"about": "x"}}, figures=judged, limited=(2, "again")), folder / "summary.json")
    assert figures_of((INVESTIGATIONS / "noise_floor" / "notebook.py").read_text()) == 4


def test_a_new_investigation_has_a_notebook(folder: Path) -> None:
    (folder / "investigations" / "old").mkdir(parents=True)
    (folder / "investigations" / "old" / "investigation.toml").write_text(template("old"))
    made = CliRunner().invoke(investigate, ["new", "mine"])
    assert str(folder / "investigations" / "mine" / "notebook.py") in made.output.split()
    assert (folder / "investigations" / "mine" / "notebook.py").read_text() == first_notebook()


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name)
def test_every_investigation_has_a_notebook(path: Path) -> None:
    notebook = jupytext.reads((path / "notebook.py").read_text(), fmt="py:percent")
    assert notebook.cells[0].cell_type == "markdown"
    # The executed notebook is committed as soon as the investigation is measured.
    assert (path / "notebook.ipynb").is_file() == (path / "summary.json").is_file()


@pytest.mark.slow
def test_the_first_notebook_is_executed_the_same_way_twice(folder: Path, ablated: Summary) -> None:
    write(ablated, folder / "summary.json")
    (folder / "notebook.py").write_text(first_notebook())
    first = executed(folder)
    assert executed(folder) == first
    pictures = [
        b64decode(output["data"]["image/png"])
        for cell in json.loads(first)["cells"]
        for output in cell.get("outputs", [])
        if "image/png" in output["data"]
    ]
    assert len(pictures) == 4
    assert not any(b"matplotlib" in picture for picture in pictures)


@pytest.mark.slow
def test_an_error_of_the_lab_in_a_notebook_keeps_its_message(folder: Path, ablated: Summary) -> None:
    write(ablated, folder / "summary.json")
    (folder / "notebook.py").write_text("# %%\nfrom evenkeel_lab.notebook import investigation\ninvestigation('x')\n")
    with pytest.raises(CellFailed, match="WrongUse: There is no investigation 'x'"):
        executed(folder)
