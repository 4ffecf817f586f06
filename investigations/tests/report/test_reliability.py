"""The page of the matrix of faults."""

from __future__ import annotations

from evenkeel_lab.report.reliability import reliability_page
from evenkeel_lab.runner.results.chaos_results import Cell, Matrix, ProxyResult, Sweep


def cell(fault: str, served: int, lost: int = 0) -> Cell:
    stock = ProxyResult(requests=100, served=90, recovered_after=1.0, calm_latencies=[0.2, 0.3])
    return Cell(
        fault=fault,
        about=f"{fault} happens",
        plugin=stock.model_copy(update={"served": served, "calm_latencies": [0.1, 0.2, 0.3]}),
        stock=stock,
        metric="m",
        log="",
        first_failure_after=0.0,
        metric_after=0.25,
        log_after=None,
        log_lines=0,
        plugin_lines=0,
        crashes=[],
        longest_cooldown=None,
        picks={"0.0005": 600, "0.001": 600},
        may_lose_records=False,
        lost_records=lost,
    )


def test_the_page_begins_with_the_result_and_marks_what_is_not_kept() -> None:
    page = reliability_page(
        Matrix(
            measured="2026-11-30",
            commit="abc",
            litellm="1.2.3",
            machine="x86_64, 2 cores",
            rate=6,
            before_seconds=4,
            during_seconds=8,
            cells=[cell("flood", 100), cell("fire", 60, lost=2)],
            sweep=Sweep(secrets=50, kinds=6, outputs=["log", "metrics"], leaks=[]),
        )
    )
    assert "**1 of 2 cells keep all promises.**" in page
    assert "at most 0.5 ms" in page
    assert "50 secrets of 6 kinds were looked for in 2 outputs: none was found" in page.replace("\n", " ")
    assert "the plugin served 160 of 200 requests, and LiteLLM alone 180 of 200" in page.replace("\n", " ")
    assert "200 ms with the plugin, and 250 ms without it" in page.replace("\n", " ")
    rows = " ".join(page.split())
    assert "| flood happens | 100.0% | 90.0% | 1.0 s | 0.2 s | | | 0 | yes |" in rows
    assert "| fire happens | 60.0% | 90.0% | 1.0 s | 0.2 s | | | 2 | **no**: served, records |" in rows
