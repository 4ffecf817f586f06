"""`evenkeel demo`: the stack comes up, serves, and goes away again."""

from __future__ import annotations

import asyncio
import time

import click
from rich.console import Console
from rich.table import Table

from evenkeel_lab.cli.output import results
from evenkeel_lab.cli.up import table
from evenkeel_lab.progress import shown_on
from evenkeel_lab.stack.demo_traffic import MIN_BEYOND_QUANTILE, SETTINGS, Latencies, Result, demonstrate, have_landed
from evenkeel_lab.stack.litellm.config import Prometheus, ProxySpec
from evenkeel_lab.stack.stack import Options, stack

CRITERION_FAILED = 1


@click.command()
def demo() -> None:
    """Bring a whole stack up, send 200 requests through it, show what they cost, and take it down."""
    click.get_current_context().exit(asyncio.run(run()))


async def run() -> int:
    """Do it; return the exit code."""
    start = time.monotonic()
    console = results()
    subject = ProxySpec(prometheus=Prometheus.STOCK, settings=SETTINGS)
    steps = shown_on(Console(stderr=True))
    async with stack(Options.from_env(), steps=steps) as ground, ground.proxy(subject) as proxy:
        console.print(table([*ground.service_infos, proxy.info]))
        result = await demonstrate(proxy, steps)
        for shown in (latencies(result), gauges(result), spend(result)):
            console.print("", shown)
    seconds = time.monotonic() - start
    console.print(
        f"\nAll of it is down again, after {seconds:.0f} s. Prisma engine: {ground.engine.kind}. Logs: {ground.logs}"
    )
    return 0 if have_landed(result.spend) else CRITERION_FAILED


def plain_table(first: str, *numbers: str) -> Table:
    """Return an empty table whose columns after the first are numbers."""
    table = Table(box=None, pad_edge=False, caption_justify="left")
    table.add_column(first)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def latencies(result: Result) -> Table:
    """Return the quantiles, as far as so few requests support them."""
    shown = plain_table("requests", "n", "p50", "p90", "max")
    shown.caption = f"A quantile is shown where at least {MIN_BEYOND_QUANTILE} requests lie beyond it."

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
    shown = plain_table("budget gauge on /metrics", "dollars")
    shown.caption = "LiteLLM's own gauges lag behind the spend, by up to a minute."
    for name, value in sorted(result.gauges.items()):
        shown.add_row(name, f"{value:.6f}")
    return shown


def spend(result: Result) -> Table:
    """Return where the spend went."""
    shown = plain_table("spend in Postgres", "rows", "dollars")
    for landing in result.spend:
        shown.add_row(landing.where, str(landing.rows), f"{landing.dollars:.6f}")
    return shown
