"""`evenkeel diagnose`: what held a recorded load back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evenkeel_lab import formatting
from evenkeel_lab.cli.output import results
from evenkeel_lab.diagnosis.config_checks import Setup, check_config
from evenkeel_lab.diagnosis.diagnose import Bound, Diagnosis, diagnose as answer
from evenkeel_lab.diagnosis.evidence import read
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact
from evenkeel_lab.diagnosis.run_paths import find_runs
from evenkeel_lab.diagnosis.stub_comparison import compare_with_stub
from evenkeel_lab.doctor import read as read_config
from evenkeel_lab.doctor.settings import worker_count
from evenkeel_lab.errors import RIG_INVALID, WrongUse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.diagnosis.latency_breakdown import Split
    from evenkeel_load.analysis.statistics import Spread

STYLES = {Impact.BINDS: "bold red", Impact.COSTS: "yellow"}
PARTS = {"upstream": "upstream", "proxy": "proxy", "stream": "stream", "wait": "client"}
# A quantile that half of the tenths can tell; they have a tenth of the requests.
TAILS = ("p99", "p95", "p90")
INDENT = (0, 0, 0, 7)


@click.command()
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--config", metavar="PATH", type=click.Path(path_type=Path), help="The proxy's YAML: what it does for each request."
)
@click.option(
    "--workers", metavar="N", type=click.IntRange(min=1), help="How many workers it has; NUM_WORKERS unless given."
)
@click.option(
    "--stub", metavar="RUN", type=click.Path(path_type=Path), help="The same load, with a stub for the provider."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the report.")
@click.pass_context
def diagnose(
    context: click.Context, run: Path, config: Path | None, workers: int | None, stub: Path | None, *, as_json: bool
) -> None:
    """Say what held a load back: the provider, the proxy and which part of it, or the rig.

    RUN is a folder of records, or of a session, or of one meeting in it. The exit code is 3 when the rig was at fault,
    of several runs in each of them but those of the mock alone.
    """
    if workers and not config:
        raise click.UsageError("--workers is about a configuration: name it with --config.")
    setup = Setup(read_config(config), os.environ, worker_count(os.environ, workers) or 1) if config else None
    other = _one(stub) if stub else None

    def more(evidence: Evidence) -> list[Finding]:
        if evidence.is_direct:
            return []
        return [
            *([compare_with_stub(evidence, other)] if other else []),
            *(check_config(setup, evidence) if setup else []),
        ]

    folders = find_runs(run)
    if (config or stub) and len(folders) > 1:
        raise WrongUse(
            f"{run} holds {len(folders)} runs: --config and --stub are about one.", hint="Name the one that they fit."
        )
    told = [(answer(evidence, more(evidence)), evidence.is_direct) for folder in folders for evidence in read(folder)]
    found = [one for one, _ in told]
    if as_json:
        click.echo(json.dumps(document(found)))
    elif len(found) == 1:
        results().print(report(found[0]))
    else:
        results().print(overview(found, run))
    # The mock alone is bound by the mock, however the rig fares beside it.
    asked = [one for one, is_direct in told if not is_direct] or found
    context.exit(RIG_INVALID if all(one.bound is Bound.RIG for one in asked) else 0)


def _one(folder: Path) -> Evidence:
    """Return the only run of a folder."""
    found = [evidence for one in find_runs(folder) for evidence in read(one)]
    if len(found) != 1:
        raise WrongUse(f"{folder} holds {len(found)} runs.", hint="Name one: the one that is like RUN.")
    return found[0]


def document(found: Sequence[Diagnosis]) -> dict[str, Any]:
    """Return diagnoses for a program."""
    return {"runs": [one.document() for one in found]}


def report(found: Diagnosis) -> RenderableType:
    """Return one diagnosis for a person."""
    parts: list[RenderableType] = [Text(found.name, style="dim"), Text(found.headline, style="bold")]
    parts += [Text(" ".join(found.details)), Text()]
    for one in found.findings:
        if one.impact in STYLES:
            parts += [*_told(one), Text()]
    parts += _short(found.findings)
    return Group(*parts, *_over_time(found))


def overview(found: Sequence[Diagnosis], path: Path) -> RenderableType:
    """Return a line for each of several."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("run", "p50", "upstream", "proxy", "client", ""):
        table.add_column(title, justify="right" if title not in {"run", ""} else "left", no_wrap=title != "")
    for one in found:
        split = one.split
        shares = [
            formatting.share(split.share(name)) if split.is_upstream_known else "-"
            for name in ("upstream", "proxy", "wait")
        ]
        name = one.name.removeprefix(f"{path}/").removeprefix(f"{path}, ")
        table.add_row(name, _quantile(split.latency, "p50"), *shares, one.headline)
    return Group(table, Text("shares of the mean latency; name one of them to see why", style="dim"))


def _told(one: Finding) -> Iterator[RenderableType]:
    """Return a finding that matters, with all it rests on."""
    yield Text.assemble((f"{one.impact:<7}", STYLES[one.impact]), (f"{one.check}: ", "bold"), one.verdict)
    lines = [f"because {told}" if number == 0 else f"and {told}" for number, told in enumerate(one.because)]
    if one.why:
        lines.append(f"sure: {one.confidence}, {one.why}")
    elif one.confidence is not Confidence.HIGH:
        lines.append(f"sure: {one.confidence}")
    if one.hint:
        lines.append(f"hint: {one.hint}")
    yield from (Padding(Text(line), INDENT, expand=False) for line in lines)


def _short(findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """Return what is not the reason, and what was not recorded: a line for each."""
    for one in findings:
        if one.impact is Impact.CLEAR:
            because = f" ({'; '.join(one.because)})" if one.because else ""
            yield Text.assemble(("clear  ", "green"), (f"{one.check}: ", "bold"), one.verdict, (because, "dim"))
    missing: dict[str, list[str]] = {}
    for one in findings:
        if one.impact is Impact.UNKNOWN:
            missing.setdefault(one.hint, []).append(one.verdict)
    for hint, told in missing.items():
        yield Text.assemble(("untold ", "dim"), f"not recorded: {'; '.join(told)}", (f" (hint: {hint})", "dim"))


def _over_time(found: Diagnosis) -> Iterator[RenderableType]:
    """Return the tenths of a load."""
    rows = [(f"{one.split.begin:.1f}", one.split, one.cores) for one in found.over_time]
    if not rows:
        return
    tail = next((name for name in TAILS if 2 * sum(_has(one, name) for _, one, _ in rows) >= len(rows)), TAILS[-1])
    parts = {name: title for name, title in PARTS.items() if getattr(found.split, name) is not None}
    if not found.split.is_upstream_known:
        parts = {"latency": "latency", "wait": "client"}
    table = Table(box=None, pad_edge=False, header_style="dim")
    titles = ["from second", "requests", "failed", "answered", "at once"]
    titles += [f"{title} {name}" for title in parts.values() for name in ("p50", tail)]
    with_cores = any(cores is not None for _, _, cores in rows)
    for title in [*titles, *(["proxy cores"] if with_cores else [])]:
        table.add_column(title, justify="right")
    for label, split, cores in [*rows, ("all", found.split, None)]:
        cells = [label, f"{split.requests:,}", f"{split.failed:,}", formatting.rate(split.answered)]
        cells.append(formatting.mean(split.in_flight))
        cells += [_quantile(getattr(split, name), which) for name in parts for which in ("p50", tail)]
        table.add_row(*cells, *([f"{cores:.2f}" if cores is not None else ""] if with_cores else []))
    yield Text()
    yield table
    yield Text("~ fewer than 20 requests lie beyond: take it as a hint", style="dim")


def _has(split: Split, name: str) -> bool:
    return split.latency is not None and name in split.latency.quantiles


def _quantile(spread: Spread | None, name: str) -> str:
    if spread is None or name not in spread.quantiles:
        return "-"
    return f"{'~' if name in spread.unsure else ''}{formatting.ms(spread.quantiles[name])}"
