"""Page of the seeds: statements with their rulings, from made-up studies."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec import Study
from evenkeel_lab.investigation_spec.seeds import FILE, Seeds, read_seeds
from evenkeel_lab.report.report_data import report_data_of
from evenkeel_lab.report.seeds import seeds_page

if TYPE_CHECKING:
    from pathlib import Path

CLAIM = {"source": "a seed", "chapter": "bug", "arm": "on", "figure": "p50"}
STUDY = Study.model_validate(
    {
        "title": "Callback overhead",
        "question": "What does it cost?",
        "method": "Duets.",
        "limits": ["One machine."],
        "chapters": ["bug", "labels"],
        "claims": [
            {**CLAIM, "says": "It is a third slower.", "between": [0.2, 0.5]},
            {**CLAIM, "says": "It makes no difference.", "between": [-0.05, 0.05]},
            {**CLAIM, "says": "Labels make it slower.", "between": [0.05, 9.0], "chapter": "labels"},
        ],
        "unmeasured": [{"source": "a seed", "says": "It reloads.", "why": "It does not."}],
    }
)


def page(simulate: Any, *rows: dict[str, Any]) -> str:
    seeds = Seeds.model_validate({"about": "Documents.", "seeds": [{"title": "A seed", "rows": rows}]})
    data = report_data_of(replace(simulate(effects={"on": 1.3, "again": 1.0}), name="study/bug"))
    return seeds_page(seeds, {"study": STUDY}, {"study": {"bug": data}})


def of(*says: str) -> list[dict[str, str]]:
    return [{"study": "study", "says": each} for each in says]


def test_a_statement_has_the_ruling_and_the_interval_of_its_claim(simulate: Any) -> None:
    text = page(simulate, {"says": "Slower by a third.", "claims": of("It is a third")})
    row = next(line for line in text.splitlines() if "Slower by a third." in line)
    assert "**confirmed**" in row
    assert re.search(r"p50 \+\d+\.\d % \[", row)
    assert "[study/bug](study/bug.md)" in row
    assert "1 statements: 1 confirmed." in text


def test_a_statement_of_several_claims_has_all_of_their_rulings(simulate: Any) -> None:
    text = page(simulate, {"says": "Both.", "claims": of("It is a third", "It makes no", "It reloads")})
    assert "**confirmed**, **refuted**, **ruled out**" in text


def test_a_statement_about_a_chapter_without_results_is_to_be_done(simulate: Any) -> None:
    text = page(simulate, {"says": "Labels.", "claims": of("Labels make")})
    row = next(line for line in text.splitlines() if "Labels." in line)
    assert "**to be done**" in row
    assert "study/labels" in row
    assert "study/labels.md" not in row


@pytest.mark.parametrize(("field", "ruling"), [("shown", "shown"), ("ruled", "ruled out"), ("open", "to be done")])
def test_a_statement_without_a_claim_says_where_or_why(simulate: Any, field: str, ruling: str) -> None:
    assert f"**{ruling}**" in page(simulate, {"says": "A list.", field: "a page"})


@pytest.mark.parametrize("says", ["It is as slow", "It"])
def test_a_reference_to_no_claim_or_to_several_is_refused(simulate: Any, says: str) -> None:
    with pytest.raises(WrongUse, match=r"seeds\.toml: \d statements of 'study'"):
        page(simulate, {"says": "Slower.", "claims": of(says)})


def test_a_statement_has_exactly_one_answer(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('about = "x"\n[[seeds]]\ntitle = "t"\n[[seeds.rows]]\nsays = "s"\n', encoding="utf-8")
    with pytest.raises(WrongUse, match="exactly one of"):
        read_seeds(tmp_path)


def test_a_project_without_the_file_has_no_page(tmp_path: Path) -> None:
    assert read_seeds(tmp_path) is None
