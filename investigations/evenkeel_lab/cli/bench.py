"""`evenkeel bench`: measure a part of the project against a reference, and check its bounds."""

from __future__ import annotations

import asyncio
import json
from types import MappingProxyType
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from evenkeel_lab.bench import BENCHES
from evenkeel_lab.bench.result import Metric, document
from evenkeel_lab.cli.output import show
from evenkeel_lab.errors import nearest
from evenkeel_lab.investigation_spec.read import home
from evenkeel_lab.progress import Steps, shown_on
from evenkeel_lab.runner.results.bench_results import write_bench
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command()
@click.argument("name", type=click.Choice(sorted(BENCHES)), required=False)
@click.option("--part", help="Only this part of a benchmark with parts (failover).")
@click.option(
    "--litellm",
    "version",
    help=f"The LiteLLM version of a benchmark with proxies (failover); default {DEFAULT_VERSION}.",
)
@click.option("--write", is_flag=True, help="Replace the committed results, of which reports/benches.md is made.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
@click.pass_context
def bench(
    context: click.Context, name: str | None, part: str | None, version: str | None, *, write: bool, as_json: bool
) -> None:
    """Measure a part of the project against a reference in the same run; without NAME, all that do not take hours.

    The exit code is 1 when a bound is missed.
    """
    if as_json and name is None:
        raise click.UsageError("--json prints one document: name the benchmark.")
    if write and part:
        raise click.UsageError("--write commits the results of all parts: leave --part out.")
    given = {"parts": (part,) if part else None, "version": version}
    wanted = {field: value for field, value in given.items() if value is not None}
    if wanted:
        check(name, part)
    steps = shown_on(Console(stderr=True))
    ok = True
    usual = sorted(each for each, known in BENCHES.items() if not known.takes_hours)
    for chosen in [name] if name else usual:
        metrics = asyncio.run(measure(chosen, steps, wanted))
        ok = ok and all(metric.ok for metric in metrics)
        if write:
            click.echo(write_bench(home(), BENCHES[chosen].about, document(chosen, metrics)), err=as_json)
        if as_json:
            click.echo(json.dumps(document(chosen, metrics)))
        else:
            show(table(chosen, metrics))
    context.exit(0 if ok else 1)


def check(name: str | None, part: str | None) -> None:
    """Raise if the benchmark has no such part, or no proxies of which to choose the version."""
    parts = BENCHES[name].parts if name else ()
    if not parts:
        names = ", ".join(sorted(bench.name for bench in BENCHES.values() if bench.parts))
        raise click.UsageError(f"--part and --litellm need the name of a benchmark with proxies: {names}.")
    if part is not None and part not in parts:
        raise click.UsageError(f"--part: there is no {part!r}. {nearest(part, parts)}")


async def measure(name: str, steps: Steps, wanted: Mapping[str, object] = MappingProxyType({})) -> list[Metric]:
    """Run a benchmark."""
    return await BENCHES[name].run(steps, **wanted)


def table(name: str, metrics: list[Metric]) -> Table:
    """Return the metrics as a table."""
    shown = Table(title=f"{name}: {BENCHES[name].about}", title_justify="left", box=None, pad_edge=False)
    shown.add_column("metric")
    shown.add_column("value", justify="right")
    for column in ("unit", "bound", "", "measured beside it"):
        shown.add_column(column)
    for metric in metrics:
        mark = "" if metric.bound is None else "ok" if metric.ok else "MISSED"
        shown.add_row(
            metric.name, f"{metric.value:,.4g}", metric.unit, metric.bound or "", mark, metric.reference or ""
        )
    return shown
