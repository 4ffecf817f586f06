"""Page of the benchmarks, from made-up results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel_lab.report.benches import benches_page
from evenkeel_lab.runner.results.bench_results import read_benches, write_bench

if TYPE_CHECKING:
    from pathlib import Path


def metric(name: str, value: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": "", "bound": None, "reference": None, "ok": True, **more}


def page(root: Path, *metrics: dict[str, Any]) -> str:
    document = {"bench": "load", "environment": {"cores": 2}, "metrics": [*metrics]}
    write_bench(root, "what the load generator measures", document)
    return benches_page(read_benches(root))


def test_it_has_each_metric_with_its_bound_and_reference(tmp_path: Path) -> None:
    text = page(tmp_path, metric("late", 0.02, unit="s", bound="<= 0.1", reference="5 s of load"))
    (row,) = [line for line in text.splitlines() if line.startswith("| `late`")]
    assert [cell.strip() for cell in row.strip("|").split("|")] == ["`late`", "0.02 s", "<= 0.1", "yes", "5 s of load"]
    assert "## load" in text
    assert "all bounds kept" in text


def test_a_missed_bound_stands_out(tmp_path: Path) -> None:
    text = page(tmp_path, metric("late", 0.2, bound="<= 0.1", ok=False), metric("sent", 9_000))
    assert "1 bound missed" in text
    assert "**no**" in text


def test_the_next_measurement_replaces_the_results(tmp_path: Path) -> None:
    page(tmp_path, metric("old", 1))
    assert "`old`" not in page(tmp_path, metric("new", 2))
