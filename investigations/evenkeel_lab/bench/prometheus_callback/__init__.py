"""What our Prometheus callback costs, and whether it says what LiteLLM's own does, on the same recorded events."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.blocking_delay import Stalls, delay, stalls
from evenkeel_lab.bench.prometheus_callback.costs import Costs, costs
from evenkeel_lab.bench.prometheus_callback.differential import Outcome, differential
from evenkeel_lab.bench.prometheus_callback.environments import RECORDED, VERSIONS, memray_folder, python_of
from evenkeel_lab.bench.prometheus_callback.events import place_of, read_events
from evenkeel_lab.bench.prometheus_callback.high_cardinality import Crowded, both
from evenkeel_lab.bench.prometheus_callback.running import Ground
from evenkeel_lab.bench.prometheus_callback.settings_matrix import MATRIX, OF_EACH_VERSION
from evenkeel_lab.bench.result import Metric
from evenkeel_lab.stack.folders import log_folder
from evenkeel_lab.stack.litellm.environment import plugin_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.progress import Steps

EVENTS: Final = 5_000
EVENTS_EACH: Final = 720
"""Under each of the other settings: all that there are, recorded or varied, come once."""


async def grounds(versions: Sequence[str] = VERSIONS) -> dict[str, Ground]:
    """Return where events are replayed, for each version: the real proxy's modules, and the plugin as it is now."""
    log = log_folder() / "setup.log"
    beside = (await plugin_folder(), await memray_folder(log))
    return {version: Ground(await python_of(version, log), beside) for version in versions}


async def bench_callback(steps: Steps) -> list[Metric]:
    """Measure."""
    recorded = read_events(place_of(RECORDED))
    with steps.step(f"LiteLLM {', '.join(VERSIONS)}"):
        places = await grounds()
    with steps.step(f"{EVENTS:,} events through both callbacks, {len(MATRIX)} settings"):
        first, *others = VERSIONS
        bare = replace(places[first], bare=True)
        outcomes = {
            first: [
                await differential(places[first], recorded, EVENTS),
                # Settings are of the callback, not of the proxy, whose modules take half a minute each time.
                *[await differential(bare, recorded, EVENTS_EACH, name) for name in MATRIX if name != "none"],
            ],
        }
        for version in others:
            outcomes[version] = [
                await differential(places[version], recorded, EVENTS_EACH, name) for name in OF_EACH_VERSION
            ]
    measured = []
    for version, ground in places.items():
        with steps.step(f"CPU and allocation of a success event, LiteLLM {version}"):
            measured.append(await costs(ground, version, recorded))
    with steps.step("fifty thousand end users"):
        ours, stock = await both(places[first], recorded)
    with steps.step("a Postgres that is dead, and one that hangs"):
        waited = await stalls(bare, recorded)
    return metrics(measured, outcomes, ours, stock, waited)


def metrics(
    measured: Sequence[Costs],
    outcomes: Mapping[str, Sequence[Outcome]],
    ours: Crowded,
    stock: Crowded,
    waited: Sequence[Stalls],
) -> list[Metric]:
    """Return the figures. A bound holds in all versions: what is told is the worst of them."""
    cpu = "; ".join(f"{one.litellm}: stock {one.cpu.stock:,.0f}, ours {one.cpu.ours:,.1f} us" for one in measured)
    asked = "; ".join(
        f"{one.litellm}: {one.bytes.stock / 1024:,.1f} KiB in {one.blocks.stock:,.0f} blocks, "
        f"ours {one.bytes.ours / 1024:,.2f} in {one.blocks.ours:,.0f}"
        for one in measured
    )
    told = [outcome for version in outcomes.values() for outcome in version]
    differing = [f"{version}, {one}" for version, all_ in outcomes.items() for one in all_ if one.undocumented]
    compared = f"{sum(one.events for one in told):,} events, {sum(one.series for one in told):,} series"
    crowd = f"stock with {stock.users:,}: {stock.mib:.1f} MiB, {stock.ms:.0f} ms"
    return [
        Metric("cpu_us_per_event", max(one.cpu.ours for one in measured), "us", None, cpu),
        Metric("cpu_ratio_stock", min(one.cpu.ratio for one in measured), "x", ">= 12", cpu),
        Metric("alloc_ratio_stock", min(one.bytes.ratio for one in measured), "x", ">= 5", asked),
        Metric("alloc_blocks_ratio_stock", min(one.blocks.ratio for one in measured), "x", None, asked),
        Metric(
            "undocumented_differences",
            sum(len(one.undocumented) for one in told),
            "",
            "<= 0",
            "; ".join([compared, *differing[:3]]),
        ),
        Metric("scrape_50k_users_mib", ours.mib, "MiB", "<= 5", crowd),
        Metric("scrape_50k_users_ms", ours.ms, "ms", "<= 300", crowd),
        Metric("scrape_50k_users_lost", abs(ours.lost), "", "<= 0", f"of {ours.users:,} requests"),
        Metric("dead_postgres_delay_ms", delay(waited), "ms", "<= 1", "; ".join(map(str, waited))),
    ]
