"""`evenkeel chaos`: faults of everything around a proxy, with the plugin and without it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from evenkeel_lab.chaos.faults import FAULTS
from evenkeel_lab.chaos.matrix import Results, run_matrix, summary
from evenkeel_lab.chaos.soak import run_soak
from evenkeel_lab.cli.number_range import NumberRange
from evenkeel_lab.cli.output import show
from evenkeel_lab.errors import RIG_INVALID, nearest
from evenkeel_lab.investigation_spec.read import home
from evenkeel_lab.progress import shown_on
from evenkeel_lab.runner.results.chaos_results import (
    Cell,
    Soak,
    pick_p99,
    read_result,
    result_path,
    write_matrix,
    write_result,
)
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION, require_allowed

if TYPE_CHECKING:
    from evenkeel_lab.chaos.fault import Fault

DATA, SOAK = "data", "soak"


@click.command()
@click.argument("names", metavar="[FAULT]...", nargs=-1)
@click.option("--list", "list_only", is_flag=True, help="List the faults.")
@click.option("--quick", is_flag=True, help="Only a few faults, each once, whose times do not count.")
@click.option("--soak", "minutes", type=NumberRange(min=1), help="Minutes of a soak, instead of the matrix.")
@click.option("--litellm", "version", default=DEFAULT_VERSION, show_default=True, help="The LiteLLM version.")
@click.option("--fresh", is_flag=True, help="Measure the chosen faults again, also those that are done.")
@click.option("--write", is_flag=True, help="Replace the committed results, of which reports/reliability.md is made.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
@click.pass_context
def chaos(  # one for each option
    context: click.Context,
    names: tuple[str, ...],
    minutes: float | None,
    version: str,
    *,
    list_only: bool,
    quick: bool,
    fresh: bool,
    write: bool,
    as_json: bool,
) -> None:
    """Cause a failure of each part around a proxy, one FAULT after the other, and count the requests that clients lose.

    Two proxies get the same requests: one with the plugin, one without it. The exit code is 1 if a cell does not keep
    what the plugin promises, and 3 if a fault could not be caused. With --quick, times do not count, and neither do
    faults for which this machine lacks something: continuous integration has other work, and may not be root.
    """
    faults = chosen(names, quick=quick)
    if list_only:
        show(listed(faults))
        return
    if write and (names or quick or minutes):
        raise click.UsageError("--write commits the whole matrix: leave FAULT, --quick and --soak out.")
    require_allowed(version)
    data = home().parent / DATA
    steps = shown_on(Console(stderr=True))
    if minutes:
        soak = asyncio.run(run_soak(version, minutes, steps))
        write_result(result_path(data, version, SOAK), soak)
        click.echo(soak.model_dump_json()) if as_json else show(growth_table(soak))
        context.exit(1 if any(growth.is_rising for growth in soak.growths) else 0)
    if fresh:
        for fault in faults:
            result_path(data, version, fault.name).unlink(missing_ok=True)
    results = asyncio.run(run_matrix(faults, version, data, steps, quick=quick, seeks_secrets=not names))
    if write and results.swept and not results.not_tried:
        last_soak = read_result(result_path(data, version, SOAK), Soak)
        click.echo(write_matrix(home(), summary(version, results.cells, results.swept, last_soak)), err=as_json)
    if as_json:
        click.echo(json.dumps(document(results)))
    else:
        _show_results(results)
    are_kept = results.are_kept and (quick or results.are_in_time)
    is_tried = not (results.not_caused if quick else results.not_tried)
    context.exit(1 if not are_kept else 0 if is_tried else RIG_INVALID)


def document(results: Results) -> dict[str, Any]:
    """Return the results as a JSON document."""
    rows = [
        cell.model_dump() | {"broken": cell.broken_promises, "missed_times": cell.missed_times}
        for cell in results.cells
    ]
    return {"cells": rows, "leaks": results.leaks, "not_tried": results.not_tried}


def _show_results(results: Results) -> None:
    show(table(results.cells))
    for cell in results.cells:
        for trace in cell.crashes:
            click.echo(f"\n{cell.fault}: a worker of the proxy with the plugin crashed\n{trace}")
    if results.swept:
        outcome = "; ".join(results.leaks) or "none found"
        click.echo(f"\n{results.swept.secrets} secrets in {len(results.swept.outputs)} outputs: {outcome}")
    slowest = pick_p99(results.cells)
    if slowest is not None:
        click.echo(f"99 % of all picks took at most {slowest * 1000:.3g} ms")
    for name, why in results.not_tried.items():
        click.echo(f"{name} was not tried: {why}")


def chosen(names: tuple[str, ...], *, quick: bool) -> list[Fault]:
    """Return the faults that are named; without any name, all of them, or the quick ones."""
    known = {fault.name: fault for fault in FAULTS}
    for name in names:
        if name not in known:
            raise click.UsageError(f"There is no fault {name!r}. {nearest(name, known)}")
    return [known[name] for name in names] or [fault for fault in FAULTS if fault.is_quick or not quick]


def listed(faults: list[Fault]) -> Table:
    """Return the names of faults and what they do."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    result.add_column("fault", no_wrap=True)
    result.add_column("what happens")
    for fault in faults:
        result.add_row(fault.name, fault.about)
    return result


def table(cells: list[Cell]) -> Table:
    """Return the cells as a table."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    result.add_column("fault", no_wrap=True)
    for column in ("plugin", "stock", "recovered", "metric", "log", "lost"):
        result.add_column(column, justify="right")
    result.add_column("")
    for cell in cells:
        broken = [*cell.broken_promises, *cell.missed_times]
        result.add_row(
            cell.fault,
            f"{cell.plugin.served_share:.1%}",
            f"{cell.stock.served_share:.1%}",
            f"{cell.plugin.recovered_after:.1f} s",
            _seconds(cell.metric_after),
            _seconds(cell.log_after),
            str(cell.lost_records),
            "ok" if not broken else ", ".join(broken),
        )
    return result


def growth_table(soak: Soak) -> Table:
    """Return the slopes of the soak as a table."""
    title = f"{soak.served:,} of {soak.requests:,} requests served in {soak.minutes:g} minutes"
    result = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    result.add_column("what")
    for column in ("last", "slope a minute", "interval"):
        result.add_column(column, justify="right")
    result.add_column("")
    for growth in soak.growths:
        interval = f"[{growth.low:+.3g}, {growth.high:+.3g}]"
        mark = "rising" if growth.is_rising else "ok"
        result.add_row(growth.what, f"{growth.last:,.4g}", f"{growth.slope:+.3g}", interval, mark)
    return result


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.1f} s"
