"""The matrix as data, and the README's table that is made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenkeel_lab.compat.lookup import Break
from evenkeel_lab.compat.outcome import BEGIN, END, Check, Matrix, Outcome, TestRun, committed, joined, put, table
from evenkeel_lab.compat.plugin_tests import read
from evenkeel_lab.compat.releases import MINORS
from litellm_evenkeel.compatibility import NEWEST_TESTED, OLDEST_SUPPORTED, release

ROOT = Path(__file__).parents[3]
BREAK = Break(version="1.109.1", name="litellm.x", problem="is gone", needed_by=("admin",), why="so")


def outcome(version: str, *, breaks: tuple[Break, ...] = (), failed: tuple[str, ...] = (), ok: bool = True) -> Outcome:
    return Outcome(
        version=version,
        date="2026-11-25",
        python="3.11.7",
        entries=120,
        breaks=breaks,
        tests=TestRun(passed=2000, failed=failed),
        checks=(Check(name="it boots", ok=True), Check(name="/metrics", ok=ok)),
    )


def test_the_newest_working_version_is_the_last_with_all_checks_passed() -> None:
    matrix = Matrix(
        outcomes=(
            outcome("1.100.5"),
            outcome("1.108.14"),
            outcome("1.109.3", breaks=(BREAK,)),
            outcome("1.110.0", failed=("a test",)),
            outcome("1.110.2", ok=False),
        )
    )
    assert matrix.newest_that_works == "1.108.14"
    assert Matrix(outcomes=()).newest_that_works is None


def test_a_newer_patch_release_replaces_the_older_in_the_matrix() -> None:
    before = Matrix(outcomes=(outcome("1.100.5"), outcome("1.110.1")))
    after = joined(before, [outcome("1.110.2"), outcome("1.109.3")])
    assert [one.version for one in after.outcomes] == ["1.100.5", "1.109.3", "1.110.2"]


def test_the_table_shows_failed_checks() -> None:
    matrix = Matrix(outcomes=(outcome("1.106.2"), outcome("1.109.3", breaks=(BREAK, BREAK), failed=("a",), ok=False)))
    shown = table(matrix)
    assert "| 1.106.2 | all 120 are there | 2000 pass | works |" in shown
    assert "| 1.109.3 | 119 of 120 are there | 1 of 2001 fail | no: /metrics |" in shown
    assert "Run on 2026-11-25" in shown


def test_the_table_is_written_between_its_markers() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    found = put(page, Matrix(outcomes=(outcome("1.106.2"),)))
    assert found.startswith(f"before\n{BEGIN}\n| LiteLLM |")
    assert found.endswith(f"\n{END}\nafter\n")
    assert "old" not in found


def test_the_output_of_pytest_is_parsed(tmp_path: Path) -> None:
    report = tmp_path / "tests.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="a" name="one"/><testcase classname="a" name="two">'
        '<failure message="x"/></testcase><testcase name="b"><error message="y"/></testcase>'
        '<testcase classname="a" name="three"><skipped/></testcase></testsuite></testsuites>'
    )
    assert read(report) == TestRun(passed=1, skipped=1, failed=("a: two", "b: b"))


@pytest.mark.docs
def test_the_readme_has_the_table_of_the_committed_matrix() -> None:
    page = (ROOT / "README.md").read_text()
    assert BEGIN in page
    assert put(page, committed()) == page, "evenkeel compat --run --write, or make matrix"


@pytest.mark.docs
def test_the_matrix_has_each_release_line_and_begins_with_the_oldest_that_is_supported() -> None:
    lines = [release(one.version)[:2] for one in committed().outcomes]
    assert lines == [release(line) for line in MINORS]
    assert lines[0] == release(OLDEST_SUPPORTED)[:2]


@pytest.mark.docs
def test_the_plugin_warns_of_versions_newer_than_the_matrix() -> None:
    assert committed().newest_that_works == NEWEST_TESTED
