from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stats.csv_input import read_csv
from evenkeel_lab.stats.run_set import read_runs

if TYPE_CHECKING:
    from pathlib import Path


def test_columns_are_metrics_in_their_units_and_the_first_is_primary(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeffrps,avg_s,cpu_ms,p50_ms\n\n10,.5,3,4\n", encoding="utf-8")
    result = read_runs(tmp_path / "a.csv")
    assert result.figures == {"throughput": [10.0], "mean": [500.0], "cpu_ms": [3.0], "p50": [4.0]}
    assert (result.primary, result.count, result.names) == ("throughput", 1, ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no runs"),
        ("p50_ms\n", "holds no runs"),
        ("p50_ms\nmany\n", "line 2: expected a number, got 'many'"),
        ("p50_ms,p95_ms\n1\n", "line 2: expected a number, got ''"),
        ("p50_ms\nnan\n", "line 2: expected a number of at least 0, got 'nan'"),
        ("p50\n1\n", "the column states no unit"),
        ("p59_ms\n1\n", "no metric 'p59_ms'"),
        ("rps_s\n1\n", "no metric 'rps_s'"),
        ("mean_ms,avg_ms\n1,2\n", "'mean_ms' and 'avg_ms' both hold mean"),
        ("p50_ms,p95_ms\n1,2\n1,2,3\n", "line 3: expected 2 cells, got 3"),
        ("p50_ms,p95_ms\n1,2\n,\n", "line 3: expected a number, got ''"),
        ("p50_ms\n\n1\n\n2\n\n\n3\nx\n", "line 9: expected a number, got 'x'"),
        ("p50_s\n1e306\n", "line 2: expected a number of at least 0, got '1e306'"),
        ("p50_ms\n-1\n", "line 2: expected a number of at least 0, got '-1'"),
        ("error_rate\n1.5\n", "line 2: expected a number from 0 to 1, got '1.5'"),
        ("above_1s\n1\n2\n", "line 3: expected a number from 0 to 1, got '2'"),
    ],
)
def test_an_unreadable_csv_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(WrongUse, match=message):
        read_csv(tmp_path / "a.csv")
