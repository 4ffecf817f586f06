"""Section on limits: what the session cannot show, and every caveat by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.report.markdown import items, text
from evenkeel_lab.stats import Scale, wording
from evenkeel_lab.stats.metrics import METRICS
from evenkeel_load.arrivals import CLOSED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel_lab.report.report_data import ReportData

# From this share of a core, a process has no spare time.
SATURATED = 0.7


def limitations(data: ReportData, _: Mapping[str, str]) -> str:
    """Return the list of limits and caveats."""
    caveats = [f"**{caveat.name}**: {text(caveat.sentence)}" for caveat in data.caveats]
    return "\n\n".join(["## Limits", items([*_limits(data), *caveats])])


def _limits(data: ReportData) -> Iterator[str]:
    investigation = data.investigation
    if all(arm.subject is Kind.FUNCTION for arm in investigation.arms.values()):
        yield "One machine. Ratios carry over to other machines, times do not."
        return
    yield (
        "One machine, whose cores the proxies share with the load, the mock provider, Postgres and Valkey. Effects "
        "carry over to other machines, milliseconds do not."
    )
    if investigation.load.arrivals == CLOSED and investigation.load.duration:
        yield _closed_loop(data)


def _closed_loop(data: ReportData) -> str:
    """Return a sentence on what latency means if clients send again at once."""
    loop = "Each client sends again as soon as it is answered"
    figures = {
        compared.metric.name: compared
        for comparison in data.candidates
        for compared in comparison.figures
        if compared.verdict
    }
    if not {"throughput", "cpu_ms"} <= figures.keys():
        return f"{loop}, so latencies are those of a saturated proxy, if it is the slowest part."
    rate, cost = (wording.middle(figures[name].baseline, Scale.FACTOR) for name in ("throughput", "cpu_ms"))
    busy = rate * cost / 1000
    if busy < SATURATED:
        return f"{loop}. The proxy uses {busy * 100:.0f} % of a core, so most of a latency is the provider's."
    users = data.investigation.load_of(data.investigation.baseline).users
    bears, mean = wording.size(METRICS["throughput"], rate), wording.size(METRICS["mean"], users / rate * 1000)
    return (
        f"{loop}, and the proxy uses {busy * 100:.0f} % of a core. So a mean latency is the number of clients divided "
        f"by the throughput ({users:,} / {bears} = {mean}): latency and throughput show the same effect. A proxy that "
        "is not saturated loses less."
    )
