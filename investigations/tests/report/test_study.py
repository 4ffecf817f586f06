"""Page of a study: results of chapters, claims, and cures."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.cli import cli
from evenkeel_lab.investigation_spec import Study
from evenkeel_lab.report.report_data import report_data_of
from evenkeel_lab.report.study import study_page
from evenkeel_lab.runner.results.summary import write

if TYPE_CHECKING:
    from pathlib import Path

STUDY: dict[str, Any] = {
    "title": "Callback overhead",
    "question": "What does it cost?",
    "method": "Duets.",
    "limits": ["One machine."],
    "chapters": ["bug", "fix", "later"],
}
TOML = """
title = "What a callback costs"
question = "Is it slower?"
hypothesis = "It is not."
baseline = "off"
[arms.off]
about = "without callbacks"
[arms.on]
about = "with one"
prometheus = "stock"
[figures.p50]
margin = 0.05
primary = true
[session]
looks = [6]
"""


def finding(chapter: str, figure: str = "p50", arm: str = "on", **more: Any) -> dict[str, Any]:
    return {"chapter": chapter, "arm": arm, "figure": figure} | more


def claim(says: str, between: tuple[float, float], chapter: str = "bug", **more: Any) -> dict[str, Any]:
    return finding(chapter, says=says, between=between, source="a seed", **more)


def page_of_study(simulate: Any, effects: dict[str, float], **more: Any) -> str:
    by_chapter = {
        chapter: report_data_of(replace(simulate(effects={"on": effect, "again": 1.0}), name=f"study/{chapter}"))
        for chapter, effect in effects.items()
    }
    return study_page("study", Study.model_validate(STUDY | more), by_chapter).markdown


def rows(page: str, title: str) -> list[list[str]]:
    part = page.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_evidence_has_a_row_for_each_comparison(simulate: Any) -> None:
    page = page_of_study(simulate, {"fix": 1.0, "bug": 1.5})
    assert page.startswith("# Callback overhead\n")
    evidence = rows(page, "Evidence")
    bug, fix, later = (next(row for row in evidence if name in row[0]) for name in ("bug", "fix", "later"))
    assert bug[:3] == ["[bug](study/bug.md): What a callback costs", "on against off", "p50"]
    assert bug[3].startswith("+")
    assert bug[4] == "**material**"
    assert fix[4] == "**no measurable difference**"
    assert later[4] == "not measured yet"


def test_the_legend_names_what_functions_measure_by_chapter(simulate: Any) -> None:
    arm = {"about": "x", "subject": "function", "function": "evenkeel_lab.bench.verdicts.simulation:median"}
    measured = {"bug": "reads", "fix": "writes", "later": "reads"}
    by_chapter = {}
    for chapter, about in measured.items():
        value = {"margin": 0.05, "primary": True, "about": about}
        arms = {"off": arm, "on": arm | {"arguments": {"effect": 0.1}}}
        by_chapter[chapter] = report_data_of(simulate({"arms": arms, "figures": {"value": value}}))
    study = Study.model_validate(STUDY)
    assert "- **value**: in bug, later, reads; in fix, writes\n" in study_page("study", study, by_chapter).markdown
    assert "- **value**: reads\n" in study_page("study", study, {"bug": by_chapter["bug"]}).markdown


def test_the_answer_quotes_measured_values(simulate: Any) -> None:
    answer = "The p50 is higher ({bug: on, p50}), and {later: on, p50} later.\n\nThe same twice: {bug: again, p50}."
    page = page_of_study(simulate, {"bug": 1.3}, answer=answer)
    assert re.search(r"\nThe p50 is higher \(\+\d+\.\d % \[.*\]\), and not measured yet later\.\n\nThe same", page)
    assert "{" not in page


def test_a_figure_shows_chosen_effects_beside_those_of_a_source(simulate: Any) -> None:
    rows = [
        finding("bug", label="the bug", published=0.4),
        finding("later", label="not measured"),
    ]
    other = [finding("bug", figure="throughput", label="the bug")]
    shown = {"name": "versions", "title": "By version", "groups": [{"heading": "median", "rows": rows}]}
    by_chapter = {"bug": report_data_of(replace(simulate(effects={"on": 1.5, "again": 1.0}), name="study/bug"))}
    page = study_page("study", Study.model_validate(STUDY | {"figures": [shown]}), by_chapter)
    assert "![By version: median, the bug: +" in page.markdown
    assert "Square: measured. Diamond: as published." in page.figures["versions"]
    assert "not measured" not in page.figures["versions"]
    unmeasured = {**shown, "groups": [{"heading": "median", "rows": rows[1:]}]}
    page = study_page("study", Study.model_validate(STUDY | {"figures": [unmeasured]}), by_chapter)
    assert "versions" not in page.figures
    mixed = {**shown, "groups": [{"heading": "both", "rows": [*rows, *other]}]}
    with pytest.raises(ValueError, match="one metric"):
        Study.model_validate(STUDY | {"figures": [mixed]})


def test_an_effect_can_be_quoted_as_a_share(simulate: Any) -> None:
    claims = [claim("a fiftieth", (-0.985, -0.975), form="share"), claim("a tenth", (-0.91, -0.89), form="share")]
    page = page_of_study(simulate, {"bug": 0.02}, answer="It is {bug: on, p50 as a share} of it.", claims=claims)
    assert re.search(r"\nIt is (1\.9\d|2\.0) % \[[12]\.\d+, 2\.\d+\] of it\.\n", page)
    lines = rows(page, "Published claims")
    assert [row[1] for row in lines] == [
        "[bug](study/bug.md), on against off: p50 as a share, 1.5 to 2.5",
        "[bug](study/bug.md), on against off: p50 as a share, 9 to 11",
    ]
    # Claims about shares have no direction, so another size refutes them.
    assert [row[4] for row in lines] == ["**confirmed**", "**refuted**"]
    assert lines[0][2].startswith(("1.9", "2.0"))


def test_an_effect_can_be_quoted_with_its_direction(simulate: Any) -> None:
    page = page_of_study(simulate, {"bug": 1.5}, answer="The median is {bug: on, p50 higher}.")
    assert re.search(r"\nThe median is [45]\d\.\d % higher \[[45]\d\.\d, [45]\d\.\d\]\.\n", page)
    page = page_of_study(simulate, {"bug": 4.0}, answer="It takes {bug: on, p50 as a multiple} times as long.")
    assert re.search(r"\nIt takes (3\.\d+|4(\.\d+)?) \[3\.\d+, 4\.\d+\] times as long\.\n", page)
    page = page_of_study(simulate, {"bug": 0.5}, answer="The median is {bug: on, p50 lower}.")
    assert re.search(r"\nThe median is [45]\d\.\d % lower \[[45]\d\.\d, [45]\d\.\d\]\.\n", page)
    # Measured again, an effect may go the other way: then it keeps its sign.
    page = page_of_study(simulate, {"bug": 1.5}, answer="The median is {bug: on, p50 lower}.")
    assert re.search(r"\nThe median is \+[45]\d\.\d % \[", page)


def test_an_effect_can_be_quoted_as_a_factor(simulate: Any) -> None:
    claims = [claim("twice as fast", (-0.55, -0.45), form="factor"), claim("thrice", (-0.7, -0.65), form="factor")]
    page = page_of_study(
        simulate, {"bug": 0.5}, answer="It is {bug: on, p50 as a factor} times as fast.", claims=claims
    )
    assert re.search(r"\nIt is (1\.9\d|2\.0\d?|2) \[1\.\d+, 2\.\d+\] times as fast\.\n", page)
    lines = rows(page, "Published claims")
    assert [row[1].partition(": ")[2] for row in lines] == [
        "p50 as a factor, 1.82 to 2.22",
        "p50 as a factor, 2.86 to 3.33",
    ]
    assert [row[4] for row in lines] == ["**confirmed**", "**refined**"]


def test_the_value_of_one_arm_can_be_quoted(simulate: Any) -> None:
    page = page_of_study(simulate, {"bug": 1.5}, answer="{bug: off, p50 as measured}, then {bug: on, p50 as measured}.")
    amount = r"[\d.]+ ms \[[\d.]+ ms, [\d.]+ ms\]"
    assert re.search(rf"\n{amount}, then {amount}\.\n", page)


def test_a_claimed_range_can_be_open_at_one_end(simulate: Any) -> None:
    claims = [claim("slower", (0.05, 99.0)), claim("faster", (-0.99, -0.05)), claim("either", (-0.05, 0.05))]
    lines = rows(page_of_study(simulate, {"bug": 1.5}, claims=claims), "Published claims")
    assert [row[1].partition(": ")[2] for row in lines] == ["p50 +5 or more", "p50 -5 or less", "p50 -5 to +5"]


def test_an_untested_claim_is_open_with_its_reason(simulate: Any) -> None:
    statement = {"source": "another seed", "says": "Use ten.", "why": "There are none, see {bug: on, p50}."}
    page = page_of_study(simulate, {"bug": 1.5}, unmeasured=[statement])
    (row,) = rows(page, "Published claims")
    assert (row[0], row[4]) == ("Use ten.", "**open: not measured**")
    assert row[5].startswith("There are none, see +")
    assert "Sources of the claims: another seed." in page


def test_each_claim_has_a_verdict(simulate: Any) -> None:
    claims = [
        claim("half as slow again", (0.3, 0.7)),
        claim("twice as slow", (0.9, 1.1), why="Another machine."),
        claim("no difference", (-0.05, 0.05)),
        claim("no difference", (-0.05, 0.05), chapter="later"),
    ]
    lines = rows(page_of_study(simulate, {"bug": 1.5}, claims=claims), "Published claims")
    assert [row[3] for row in lines] == ["in it", "below it", "above it", ""]
    assert [row[4] for row in lines] == ["**confirmed**", "**refined**", "**refuted**", "**open: not measured yet**"]
    assert lines[1][1] == "[bug](study/bug.md), on against off: p50 +90 to +110"
    assert lines[1][5] == "Another machine."


def test_the_verdict_on_a_claim_is_marked_if_the_session_is_invalid(simulate: Any) -> None:
    data = report_data_of(replace(simulate(effects={"on": 1.5, "again": 2.0}), name="study/bug"))
    study = Study.model_validate(STUDY | {"claims": [claim("slower", (0.3, 0.7))]})
    page = study_page("study", study, {"bug": data}).markdown
    assert rows(page, "Published claims")[0][4] == "confirmed (the session is invalid)"
    assert rows(page, "Evidence")[0][4] == "**material (invalid)**"


def test_cures_are_ranked_by_their_certain_improvement(simulate: Any) -> None:
    cures = [
        finding("bug", does="Make it worse."),
        finding("later", does="Wait."),
        finding("fix", does="Mend it."),
        finding("fix", figure="p99", does="Nothing is known of it."),
    ]
    lines = rows(page_of_study(simulate, {"bug": 1.5, "fix": 0.5}, cures=cures), "Remedies")
    assert [row[0] for row in lines] == ["Mend it.", "Make it worse.", "Wait.", "Nothing is known of it."]
    assert [row[4] for row in lines[2:]] == ["not measured yet", "unknown"]


def test_cures_of_invalid_sessions_come_last(simulate: Any) -> None:
    by_chapter = {
        name: report_data_of(replace(simulate(effects=effects), name=f"study/{name}"))
        for name, effects in {"bug": {"on": 0.5, "again": 2.0}, "fix": {"on": 0.9, "again": 1.0}}.items()
    }
    cures = [finding(name, does=name) for name in by_chapter]
    page = study_page("study", Study.model_validate(STUDY | {"cures": cures}), by_chapter).markdown
    assert [row[0] for row in rows(page, "Remedies")] == ["fix", "bug"]


def test_a_quoted_name_may_contain_markup(simulate: Any) -> None:
    spec = {"arms": {name: {"about": name} for name in ("off", "on__", "on")}}
    data = report_data_of(replace(simulate(spec, effects={"on__": 1.5}), name="study/bug"))
    study = Study.model_validate(STUDY | {"answer": "It is *more*: {bug: on__, p50}."})
    assert re.search(r"\nIt is \\\*more\\\*: \+\d+", study_page("study", study, {"bug": data}).markdown)


def test_a_claim_may_compare_two_arms_without_the_baseline(simulate: Any) -> None:
    spec = {
        "arms": {name: {"about": name} for name in ("off", "on", "less")},
        "ablation": {"full": "on", "switches": {"part": {"about": "a part", "arm": "less"}}},
    }
    data = report_data_of(replace(simulate(spec, effects={"on": 1.5, "less": 1.2, "again": 1.0}), name="study/bug"))
    claims = [claim("a fifth less", (-0.25, -0.15), arm="less", against="on")]
    page = study_page("study", Study.model_validate(STUDY | {"claims": claims}), {"bug": data}).markdown
    row = rows(page, "Published claims")[0]
    assert row[1] == "[bug](study/bug.md), less against on: p50 -25 to -15"
    assert row[4] == "**confirmed**"


def test_the_limits_of_a_study_are_listed(simulate: Any) -> None:
    page = page_of_study(simulate, {"bug": 1.5})
    assert "## Limits\n\n- One machine.\n" in page
    caveat = "- The baseline was not measured against itself, so the size of the noise is unknown: [bug](study/bug.md"
    silent = report_data_of(replace(simulate({"session": {"looks": [6], "noise": False}}), name="study/bug"))
    assert caveat in " ".join(study_page("study", Study.model_validate(STUDY), {"bug": silent}).markdown.split())


def test_a_study_is_written_and_checked_with_its_chapters(
    tmp_path: Path, simulate: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "investigations" / "study"
    for chapter in ("bug", "fix"):
        (study / chapter).mkdir(parents=True)
        (study / chapter / "investigation.toml").write_text(TOML)
    summary = simulate()
    bare = replace(summary, name="study/bug", sketches={name: {} for name in summary.sketches})
    write(bare, study / "bug" / "summary.json")
    words = "".join(f"{name} = {value!r}\n" for name, value in STUDY.items() if name not in {"chapters", "limits"})
    (study / "study.toml").write_text(f'{words}limits = ["x"]\nchapters = ["bug", "fix"]\n')
    monkeypatch.chdir(tmp_path)

    assert cli(["report"]) == 0
    made = {str(path.relative_to(tmp_path / "reports")) for path in (tmp_path / "reports").rglob("*.*")}
    own = {"study/bug.md", "study/bug/forest.svg", "study/bug/order.svg"}
    assert made == {"index.md", "study.md", "study/answers.svg"} | own
    page, chapter = ((tmp_path / "reports" / name).read_text() for name in ("study.md", "study/bug.md"))
    assert "](study/bug.md)" in page
    assert "](study/answers.svg)" in page
    assert "](bug/forest.svg)" in chapter
    assert "evenkeel investigate study/bug --fresh" in chapter
    assert "| [What does it cost?](study.md) | " in (tmp_path / "reports" / "index.md").read_text()
    assert cli(["report", "--check"]) == 0
    assert cli(["report", "study", "--check"]) == 0

    (tmp_path / "reports" / "study" / "bug" / "order.svg").write_text("by hand")
    (tmp_path / "reports" / "study.md").unlink()
    capsys.readouterr()
    assert cli(["report", "study", "--check"]) == 1
    assert capsys.readouterr().out.splitlines() == ["reports/study/bug/order.svg: differs", "reports/study.md: missing"]
    assert cli(["report", "study/bug"]) == 0
    assert cli(["report", "--check"]) == 0
