"""`evenkeel demo`: accounts fail behind LiteLLM's own router and behind the plugin's, side by side."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import time
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from evenkeel_lab.bench.prometheus_callback.costs import cpu_of_an_event
from evenkeel_lab.bench.prometheus_callback.events import events_file, read_events
from evenkeel_lab.bench.prometheus_callback.replay_process import RECORDED, ReplaySetup, preloaded, replay_setups
from evenkeel_lab.cli.output import results
from evenkeel_lab.demo import screen, story
from evenkeel_lab.demo.contest import Contestant, run_contest
from evenkeel_lab.investigation_spec.read import home
from evenkeel_lab.progress import shown_on
from evenkeel_lab.stack.litellm import fixtures
from evenkeel_lab.stack.litellm.accounts import mock_settings
from evenkeel_lab.stack.litellm.config import Journal, Prometheus, ProxySpec, Rotation
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION
from evenkeel_lab.stack.stack import Options, stack, task_group

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stack.stack import Stack

CRITERION_FAILED = 1
STOCK, PLUGIN = "stock", "plugin"
TITLES = {STOCK: "LiteLLM's own router", PLUGIN: "with litellm-evenkeel"}
# More than LiteLLM's default of 2, for both.
SETTINGS = {
    "router_settings": {"num_retries": 3, "timeout": 5.0},
    "litellm_settings": {"request_timeout": 5.0},
}
# An answer of the mock provider takes about 0.1 s.
LATENCY = {"ttft_ms": "lognormal(median=100, sigma=0.4)", "length": 16}
ROUNDS = 2
NEXT = "callback_overhead"
# Longer than the demonstration: a connection that closes under a request has nothing to do with the router.
KEEP_ALIVE_SECONDS = 600


@click.command()
@click.option("--stay/--no-stay", default=None, help="Keep the live page until Ctrl-C; by default on a terminal.")
def demo(*, stay: bool | None) -> None:
    """Run two real proxies, with LiteLLM's own router and with the plugin, while their accounts fail.

    Both proxies get the same requests, retries and timeouts. It takes a minute and a half once everything is installed.
    """
    click.get_current_context().exit(asyncio.run(run(stay=stay)))


async def run(*, stay: bool | None = None) -> int:
    """Run the demonstration; return the exit code."""
    began = time.monotonic()
    console, errors = results(), Console(stderr=True)
    steps = shown_on(errors)
    accounts = [account for prefix in TITLES for account in story.accounts(prefix)]
    options = Options(mock_settings={"latency": LATENCY, **mock_settings(accounts)})
    async with stack(options, steps=steps) as ground, _prepared(ground, steps) as (contestants, setup):
        _introduce(console)
        await _show_contest(console, ground.mock.url, contestants)
        console.print(screen.result(contestants))
        with steps.step("what a Prometheus callback costs for each request"):
            events = read_events(events_file(RECORDED))
            cost = await cpu_of_an_event(setup, events, ROUNDS)
        console.print(
            f"\nThe Prometheus callback takes {cost.stock:,.0f} µs for each request with LiteLLM's own, "
            f"{cost.ours:,.0f} µs with the plugin's: {cost.ratio:.0f} times less."
        )
        plugin = contestants[1]
        seconds = time.monotonic() - began
        console.print(f"After {seconds:.0f} s.{_next_step()}")
        if console.is_terminal if stay is None else stay:
            await _stay(console, plugin)
    return 0 if plugin.served >= contestants[0].served else CRITERION_FAILED


@contextlib.asynccontextmanager
async def _prepared(ground: Stack, steps: Steps) -> AsyncIterator[tuple[list[Contestant], ReplaySetup]]:
    """Boot both proxies, and import LiteLLM for the cost of an event, all at once."""
    async with contextlib.AsyncExitStack() as running:

        async def boot(number: int, prefix: str) -> Contestant:
            is_ours = prefix == PLUGIN
            spec = ProxySpec(
                DEFAULT_VERSION,
                prometheus=Prometheus.EVENKEEL if is_ours else Prometheus.STOCK,
                rotation=Rotation.EVENKEEL if is_ours else Rotation.OFF,
                journal=Journal.SQLITE if is_ours else Journal.OFF,
                settings=SETTINGS,
                accounts=story.accounts(prefix),
                keep_alive=KEEP_ALIVE_SECONDS,
            )
            proxy = await running.enter_async_context(ground.proxy(spec, name=prefix, database_number=number))
            entities = await fixtures.create(proxy)
            return Contestant(TITLES[prefix], prefix, proxy, entities.key, entities.customers)

        async def load_events() -> ReplaySetup:
            with steps.step("LiteLLM, to replay events"):
                setups = await replay_setups([DEFAULT_VERSION])
                return await running.enter_async_context(preloaded(setups[DEFAULT_VERSION]))

        async with task_group() as group:
            stock, plugin = group.create_task(boot(1, STOCK)), group.create_task(boot(2, PLUGIN))
            setup = group.create_task(load_events())
        yield [stock.result(), plugin.result()], setup.result()


def _next_step() -> str:
    """Return the command that measures more, if this is a clone, which has the investigation."""
    if not (home() / NEXT).is_dir():
        return ""
    return f" Next: {shutil.which('evenkeel') or '.venv/bin/evenkeel'} investigate {NEXT} --quick"


def _introduce(console: Console) -> None:
    count = len(story.due_times())
    console.print(
        f"Eight accounts serve one model. Both proxies get the same {count} requests in {story.SECONDS:.0f} seconds, "
        f"with three retries each, while the accounts fail one after another.\n",
        style="dim",
    )


async def _show_contest(console: Console, mock: str, contestants: list[Contestant]) -> None:
    """Show the contest in place on a terminal; elsewhere a line for each chapter, and the lanes at the end."""
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            await run_contest(
                mock, contestants, lambda second: live.update(screen.frame(contestants, second), refresh=True)
            )
        return
    printed = 0

    def print_new_chapters(second: float) -> None:
        nonlocal printed
        for chapter in story.chapters_until(second)[printed:]:
            printed += 1
            console.print(f"{chapter.at:4.0f} s  {chapter.about}")

    await run_contest(mock, contestants, print_new_chapters)
    console.print(screen.frame(contestants, story.SECONDS))


async def _stay(console: Console, plugin: Contestant) -> None:
    """Keep the proxy with the plugin until Ctrl-C."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    console.print(
        Text.assemble(
            "\nThe live page: ",
            (f"{plugin.proxy.url}/evenkeel/", "bold"),
            f"  key: {plugin.proxy.master_key}\nCtrl-C ends it.",
        )
    )
    await stop.wait()
