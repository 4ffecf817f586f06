from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import NotMeasured, WrongUse
from evenkeel_lab.investigation_spec import template
from evenkeel_lab.notebook import MeasuredInvestigation, investigation
from evenkeel_lab.runner.results.summary import write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evenkeel_lab.runner.results.summary import Summary


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one investigation that was not measured."""
    folder = tmp_path / "investigations" / "case"
    folder.mkdir(parents=True)
    (folder / "investigation.toml").write_text(template("case"))
    monkeypatch.chdir(tmp_path)
    return folder


def test_an_investigation_is_opened_by_name_by_folder_and_from_its_folder(
    project: Path, ablated: Summary, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(ablated, project / "summary.json")
    assert investigation("case").summary.done == investigation(project).summary.done
    monkeypatch.chdir(project)
    opened = investigation()
    assert opened.investigation.title == "A case"
    assert len(opened.runs) == sum(map(len, ablated.done.values()))


def test_a_quick_session_is_opened_by_its_folder(project: Path, case: Callable[..., Summary]) -> None:
    quick = project.parents[1] / "data" / "case" / "0123"
    quick.mkdir(parents=True)
    write(case(pairs=6), quick / "summary.json")
    assert investigation("data/case/0123").runs["pair"].max() == 6


def test_an_unmeasured_investigation_is_an_error_with_the_command_to_run(project: Path) -> None:
    with pytest.raises(NotMeasured, match="'case' has no summary") as refused:
        investigation("case")
    assert "evenkeel investigate case" in refused.value.hint


def test_an_unknown_investigation_is_an_error_with_the_nearest_name(project: Path) -> None:
    with pytest.raises(WrongUse, match="no investigation 'csae'") as refused:
        investigation("csae")
    assert refused.value.hint == "Did you mean case?"


def test_a_measured_investigation_displays_its_verdicts(ablated: Summary) -> None:
    unsettled = {"on": {"costs": [1, 2], "steady": False}}
    opened = MeasuredInvestigation(replace(ablated, warm_up=unsettled))
    shown = opened._repr_markdown_()
    assert shown.startswith("**A case.** Is it slower?\n")
    assert "- on against off, p50, 7 pairs: +20.1 % [+19.4, +20.7], margin 5.0 %: material" in shown
    assert "again (an equal proxy) against off" in shown
    assert "- on had not settled" in shown
    # A notebook also shows the `repr`, which must not list all runs.
    assert len(repr(opened)) < 1000


def test_an_invalid_session_displays_that_first(case: Callable[..., Summary]) -> None:
    summary = case()
    for name, runs in summary.done.items():
        if "again" in name:
            slow = {"p50": 150.0}
            runs[:] = [  # type: ignore[index]
                replace(run, figures=run.figures | slow) if run.arm == "again" else run for run in runs
            ]
    shown = MeasuredInvestigation(summary)._repr_markdown_().splitlines()
    assert shown[2] == "- Invalid: noise: p50 differs between two proxies that are the same"


def test_a_comparison_without_a_valid_pair_has_no_verdict(case: Callable[..., Summary]) -> None:
    assert "on against off: no valid pair" in repr(MeasuredInvestigation(case(pairs=0)))
