"""Numbers of README and docs, compared with a simulated session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.report import wrong_numbers
from evenkeel_lab.report.report_data import report_data_of
from evenkeel_lab.runner.results.bench_results import write_bench
from evenkeel_lab.stats import wording

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.stats.compare import Compared

HEAD = 'files = ["README.md"]\n'
SOURCE = 'investigation = "case"\narm = "on"\nfigure = "p50"\n'


@pytest.fixture
def data(simulate: Any) -> ReportData:
    """Results of a session in which the p50 of `on` is a fifth higher."""
    return report_data_of(simulate())


@pytest.fixture
def p50(data: ReportData) -> Compared:
    return next(compared for compared in data.shown[0].figures if compared.metric.name == "p50")


def wrong(folder: Path, data: ReportData | None, text: str, *entries: str) -> list[str]:
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "README.md").write_text(text)
    (folder / "docs" / "numbers.toml").write_text(HEAD + "\n".join(entries))
    return [*wrong_numbers(folder, {"case": data}.get)]


def measured(says: str, more: str = "") -> str:
    return f'[[measured]]\nfile = "README.md"\nsays = "{says}"\n{SOURCE}{more}'


def test_a_number_of_its_source_is_right(tmp_path: Path, data: ReportData, p50: Compared) -> None:
    effect = wording.effect(p50).replace("+", "")
    assert wrong(tmp_path, data, f"It takes {effect} longer.", measured(effect)) == []
    value = wording.amount(p50, p50.candidate)
    assert wrong(tmp_path, data, f"It takes\n{value}.", measured(f"takes {value}", 'of = "arm"')) == []


def test_a_number_may_be_rounded(tmp_path: Path, data: ReportData, p50: Compared) -> None:
    assert p50.verdict is not None
    percent = f"{p50.margin.effect(p50.verdict.mean) * 100:.0f} %"
    assert wrong(tmp_path, data, f"It takes {percent} longer.", measured(percent)) == []


def test_another_direction_is_wrong(tmp_path: Path, data: ReportData, p50: Compared) -> None:
    effect = wording.effect(p50).replace("+", "")
    (sentence,) = wrong(tmp_path, data, f"It takes {effect} lower.", measured(effect))
    assert sentence.endswith("which is another direction")


def test_a_part_of_a_number_is_none(tmp_path: Path, data: ReportData) -> None:
    given = '[[given]]\nfile = "README.md"\nsays = ["2 ms"]\nwhy = "a setting"'
    missing, uncovered = wrong(tmp_path, data, "It takes 12 ms.", given)
    assert "does not say '2 ms'" in missing
    assert "12 ms" in uncovered


def test_another_number_is_wrong(tmp_path: Path, data: ReportData) -> None:
    (sentence,) = wrong(tmp_path, data, "It takes 9.9 % [1, 2] longer.", measured("9.9 % [1, 2]"))
    assert sentence.startswith("README.md: '9.9 % [1, 2]', but case says +")


def test_a_number_needs_an_entry(tmp_path: Path, data: ReportData) -> None:
    (sentence,) = wrong(tmp_path, data, "Nothing.\n\nIt takes 12 ms.\n")
    assert "It takes 12 ms" in sentence
    given = '[[given]]\nfile = "README.md"\nsays = ["12 ms"]\nwhy = "a setting"'
    assert wrong(tmp_path, data, "It takes 12 ms.", given) == []


def test_code_and_other_numbers_need_no_entry(tmp_path: Path, data: ReportData) -> None:
    text = "LiteLLM 1.108.7 has `wait: 5 %` and 3 workers.\n\n```\n12 % of it, 5 ms\n```\n"
    assert wrong(tmp_path, data, text) == []


def test_an_entry_needs_its_text(tmp_path: Path, data: ReportData) -> None:
    given = '[[given]]\nfile = "README.md"\nsays = ["12 ms"]\nwhy = "a setting"'
    assert wrong(tmp_path, data, "Nothing.", given) == [
        "README.md: does not say '12 ms', of which docs/numbers.toml has an entry"
    ]


def test_a_pattern_names_several_files(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "numbers.toml").write_text('files = ["docs/*.md"]\n')
    for name in ("a", "b"):
        (tmp_path / "docs" / f"{name}.md").write_text("It takes 12 ms.\n")
    assert [sentence.partition(":")[0] for sentence in wrong_numbers(tmp_path, lambda _: None)] == [
        "docs/a.md",
        "docs/b.md",
    ]


def test_a_number_of_a_benchmark(tmp_path: Path, data: ReportData) -> None:
    document = {
        "bench": "load",
        "environment": {},
        "metrics": [{"name": "late", "value": 0.153, "unit": "", "bound": None, "reference": None, "ok": True}],
    }
    (tmp_path / "investigations").mkdir()
    write_bench(tmp_path / "investigations", "late requests", document)
    entry = '[[benchmarked]]\nfile = "README.md"\nsays = "{}"\nbench = "{}"\nmetric = "{}"\nscale = 100'
    assert wrong(tmp_path, data, "15 % are late.", entry.format("15 %", "load", "late")) == []
    assert wrong(tmp_path, data, "16 % are late.", entry.format("16 %", "load", "late")) == [
        "README.md: '16 %', but the benchmark load says 15.3"
    ]
    (other_metric,) = wrong(tmp_path, data, "15 % are late.", entry.format("15 %", "load", "early"))
    assert other_metric.endswith("says nothing about early")
    (other_bench,) = wrong(tmp_path, data, "15 % are late.", entry.format("15 %", "mock", "late"))
    assert other_bench.endswith("has no committed results")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('investigation = "none"\narm = "on"\nfigure = "p50"\n', "it was not measured"),
        ('investigation = "case"\narm = "no"\nfigure = "p50"\n', "nothing about p50 of no"),
        ('investigation = "case"\narm = "on"\nfigure = "p99.9"\n', "nothing about p99.9 of on"),
    ],
)
def test_a_source_must_have_the_number(tmp_path: Path, data: ReportData, source: str, expected: str) -> None:
    entry = f'[[measured]]\nfile = "README.md"\nsays = "5 %"\n{source}'
    (sentence,) = wrong(tmp_path, data, "It takes 5 % longer.", entry)
    assert expected in sentence


def test_an_entry_that_cannot_be_read_is_an_error(tmp_path: Path, data: ReportData) -> None:
    with pytest.raises(WrongUse, match=r"numbers\.toml cannot be read"):
        wrong(tmp_path, data, "Nothing.", '[[measured]]\nfile = "README.md"')


def test_a_project_without_the_file_has_no_such_numbers(tmp_path: Path) -> None:
    assert [*wrong_numbers(tmp_path, lambda _: None)] == []
