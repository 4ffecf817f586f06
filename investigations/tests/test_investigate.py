"""`evenkeel investigate`: on functions, so that no proxy has to be booted."""

from __future__ import annotations

import io
import json
import shutil
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from evenkeel_lab.cli.investigate.command import investigate
from evenkeel_lab.cli.investigate.progress_view import View
from evenkeel_lab.errors import RIG_INVALID, WrongUse
from evenkeel_lab.investigation_spec import Investigation, template
from evenkeel_lab.runner.function import call
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.analysis import judge_session
from evenkeel_lab.runner.results.store import Store
from evenkeel_lab.runner.results.summary import read
from evenkeel_lab.runner.schedule import ScheduledPair

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.investigation_spec import Arm

FUNCTION = "evenkeel_lab.bench.verdicts.simulation:median"
STUDY = 'title = "x"\nquestion = "Why?"\nmethod = "x"\nlimits = ["x"]\n'


def told(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.chdir(folder)
    return CliRunner().invoke(investigate, list(arguments))


def write(folder: Path, effect: float) -> None:
    place = folder / "investigations" / "simulated"
    place.mkdir(parents=True)
    place.joinpath("investigation.toml").write_text(
        f"""
        title = "Simulated"
        question = "Is it slower?"
        hypothesis = "It is."
        baseline = "plain"
        [arms.plain]
        about = "a simulation"
        subject = "function"
        function = "{FUNCTION}"
        [arms.slower]
        about = "a slower one"
        subject = "function"
        function = "{FUNCTION}"
        arguments = {{ effect = {effect} }}
        [figures.value]
        margin = 0.05
        primary = true
        """
    )


def write_study(folder: Path) -> Path:
    """Write a study with a single chapter, `first`."""
    write(folder, 0.3)
    study = folder / "investigations" / "study"
    study.mkdir()
    (folder / "investigations" / "simulated").rename(study / "first")
    return study


def test_an_investigation_is_run_judged_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 0.3)
    answer = told(tmp_path, monkeypatch, "simulated", "--pairs", "8")
    assert answer.exit_code == 0, answer.output
    assert "slower against plain, 6 pairs" in answer.stdout
    assert "material" in answer.stdout
    document = json.loads(told(tmp_path, monkeypatch, "simulated", "--quick", "--fresh", "--json").stdout)
    assert document["settled"]
    assert document["comparisons"][0]["pairs"] == 6
    # Neither was what the file asks for: each has a report, but beside its records.
    committed = tmp_path / "investigations" / "simulated" / "summary.json"
    assert not committed.exists()
    assert not (tmp_path / "reports").exists()
    assert len(list(tmp_path.glob("data/simulated/*/simulated.md"))) == 2
    assert told(tmp_path, monkeypatch, "simulated").exit_code == 0
    assert "**slower**" in (tmp_path / "reports" / "simulated.md").read_text()
    assert judge_session(read(committed).investigation, read(committed).done, 24).settled
    assert "Is it slower?" in told(tmp_path, monkeypatch, "--list").stdout


def test_an_arm_that_has_surely_missed_what_was_asked_of_it_is_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 0.3)
    place = tmp_path / "investigations" / "simulated"
    with (place / "investigation.toml").open("a") as file:
        file.write("\n[criteria.plain]\nvalue = 1e9\n[criteria.slower]\nvalue = 1e-9\n")
    answer = told(tmp_path, monkeypatch, "simulated", "--quick")
    assert answer.exit_code == 1, answer.output
    assert "missed" in answer.stdout
    document = json.loads(told(tmp_path, monkeypatch, "simulated", "--quick", "--json").stdout)
    assert [(one["arm"], one["outcome"]) for one in document["criteria"]] == [("plain", "kept"), ("slower", "missed")]
    (page,) = tmp_path.glob("data/simulated/*/simulated.md")
    assert "## Success criteria" in page.read_text()
    assert "**missed**" in page.read_text()


def test_what_is_asked_of_arms_cannot_be_changed_once_they_were_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 0.3)
    place = tmp_path / "investigations" / "simulated" / "investigation.toml"
    before = place.read_text()
    place.write_text(f"{before}\n[criteria.slower]\nvalue = 1e-9\n")
    assert told(tmp_path, monkeypatch, "simulated", "--quick").exit_code == 1
    place.write_text(f"{before}\n[criteria.slower]\nvalue = 1e9\n")
    answer = told(tmp_path, monkeypatch, "simulated", "--quick")
    assert answer.exit_code == 1
    assert "`criteria` has changed since" in answer.stderr
    answer = told(tmp_path, monkeypatch, "simulated", "--quick", "--fresh")
    assert (answer.exit_code, "has changed" in answer.stderr) == (0, False)


def test_a_figure_that_no_run_tells_has_no_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 0.3)
    with (tmp_path / "investigations" / "simulated" / "investigation.toml").open("a") as file:
        file.write("\n[criteria.slower]\np99 = 1\n")
    document = json.loads(told(tmp_path, monkeypatch, "simulated", "--quick", "--json").stdout)
    (found,) = document["criteria"]
    assert (found["outcome"], found["mean"], found["interval"], found["pairs"]) == ("unknown", None, None, 0)


def test_the_chapters_of_a_study_are_run_and_one_that_lies_elsewhere_by_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path)
    (study / "study.toml").write_text(STUDY + 'chapters = ["first"]\n')
    answer = told(tmp_path, monkeypatch, "study", "--json")
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["chapters"]["study/first"]["settled"]
    assert (study / "first" / "summary.json").exists()
    assert "(study/first.md)" in (tmp_path / "reports" / "study.md").read_text()
    assert "Why?" in told(tmp_path, monkeypatch, "--list").stdout
    (study / "study.toml").unlink()
    monkeypatch.chdir(study)
    assert CliRunner().invoke(investigate, ["first", "--quick"]).exit_code == 0


def test_of_a_study_a_first_impression_takes_as_many_pairs_as_there_is_time_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path)
    (study / "second").mkdir()
    (study / "second" / "investigation.toml").write_text((study / "first" / "investigation.toml").read_text())
    (study / "study.toml").write_text(STUDY + 'chapters = ["second", "first"]\nquick = ["first"]\n')
    answer = told(tmp_path, monkeypatch, "study", "--quick")
    assert answer.exit_code == 0, answer.output
    page = tmp_path / "data" / "study" / "quick" / "study.md"
    *_, chapter, now, at_length, path = answer.stdout.splitlines()
    assert path == str(page)
    assert chapter == "Simulated, value against plain"
    assert now.split()[:2] == ["slower", "now"]
    assert now.rstrip().endswith("material")
    assert at_length.split() == ["at", "length", "not", "measured", "yet"]
    assert "(study/first.md)" in page.read_text()
    assert "24 pairs" in (page.parent / "study" / "first.md").read_text()
    assert "](study/second.md)" not in page.read_text()
    assert not (tmp_path / "reports").exists()


def test_a_first_impression_that_is_not_to_be_believed_ends_with_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path)
    (study / "study.toml").write_text(STUDY + 'chapters = ["first"]\n')

    async def limited(name: str, arm: Arm, seed: int) -> Run:
        return replace(await call(name, arm, seed), limited=("a gate",) if seed % 3 == 0 else ())

    monkeypatch.setattr("evenkeel_lab.runner.session.call", limited)
    answer = told(tmp_path, monkeypatch, "study", "--quick")
    assert answer.exit_code == RIG_INVALID
    *_, now, at_length, why, _ = answer.stdout.splitlines()
    assert now.rstrip().endswith("material (invalid)")
    assert at_length.split()[:2] == ["at", "length"]
    assert why.startswith("  invalid: gates: ")


def test_a_first_impression_of_a_study_ends_with_what_was_measured_at_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path)
    (study / "study.toml").write_text(STUDY + 'chapters = ["first"]\n')
    assert told(tmp_path, monkeypatch, "study").exit_code == 0
    *_, now, at_length, _ = told(tmp_path, monkeypatch, "study", "--quick").stdout.splitlines()
    assert now.split()[-1] == at_length.split()[-1] == "material"


def test_a_new_investigation_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 0.3)
    answer = told(tmp_path, monkeypatch, "new", "mine")
    place = tmp_path / "investigations" / "mine"
    assert answer.stdout.splitlines() == [
        str(place / name) for name in ("investigation.toml", "README.md", "notebook.py")
    ]
    for name in ("mine", "No Name", "index", "new", "../outside"):
        again = told(tmp_path, monkeypatch, "new", name)
        assert isinstance(again.exception, WrongUse)
    assert not (tmp_path / "investigations" / "No Name").exists()
    # A question with [markup], and an invalid file: the others are listed all the same.
    (place / "investigation.toml").write_text(template("mine").replace("Does it", "[Does] it"))
    (tmp_path / "investigations" / "broken").mkdir()
    (tmp_path / "investigations" / "broken" / "investigation.toml").write_text("nonsense")
    listed = told(tmp_path, monkeypatch, "--list")
    assert listed.exit_code == 0
    assert "[Does] it make a difference?" in listed.stdout
    assert "cannot be read" in listed.stdout
    found = json.loads(told(tmp_path, monkeypatch, "--list", "--json").stdout)
    assert set(found["questions"]) == {"simulated", "mine"}
    assert set(found["broken"]) == {"broken"}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [(("simulatd",), "Did you mean simulated?"), (("simulated", "--litellm", "1.83"), "1.83")],
)
def test_wrong_use_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], error: str
) -> None:
    write(tmp_path, 0.3)
    answer = told(tmp_path, monkeypatch, *arguments)
    assert isinstance(answer.exception, WrongUse)
    assert error in str(answer.exception)


def test_what_cannot_be_read_elsewhere_keeps_no_chapter_from_being_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path)
    (study / "second").mkdir()
    (study / "second" / "investigation.toml").write_text((study / "first" / "investigation.toml").read_text())
    (study / "study.toml").write_text(STUDY + 'chapters = ["second", "first"]\n')
    # It opens what is measured last.
    (study / "notebook.py").write_text(
        '# %%\nfrom evenkeel_lab.notebook import investigation\n\ninvestigation("study/first").verdicts\n'
    )
    other = tmp_path / "investigations" / "other"
    other.mkdir()
    (other / "investigation.toml").write_text("nonsense")
    (other / "summary.json").write_text("{}")
    answer = told(tmp_path, monkeypatch, "study")
    assert isinstance(answer.exception, WrongUse)
    assert "other" in str(answer.exception)
    assert (study / "second" / "summary.json").exists()
    assert (study / "first" / "summary.json").exists()
    shutil.rmtree(other)
    answer = told(tmp_path, monkeypatch, "study")
    assert answer.exit_code == 0, answer.output
    assert (study / "notebook.ipynb").exists()


def test_a_study_is_found_by_its_folder_and_one_that_cannot_be_read_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path)
    (study / "study.toml").write_text(STUDY + 'chapters = ["first"]\n')
    assert told(tmp_path, monkeypatch, "investigations/study/").exit_code == 0
    (study / "study.toml").write_text(STUDY + 'chapters = ["frist"]\n')
    for name in ("study", "study/first", "study/frist"):
        assert "no chapter 'frist'" in str(told(tmp_path, monkeypatch, name).exception)


def test_one_outside_of_a_project_leaves_its_records_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 0.3)
    (tmp_path / "investigations" / "simulated").rename(tmp_path / "mine")
    assert told(tmp_path, monkeypatch, "mine").exit_code == 0
    assert len(list(tmp_path.glob("data/mine/*/mine.md"))) == 1


def test_nobody_measures_where_somebody_does_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 0.3)
    assert told(tmp_path, monkeypatch, "simulated").exit_code == 0
    (place,) = (tmp_path / "data" / "simulated").iterdir()
    before = (place / "pairs.jsonl").read_bytes()
    with Store(place).claimed():
        answer = told(tmp_path, monkeypatch, "simulated", "--fresh")
    assert isinstance(answer.exception, WrongUse)
    assert "is being measured already" in str(answer.exception)
    assert (place / "pairs.jsonl").read_bytes() == before


@pytest.mark.parametrize("on_terminal", [True, False])
def test_estimates_and_reasons_of_invalid_runs_are_shown_after_each_pair(*, on_terminal: bool) -> None:
    shown = io.StringIO()
    investigation = Investigation.model_validate(tomllib.loads(template("x")))
    done: dict[str, list[Run]] = {}
    with View(Console(file=shown, force_terminal=on_terminal, width=120), investigation) as view:
        for number in (1, 2, 3):
            scheduled = ScheduledPair(number, ("off", "on"), seed=number)
            done[scheduled.name] = [
                Run("off", 0, 1.0, 100, {"p50": 1.0}),
                Run("on", 0, 1.0, 100, {"p50": 1.2 + number / 1000}, limited=("the mock was busy",) * (number == 3)),
            ]
            view.pair_done(scheduled, done[scheduled.name], judge_session(investigation, done, 6), left=300.0)
    assert "pair 3 of 24, 5 min left" in shown.getvalue()
    assert "on against off" in shown.getvalue()
    assert "the mock was busy" in shown.getvalue()
