"""The page of a book: what it says of its chapters, of others' claims, and of cures."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenkeel_lab.cli import cli
from evenkeel_lab.investigation_spec import Book
from evenkeel_lab.report.report_data import case_of
from evenkeel_lab.report.study import book_page
from evenkeel_lab.runner.results.summary import write

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

BOOK: dict[str, Any] = {
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


def said(simulate: Any, effects: dict[str, float], **more: Any) -> str:
    cases = {
        chapter: case_of(replace(simulate(effects={"on": effect, "again": 1.0}), name=f"book/{chapter}"))
        for chapter, effect in effects.items()
    }
    return book_page("book", Book.model_validate(BOOK | more), cases).markdown


def rows(page: str, title: str) -> list[list[str]]:
    part = page.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_answer_comes_first_chapter_by_chapter(simulate: Any) -> None:
    page = said(simulate, {"fix": 1.0, "bug": 1.5})
    title, _, first, *others = page.splitlines()
    assert title == "# Callback overhead"
    assert first.startswith("- [What a callback costs](book/bug.md), against off: on: **material**, p50 +")
    answers = " ".join(line.strip() for line in others[: others.index("## Question")])
    assert "(book/fix.md), against off: on: **no measurable difference**" in answers
    assert "- **later**: not measured yet." in answers


def test_what_functions_of_several_chapters_measure_is_told_by_chapter(simulate: Any) -> None:
    arm = {"about": "x", "subject": "function", "function": "evenkeel_lab.bench.verdicts.simulation:median"}
    measured = {"bug": "reads", "fix": "writes", "later": "reads"}
    cases = {}
    for chapter, about in measured.items():
        value = {"margin": 0.05, "primary": True, "about": about}
        arms = {"off": arm, "on": arm | {"arguments": {"effect": 0.1}}}
        cases[chapter] = case_of(simulate({"arms": arms, "figures": {"value": value}}))
    book = Book.model_validate(BOOK)
    assert "- **value**: in bug, later, reads; in fix, writes\n" in book_page("book", book, cases).markdown
    assert "- **value**: reads\n" in book_page("book", book, {"bug": cases["bug"]}).markdown


def test_the_answer_in_words_quotes_what_was_measured(simulate: Any) -> None:
    answer = "The p50 is higher ({bug: on, p50}), and {later: on, p50} later.\n\nThe same twice: {bug: again, p50}."
    page = said(simulate, {"bug": 1.3}, answer=answer)
    assert re.search(r"\nThe p50 is higher \(\+\d+\.\d % \[.*\]\), and not measured yet later\.\n\nThe same", page)
    assert "{" not in page


def test_a_figure_may_be_told_as_a_part_of_another(simulate: Any) -> None:
    claims = [claim("a fiftieth", (-0.985, -0.975), told="share"), claim("a tenth", (-0.91, -0.89), told="share")]
    page = said(simulate, {"bug": 0.02}, answer="It is {bug: on, p50 as a share} of it.", claims=claims)
    assert re.search(r"\nIt is (1\.9\d|2\.0) % \[[12]\.\d+, 2\.\d+\] of it\.\n", page)
    found = rows(page, "What others found")
    assert [row[1] for row in found] == [
        "[bug](book/bug.md), on against off: p50 as a share, 1.5 to 2.5",
        "[bug](book/bug.md), on against off: p50 as a share, 9 to 11",
    ]
    # Where every part of a whole points the same way, one of another size is another one.
    assert [row[4] for row in found] == ["**confirmed**", "**refuted**"]
    assert found[0][2].startswith(("1.9", "2.0"))


def test_a_figure_may_be_told_as_a_factor_as_speed_is(simulate: Any) -> None:
    claims = [claim("twice as fast", (-0.55, -0.45), told="factor"), claim("thrice", (-0.7, -0.65), told="factor")]
    page = said(simulate, {"bug": 0.5}, answer="It is {bug: on, p50 as a factor} times as fast.", claims=claims)
    assert re.search(r"\nIt is (1\.9\d|2\.0\d?|2) \[1\.\d+, 2\.\d+\] times as fast\.\n", page)
    found = rows(page, "What others found")
    assert [row[1].partition(": ")[2] for row in found] == [
        "p50 as a factor, 1.82 to 2.22",
        "p50 as a factor, 2.86 to 3.33",
    ]
    assert [row[4] for row in found] == ["**confirmed**", "**refined**"]


def test_an_arm_may_be_told_by_itself(simulate: Any) -> None:
    page = said(simulate, {"bug": 1.5}, answer="{bug: off, p50 as measured}, then {bug: on, p50 as measured}.")
    amount = r"[\d.]+ ms \[[\d.]+ ms, [\d.]+ ms\]"
    assert re.search(rf"\n{amount}, then {amount}\.\n", page)


def test_a_range_without_an_end_says_so(simulate: Any) -> None:
    claims = [claim("slower", (0.05, 99.0)), claim("faster", (-0.99, -0.05)), claim("either", (-0.05, 0.05))]
    found = rows(said(simulate, {"bug": 1.5}, claims=claims), "What others found")
    assert [row[1].partition(": ")[2] for row in found] == ["p50 +5 or more", "p50 -5 or less", "p50 -5 to +5"]


def test_what_was_not_put_to_the_test_is_open_and_says_why(simulate: Any) -> None:
    statement = {"source": "another seed", "says": "Use ten.", "why": "There are none, see {bug: on, p50}."}
    page = said(simulate, {"bug": 1.5}, unmeasured=[statement])
    (row,) = rows(page, "What others found")
    assert (row[0], row[4]) == ("Use ten.", "**open: not measured**")
    assert row[5].startswith("There are none, see +")
    assert "Claims of another seed." in page


def test_claims_are_ruled_on(simulate: Any) -> None:
    claims = [
        claim("half as slow again", (0.3, 0.7)),
        claim("twice as slow", (0.9, 1.1), why="Another machine."),
        claim("no difference", (-0.05, 0.05)),
        claim("no difference", (-0.05, 0.05), chapter="later"),
    ]
    found = rows(said(simulate, {"bug": 1.5}, claims=claims), "What others found")
    assert [row[3] for row in found] == ["in it", "below it", "above it", ""]
    assert [row[4] for row in found] == ["**confirmed**", "**refined**", "**refuted**", "**open: not measured yet**"]
    assert found[1][1] == "[bug](book/bug.md), on against off: p50 +90 to +110"
    assert found[1][5] == "Another machine."


def test_a_claim_about_an_invalid_session_is_not_ruled_on_firmly(simulate: Any) -> None:
    case = case_of(replace(simulate(effects={"on": 1.5, "again": 2.0}), name="book/bug"))
    book = Book.model_validate(BOOK | {"claims": [claim("slower", (0.3, 0.7))]})
    page = book_page("book", book, {"bug": case}).markdown
    assert rows(page, "What others found")[0][4] == "confirmed (the session is invalid)"
    assert "(the session is invalid)" in " ".join(page.partition("![")[0].split())


def test_cures_are_ranked_by_what_they_surely_bring(simulate: Any) -> None:
    cures = [
        finding("bug", does="Make it worse."),
        finding("later", does="Wait."),
        finding("fix", does="Mend it."),
        finding("fix", figure="p99", does="Nothing is known of it."),
    ]
    found = rows(said(simulate, {"bug": 1.5, "fix": 0.5}, cures=cures), "What can be done")
    assert [row[0] for row in found] == ["Mend it.", "Make it worse.", "Wait.", "Nothing is known of it."]
    assert [row[4] for row in found[2:]] == ["not measured yet", "cannot be told"]


def test_cures_of_invalid_sessions_come_last(simulate: Any) -> None:
    cases = {
        name: case_of(replace(simulate(effects=effects), name=f"book/{name}"))
        for name, effects in {"bug": {"on": 0.5, "again": 2.0}, "fix": {"on": 0.9, "again": 1.0}}.items()
    }
    cures = [finding(name, does=name) for name in cases]
    page = book_page("book", Book.model_validate(BOOK | {"cures": cures}), cases).markdown
    assert [row[0] for row in rows(page, "What can be done")] == ["fix", "bug"]


def test_a_name_that_is_quoted_is_read_as_it_stands(simulate: Any) -> None:
    told = {"arms": {name: {"about": name} for name in ("off", "on__", "on")}}
    case = case_of(replace(simulate(told, effects={"on__": 1.5}), name="book/bug"))
    book = Book.model_validate(BOOK | {"answer": "It is *more*: {bug: on__, p50}."})
    assert re.search(r"\nIt is \\\*more\\\*: \+\d+", book_page("book", book, {"bug": case}).markdown)


def test_a_claim_may_be_about_two_arms_of_which_none_is_the_baseline(simulate: Any) -> None:
    told = {
        "arms": {name: {"about": name} for name in ("off", "on", "less")},
        "ablation": {"full": "on", "switches": {"part": {"about": "a part", "arm": "less"}}},
    }
    case = case_of(replace(simulate(told, effects={"on": 1.5, "less": 1.2, "again": 1.0}), name="book/bug"))
    claims = [claim("a fifth less", (-0.25, -0.15), arm="less", against="on")]
    page = book_page("book", Book.model_validate(BOOK | {"claims": claims}), {"bug": case}).markdown
    row = rows(page, "What others found")[0]
    assert row[1] == "[bug](book/bug.md), less against on: p50 -25 to -15"
    assert row[4] == "**confirmed**"


def test_limits_name_the_doubts_of_each_chapter(simulate: Any) -> None:
    page = said(simulate, {"bug": 1.5})
    assert "## Limits\n\n- One machine.\n" in page


def test_a_book_is_written_with_its_chapters_and_checked(
    tmp_path: Path, simulate: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "investigations" / "book"
    for chapter in ("bug", "fix"):
        (book / chapter).mkdir(parents=True)
        (book / chapter / "investigation.toml").write_text(TOML)
    summary = simulate()
    bare = replace(summary, name="book/bug", sketches={meeting: {} for meeting in summary.sketches})
    write(bare, book / "bug" / "summary.json")
    words = "".join(f"{name} = {value!r}\n" for name, value in BOOK.items() if name not in {"chapters", "limits"})
    (book / "book.toml").write_text(f'{words}limits = ["x"]\nchapters = ["bug", "fix"]\n')
    monkeypatch.chdir(tmp_path)

    assert cli(["report"]) == 0
    made = {str(path.relative_to(tmp_path / "reports")) for path in (tmp_path / "reports").rglob("*.*")}
    own = {"book/bug.md", "book/bug/forest.svg", "book/bug/order.svg"}
    assert made == {"index.md", "book.md", "book/answers.svg"} | own
    page, chapter = ((tmp_path / "reports" / name).read_text() for name in ("book.md", "book/bug.md"))
    assert "](book/bug.md)" in page
    assert "](book/answers.svg)" in page
    assert "](bug/forest.svg)" in chapter
    assert "evenkeel investigate book/bug --fresh" in chapter
    assert "- [book](book.md): What does it cost?" in (tmp_path / "reports" / "index.md").read_text()
    assert cli(["report", "--check"]) == 0
    assert cli(["report", "book", "--check"]) == 0

    (tmp_path / "reports" / "book" / "bug" / "order.svg").write_text("by hand")
    (tmp_path / "reports" / "book.md").unlink()
    capsys.readouterr()
    assert cli(["report", "book", "--check"]) == 1
    assert capsys.readouterr().out.splitlines() == ["reports/book/bug/order.svg: differs", "reports/book.md: missing"]
    assert cli(["report", "book/bug"]) == 0
    assert cli(["report", "--check"]) == 0
