"""`evenkeel demo`: the stack comes up, serves, and goes away again."""

from __future__ import annotations

import asyncio
import sys
import time

import click
from rich.console import Console
from rich.table import Table

from evenkeel_lab.cli.up import table
from evenkeel_lab.demo import NEEDED_BEYOND, REQUESTS, SETTINGS, Latencies, Result, demonstrate
from evenkeel_lab.progress import shown_on
from evenkeel_lab.stack.config import Prometheus, Subject
from evenkeel_lab.stack.stack import Options, stack

CRITERION_FAILED = 1


@click.command()
def demo() -> None:
    """Bring a whole stack up, send 200 requests through it, show what they cost, and take it down."""
    sys.exit(asyncio.run(run()))


async def run() -> int:
    """Do it; return the exit code."""
    start = time.monotonic()
    console = Console()
    subject = Subject(prometheus=Prometheus.STOCK, settings=SETTINGS)
    with shown_on(Console(stderr=True)) as steps:
        async with stack(Options.from_env(), steps=steps) as ground, ground.proxy(subject) as proxy:
            console.print(table([*ground.parts, proxy.part]))
            result = await demonstrate(proxy, steps)
            console.print()
            for shown in (latencies(result), gauges(result), spend(result)):
                console.print(shown, "")
            with steps.step("taking it all down"):
                pass
    console.print(f"Done in {time.monotonic() - start:.0f} s. Nothing is left running; engine: {ground.engine.kind}.")
    return 0 if result.spend[0].rows >= REQUESTS else CRITERION_FAILED


def latencies(result: Result) -> Table:
    """Return the quantiles, as far as so few requests support them."""
    caption = f"a quantile is shown where at least {NEEDED_BEYOND} requests lie beyond it"
    shown = Table("requests", "n", "p50", "p90", "max", box=None, pad_edge=False, caption=caption)

    def milliseconds(seconds: float) -> str:
        return f"{1000 * seconds:.1f} ms"

    def row(name: str, measured: Latencies) -> None:
        quantiles = (milliseconds(measured.quantile(p)) if measured.supports(p) else "-" for p in (50, 90))
        shown.add_row(name, str(len(measured.seconds)), *quantiles, milliseconds(max(measured.seconds)))

    row("all", Latencies(result.plain.seconds + result.streamed.seconds))
    row("answered whole", result.plain)
    row("streamed", result.streamed)
    return shown


def gauges(result: Result) -> Table:
    """Return the budget gauges."""
    shown = Table("budget gauge on /metrics", "dollars", box=None, pad_edge=False)
    for name, value in sorted(result.gauges.items()):
        shown.add_row(name, f"{value:.6f}")
    return shown


def spend(result: Result) -> Table:
    """Return where the spend went."""
    shown = Table("spend in Postgres", "rows", "dollars", box=None, pad_edge=False)
    for landing in result.spend:
        shown.add_row(landing.where, str(landing.rows), f"{landing.dollars:.6f}")
    return shown
