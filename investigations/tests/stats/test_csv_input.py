from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stats.csv_input import read_table
from evenkeel_lab.stats.run_set import read_runs

if TYPE_CHECKING:
    from pathlib import Path


def test_columns_are_figures_in_their_own_units_and_the_first_one_decides(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeffrps,avg_s,cpu_ms,p50_ms\n\n10,.5,3,4\n", encoding="utf-8")
    found = read_runs(tmp_path / "a.csv")
    assert found.figures == {"throughput": [10.0], "mean": [500.0], "cpu_ms": [3.0], "p50": [4.0]}
    assert (found.primary, found.count, found.names) == ("throughput", 1, ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no runs"),
        ("p50_ms\n", "holds no runs"),
        ("p50_ms\nmany\n", "line 2: 'many' is no number"),
        ("p50_ms,p95_ms\n1\n", "line 2: '' is no number"),
        ("p50_ms\nnan\n", "line 2: 'nan' is no figure"),
        ("p50\n1\n", "nobody knows its unit"),
        ("p59_ms\n1\n", "no figure 'p59_ms'"),
        ("rps_s\n1\n", "no figure 'rps_s'"),
        ("mean_ms,avg_ms\n1,2\n", "'mean_ms' and 'avg_ms' are both mean"),
        ("p50_ms,p95_ms\n1,2\n1,2,3\n", "line 3: 3 cells, of 2 columns"),
        ("p50_ms,p95_ms\n1,2\n,\n", "line 3: '' is no number"),
        ("p50_ms\n\n1\n\n2\n\n\n3\nx\n", "line 9: 'x' is no number"),
        ("p50_s\n1e306\n", "line 2: '1e306' is no figure"),
        ("p50_ms\n-1\n", "line 2: '-1' is no figure"),
        ("error_rate\n1.5\n", "line 2: '1.5' is no share, as error_rate is"),
        ("above_1s\n1\n2\n", "line 3: '2' is no share"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(WrongUse, match=message):
        read_table(tmp_path / "a.csv")
