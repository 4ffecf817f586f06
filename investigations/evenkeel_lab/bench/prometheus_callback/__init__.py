"""Cost and correctness of our Prometheus callback against LiteLLM's own, on the same recorded events."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.blocking_delay import Delay, added_delay_ms, blocking_delays
from evenkeel_lab.bench.prometheus_callback.costs import Costs, measure_costs
from evenkeel_lab.bench.prometheus_callback.differential import Comparison, compare_callbacks
from evenkeel_lab.bench.prometheus_callback.events import events_file, read_events
from evenkeel_lab.bench.prometheus_callback.high_cardinality import LargeScrape, large_scrapes
from evenkeel_lab.bench.prometheus_callback.replay_process import RECORDED, VERSIONS, replay_setups
from evenkeel_lab.bench.prometheus_callback.settings_matrix import MATRIX, OF_EACH_VERSION
from evenkeel_lab.bench.result import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.progress import Steps

EVENTS: Final = 5_000
EVENTS_EACH: Final = 720
"""The number of events under each of the other settings: every event, recorded or varied, comes once."""


async def bench_callback(steps: Steps) -> list[Metric]:
    """Run the benchmark."""
    recorded = read_events(events_file(RECORDED))
    with steps.step(f"LiteLLM {', '.join(VERSIONS)}"):
        setups = await replay_setups()
    with steps.step(f"{EVENTS:,} events through both callbacks, {len(MATRIX)} settings"):
        first, *others = VERSIONS
        bare = replace(setups[first], bare=True)
        comparisons = {
            first: [
                await compare_callbacks(setups[first], recorded, EVENTS),
                # Settings are of the callback, not of the proxy, whose modules take half a minute each time.
                *[await compare_callbacks(bare, recorded, EVENTS_EACH, name) for name in MATRIX if name != "none"],
            ],
        }
        for version in others:
            comparisons[version] = [
                await compare_callbacks(setups[version], recorded, EVENTS_EACH, name) for name in OF_EACH_VERSION
            ]
    costs = []
    for version, setup in setups.items():
        with steps.step(f"CPU and allocation of a success event, LiteLLM {version}"):
            costs.append(await measure_costs(setup, version, recorded))
    with steps.step("fifty thousand end users"):
        ours, stock = await large_scrapes(setups[first], recorded)
    with steps.step("a Postgres that is dead, and one that hangs"):
        delays = await blocking_delays(bare, recorded)
    return metrics(costs, comparisons, ours, stock, delays)


def metrics(
    costs: Sequence[Costs],
    comparisons: Mapping[str, Sequence[Comparison]],
    ours: LargeScrape,
    stock: LargeScrape,
    delays: Sequence[Delay],
) -> list[Metric]:
    """Return the metrics. A bound holds in all versions, so the value is that of the worst version."""
    cpu = "; ".join(f"{cost.litellm}: stock {cost.cpu.stock:,.0f}, ours {cost.cpu.ours:,.1f} us" for cost in costs)
    allocated = "; ".join(
        f"{cost.litellm}: {cost.bytes.stock / 1024:,.1f} KiB in {cost.blocks.stock:,.0f} blocks, "
        f"ours {cost.bytes.ours / 1024:,.2f} in {cost.blocks.ours:,.0f}"
        for cost in costs
    )
    by_version = [(version, comparison) for version, all_ in comparisons.items() for comparison in all_]
    differing = [f"{version}, {comparison}" for version, comparison in by_version if comparison.undocumented]
    events = sum(comparison.events for _, comparison in by_version)
    series = sum(comparison.series for _, comparison in by_version)
    stock_scrape = f"stock with {stock.users:,}: {stock.mib:.1f} MiB, {stock.ms:.0f} ms"
    return [
        Metric("cpu_us_per_event", max(cost.cpu.ours for cost in costs), "us", None, cpu),
        Metric("cpu_ratio_stock", min(cost.cpu.ratio for cost in costs), "x", ">= 12", cpu),
        Metric("alloc_ratio_stock", min(cost.bytes.ratio for cost in costs), "x", ">= 5", allocated),
        Metric("alloc_blocks_ratio_stock", min(cost.blocks.ratio for cost in costs), "x", None, allocated),
        Metric(
            "undocumented_differences",
            sum(len(comparison.undocumented) for _, comparison in by_version),
            "",
            "<= 0",
            "; ".join([f"{events:,} events, {series:,} series", *differing[:3]]),
        ),
        Metric("scrape_50k_users_mib", ours.mib, "MiB", "<= 5", stock_scrape),
        Metric("scrape_50k_users_ms", ours.ms, "ms", "<= 300", stock_scrape),
        Metric("scrape_50k_users_lost", abs(ours.lost), "", "<= 0", f"of {ours.users:,} requests"),
        Metric("dead_postgres_delay_ms", added_delay_ms(delays), "ms", "<= 1", "; ".join(map(str, delays))),
    ]
