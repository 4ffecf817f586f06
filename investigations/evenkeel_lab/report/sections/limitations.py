"""What this session does not say, and every doubt about it, by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.report.markdown import items, text
from evenkeel_lab.stats import Scale, wording
from evenkeel_lab.stats.metrics import METRICS
from evenkeel_load.arrivals import CLOSED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel_lab.report.report_data import Case

# From which share of a core on a process has no time to spare.
SATURATED = 0.7


def doubted(case: Case, _: Mapping[str, str]) -> str:
    """List them."""
    said = [f"**{doubt.name}**: {text(doubt.says)}" for doubt in case.doubts]
    return "\n\n".join(["## Limits", items([*_limits(case), *said])])


def _limits(case: Case) -> Iterator[str]:
    asked = case.asked
    if all(arm.subject is Kind.FUNCTION for arm in asked.arms.values()):
        yield "One machine: ratios carry over, times do not."
        return
    yield (
        "One machine, whose cores the proxies share with the load, the mock provider, Postgres and Valkey: effects "
        "carry over, milliseconds do not."
    )
    if asked.load.arrivals == CLOSED and asked.load.duration:
        yield _in_a_loop(case)


def _in_a_loop(case: Case) -> str:
    """Say what latency is where clients send again at once."""
    loop = "Each client sends again as soon as it is answered"
    figures = {found.metric.name: found for one in case.candidates for found in one.figures if found.verdict}
    if not {"throughput", "cpu_ms"} <= figures.keys():
        return f"{loop}: latencies are those of a proxy that has no time to spare, if it is the slowest part."
    rate, cost = (wording.middle(figures[name].baseline, Scale.FACTOR) for name in ("throughput", "cpu_ms"))
    busy = rate * cost / 1000
    if busy < SATURATED:
        return f"{loop}, and the proxy is busy for {busy * 100:.0f} % of a core: most of a latency is the provider's."
    users = case.asked.load_of(case.asked.baseline).users
    bears, mean = wording.size(METRICS["throughput"], rate), wording.size(METRICS["mean"], users / rate * 1000)
    return (
        f"{loop}, and the proxy is busy for {busy * 100:.0f} % of a core: a mean latency is the number of clients, "
        f"divided by what it bears ({users:,} / {bears} = {mean}). Latencies here say once more what is lost of that; "
        "a proxy with time to spare loses less."
    )
