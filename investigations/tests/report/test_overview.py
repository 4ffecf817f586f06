"""Page of the findings to know first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec.overview import Overview, read_overview
from evenkeel_lab.report.overview import overview_page
from evenkeel_lab.report.report_data import report_data_of

if TYPE_CHECKING:
    from pathlib import Path

ROW = {"says": "with a callback", "investigation": "case", "arm": "on", "metric": "p50"}


def overview(*rows: dict[str, str]) -> Overview:
    return Overview.model_validate({"findings": [ROW | row for row in rows]})


def test_each_finding_is_in_the_figure_and_in_the_table(simulate: Any) -> None:
    data = report_data_of(simulate(effects={"on": 1.2}))
    page = overview_page(overview({}), {"case": data})
    (row,) = (line for line in page.markdown.splitlines() if line.startswith("| with a callback"))
    assert "material" in row
    assert "[case](case.md)" in row
    assert ">with a callback</text>" in page.figures["effects"]
    assert "](overview/effects.svg)" in page.markdown


def test_what_was_not_measured_yet_is_left_out(simulate: Any) -> None:
    data = report_data_of(simulate())
    page = overview_page(overview({}, {"says": "later", "investigation": "waiting"}), {"case": data})
    assert "later" not in page.markdown
    assert not overview_page(overview({}), {}).figures


@pytest.mark.parametrize("wrong", [{"arm": "of"}, {"metric": "p95"}])
def test_a_finding_without_a_verdict_is_an_error(simulate: Any, wrong: dict[str, str]) -> None:
    with pytest.raises(WrongUse, match="case has no verdict"):
        overview_page(overview(wrong), {"case": report_data_of(simulate())})


@pytest.mark.parametrize(
    ("content", "message"), [("findings = ", "cannot be read"), ("[[findings]]\nsays = 'x'", "investigation")]
)
def test_a_mistake_in_the_file_is_an_error(tmp_path: Path, content: str, message: str) -> None:
    assert read_overview(tmp_path) is None
    (tmp_path / "overview.toml").write_text(content)
    with pytest.raises(WrongUse, match=message):
        read_overview(tmp_path)
