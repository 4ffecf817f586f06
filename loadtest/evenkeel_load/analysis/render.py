"""A summary for the terminal: readable without colour, and at 100 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evenkeel_load.analysis.statistics import QUANTILES
from evenkeel_load.analysis.summary import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from evenkeel_load.analysis.criteria import Judged
    from evenkeel_load.analysis.statistics import Spread
    from evenkeel_load.analysis.summary import Calls, Step, Summary

NONE, UNSURE = "-", "~"
ROWS = ("latency", "service", "first_byte", "first_token", "gap", "added")


def render(summary: Summary, judged: Sequence[Judged], failed: Sequence[str]) -> RenderableType:
    """Return the summary as text; `failed` lists failures that need no criterion."""
    parts: list[RenderableType] = []
    for step in summary.steps:
        parts += [Text(headline(summary, step), style="bold"), _table(step), *_errors(step), Text()]
    parts.append(
        Text("milliseconds; latency counts from the due time of a request, service from its sending", style="dim")
    )
    if any(spread.unsure for step in summary.steps for calls in step.calls.values() for spread in _spreads(calls)):
        parts.append(Text(f"{UNSURE} estimated from fewer than 20 requests beyond it", style="dim"))
    parts += [Text.assemble(_sign(ok=criterion.ok), f"  {sentence(criterion)}") for criterion in judged]
    parts += [Text.assemble(_sign(ok=False), f"  {what}") for what in failed]
    parts += [Text(f"rig-limited: {why}", style="bold yellow") for why in summary.limited]
    return Group(*parts)


def headline(summary: Summary, step: Step) -> str:
    """Return a line about the load of a step."""
    requests = sum(calls.requests for name, calls in step.calls.items() if name != ALL)
    sent = f"{requests:,} requests in {step.seconds:,.1f} s"
    if step.lag is None:
        good = f", {step.succeeded:,.1f}/s succeeded" if step.succeeded < step.answered else ""
        return f"{summary.scenario}, {step.users} users: {sent}, {step.answered:,.1f}/s{good}"
    rates = f"{step.offered:,.1f}/s offered, " if step.offered else ""
    p99 = step.lag.quantiles.get("p99")
    late = f"at most {step.lag.most:.1f} ms late" if p99 is None else f"{p99:.1f} ms late (p99)"
    return f"{summary.scenario}, {step.arrivals} arrivals: {sent}, {rates}{step.achieved:,.1f}/s sent, {late}"


def sentence(criterion: Judged) -> str:
    """Return a line about a criterion: its value and its limit."""
    value = "unknown: too few requests" if criterion.measured is None else f"{criterion.measured:,.4g}"
    return f"{criterion.what} {value} (limit {criterion.limit:,.4g})"


def _sign(*, ok: bool) -> tuple[str, str]:
    return ("ok    ", "green") if ok else ("FAILED", "bold red")


def _table(step: Step) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", "requests", *QUANTILES, "mean", "max", ">1 s", ">5 s"):
        table.add_column(name, justify="left" if not name else "right", no_wrap=True)
    has_kinds = len(step.calls) > 1
    for name, calls in step.calls.items():
        for row in ROWS:
            spread: Spread | None = getattr(calls, row)
            # The first byte of a whole answer is the answer, and that of several kinds has no meaning.
            if spread is None or (row == "first_byte" and (calls.first_token is None or name == ALL)):
                continue
            label = row.replace("_", " ")
            shares = (f"{calls.above_1s:.1%}", f"{calls.above_5s:.1%}") if row == "latency" else ("", "")
            table.add_row(
                f"{name} {label}" if has_kinds else label,
                f"{spread.count:,}",
                *(_quantile(spread, quantile) for quantile in QUANTILES),
                _ms(spread.mean),
                _ms(spread.most),
                *shares,
            )
    return table


def _errors(step: Step) -> Iterator[Text]:
    for name, calls in step.calls.items():
        if calls.errors and name != ALL:
            classes = ", ".join(f"{kind} {count:,}" for kind, count in calls.errors.items())
            yield Text(f"{name}: {calls.error_rate:.1%} failed: {classes}", style="red")
        if calls.retried and name != ALL:
            yield Text(f"{name}: the proxy retried {calls.retried:,}")


def _quantile(spread: Spread, name: str) -> str:
    if name not in spread.quantiles:
        return NONE
    return f"{UNSURE if name in spread.unsure else ''}{_ms(spread.quantiles[name])}"


def _ms(value: float) -> str:
    return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"  # noqa: PLR2004  # four digits are enough


def _spreads(calls: Calls) -> Iterator[Spread]:
    return (spread for row in ROWS if (spread := getattr(calls, row)) is not None)
