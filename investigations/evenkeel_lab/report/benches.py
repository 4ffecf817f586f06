"""Page of the benchmarks: their last committed results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted
from evenkeel_lab.report.markdown import code, paragraph, table, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.runner.results.bench_results import BenchResult

HEAD = ("metric", "value", "bound", "kept", "measured beside it")
ABOUT = (
    "Each benchmark measures a part of the project, most of them against a reference in the same run. `evenkeel bench "
    "NAME --write` measures one again and replaces its results here."
)


def benches_page(results: Sequence[BenchResult]) -> str:
    """Return the markdown of the page."""
    parts = ["# Benchmarks", paragraph(ABOUT)]
    for result in results:
        missed = sum(not metric.ok for metric in result.metrics)
        kept = "all bounds kept" if not missed else f"{counted(missed, 'bound')} missed"
        where = ", ".join(f"{name} {value}" for name, value in result.environment.items())
        rows = [
            [
                code(metric.name),
                f"{metric.value:,.4g} {metric.unit}".rstrip(),
                metric.bound or "",
                "" if metric.bound is None else "yes" if metric.ok else "**no**",
                text(metric.reference or ""),
            ]
            for metric in result.metrics
        ]
        parts += [
            f"## {text(result.bench)}",
            paragraph(
                f"{text(result.about)}. Measured on {result.measured} ({text(where)}), commit {result.commit}: {kept}."
            ),
            table(HEAD, rows, {HEAD[1]}),
        ]
    return "\n\n".join(parts) + "\n"
