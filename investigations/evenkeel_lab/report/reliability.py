"""Page of the matrix of faults: what clients lost with the plugin and without it."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted
from evenkeel_lab.report.markdown import paragraph, table, text
from evenkeel_lab.runner.results.chaos_results import (
    MOST_LOG_LINES,
    RECOVERY_SECONDS,
    SIGNIFICANCE,
    VISIBLE_SECONDS,
    pick_p99,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.runner.results.chaos_results import Cell, Matrix, ProxyResult, Soak, Sweep

HEAD = (
    "fault",
    "served with the plugin",
    "served without",
    "recovered after",
    "in the metrics after",
    "in the log after",
    "lines in the log",
    "lost records",
    "kept",
)
SOAK_HEAD = ("what", "last", "slope a minute", "interval")
ABOUT = (
    "Two proxies get the same {0.rate:g} requests a second at the same moments: one with the rotation, `lean`, the "
    "Prometheus callback and the journal, one with LiteLLM's router and Prometheus callback. After "
    "{0.before_seconds:g} seconds, a fault strikes both of them for {0.during_seconds:g} seconds. `make chaos` "
    "measures all cells again."
)
COLUMNS = (
    "The served shares count from the beginning of the fault. *Recovered after* is the time from the fault's end until "
    "the last failed request was due. *Lost records* are served requests that the journal does not have. A cell where "
    "the plugin loses requests is tried three times."
)
PROMISES = (
    f"The plugin promises that clients lose no more than without it, by Fisher's exact test at {SIGNIFICANCE:.0%}. It "
    f"serves all requests from {RECOVERY_SECONDS:g} s after the fault's end on. Metrics and log show the fault within "
    f"{VISIBLE_SECONDS:g} s of the first request that can fail of it, the log in at most {MOST_LOG_LINES} lines. No "
    "served request lacks a record, unless its worker was killed before it had written the record. No worker crashes."
)


def reliability_page(matrix: Matrix) -> str:
    """Return the markdown of the page."""
    broken = [cell for cell in matrix.cells if _broken(cell)]
    kept, cells = len(matrix.cells) - len(broken), counted(len(matrix.cells), "cell")
    slowest = pick_p99(matrix.cells)
    picks = "" if slowest is None else f"99 % of all picks of an account take at most {slowest * 1000:.3g} ms."
    return (
        "\n\n".join(
            [
                "# What happens when parts fail",
                paragraph(f"**{kept} of {cells} keep all promises.** {_served(matrix.cells)} {picks} {_calm(matrix)}"),
                paragraph(ABOUT.format(matrix)),
                table(HEAD, [_row(cell) for cell in matrix.cells], set(HEAD[1:-1])),
                paragraph(COLUMNS),
                paragraph(PROMISES),
                _secrets(matrix.sweep),
                *(_soak(matrix.soak) if matrix.soak else []),
                paragraph(
                    f"Measured on {matrix.measured} with LiteLLM {matrix.litellm} ({text(matrix.machine)}), commit "
                    f"{matrix.commit}."
                ),
            ]
        )
        + "\n"
    )


def _soak(soak: Soak) -> list[str]:
    rising = [growth.what for growth in soak.growths if growth.is_rising]
    result = "nothing grows" if not rising else f"**these grow: {text(', '.join(rising))}**"
    share = soak.served / max(soak.requests, 1)
    rows = [
        [text(growth.what), f"{growth.last:,.4g}", f"{growth.slope:+.3g}", f"[{growth.low:+.3g}, {growth.high:+.3g}]"]
        for growth in soak.growths
    ]
    return [
        "## Soak",
        paragraph(
            f"For {soak.minutes:g} minutes, the proxy with the plugin was loaded while faults came and went. It served "
            f"{share:.2%} of {soak.requests:,} requests, and {result}."
        ),
        table(SOAK_HEAD, rows, set(SOAK_HEAD[1:])),
    ]


def _secrets(sweep: Sweep) -> str:
    result = "none was found" if not sweep.leaks else f"**found: {text('; '.join(sweep.leaks))}**"
    return paragraph(
        f"After the faults, {sweep.secrets} secrets of {sweep.kinds} kinds were looked for in {len(sweep.outputs)} "
        f"outputs: {result}. The outputs: {text(', '.join(sweep.outputs))}."
    )


def _served(cells: Sequence[Cell]) -> str:
    plugin, stock = (
        f"{sum(each.served for each in results):,} of {sum(each.requests for each in results):,}"
        for results in _by_proxy(cells)
    )
    return f"In all, the plugin served {plugin} requests, and LiteLLM alone {stock}."


def _by_proxy(cells: Sequence[Cell]) -> tuple[list[ProxyResult], list[ProxyResult]]:
    return [cell.plugin for cell in cells], [cell.stock for cell in cells]


def _calm(matrix: Matrix) -> str:
    """Compare the median latencies before the faults."""
    plugin, stock = map(_median_ms, _by_proxy(matrix.cells))
    return f"Before the faults, the median latency is {plugin:.0f} ms with the plugin, and {stock:.0f} ms without it."


def _median_ms(results: Sequence[ProxyResult]) -> float:
    return statistics.median([seconds for result in results for seconds in result.calm_latencies] or [0.0]) * 1000


def _row(cell: Cell) -> list[str]:
    broken = _broken(cell)
    return [
        text(cell.about),
        f"{cell.plugin.served_share:.1%}",
        f"{cell.stock.served_share:.1%}",
        f"{cell.plugin.recovered_after:.1f} s",
        _seconds(cell.metric_after),
        _seconds(cell.log_after),
        str(cell.log_lines) if cell.log_lines else "",
        str(cell.lost_records),
        "yes" if not broken else f"**no**: {', '.join(broken)}",
    ]


def _broken(cell: Cell) -> list[str]:
    return [*cell.broken_promises, *cell.missed_times]


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.1f} s"
