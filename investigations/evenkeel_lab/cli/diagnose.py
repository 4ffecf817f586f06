"""`evenkeel diagnose`: find the bottleneck of a recorded load."""

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
from evenkeel_lab.cli.output import show
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
# Quantiles in order of preference. One is used if half of the tenths of the load have it.
TAILS = ("p99", "p95", "p90")
INDENT = (0, 0, 0, 7)


@click.command()
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--config", metavar="PATH", type=click.Path(path_type=Path), help="The proxy's YAML, to check its settings."
)
@click.option(
    "--workers", metavar="N", type=click.IntRange(min=1), help="The number of its workers; by default NUM_WORKERS."
)
@click.option(
    "--stub",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="A run of the same load with a stub for the provider.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the report.")
@click.pass_context
def diagnose(
    context: click.Context, run: Path, config: Path | None, workers: int | None, stub: Path | None, *, as_json: bool
) -> None:
    """Find the bottleneck of a load: the provider, the proxy and its part, or the rig.

    RUN is a folder of records, of a session, or of a pair in it. The exit code is 3 if the rig was the bottleneck; of
    several runs, in all but those of the mock alone.
    """
    if workers and not config:
        raise click.UsageError("--workers needs --config.")
    setup = Setup(read_config(config), os.environ, worker_count(os.environ, workers) or 1) if config else None
    other = _only_run(stub) if stub else None

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
            f"{run} has {len(folders)} runs: --config and --stub need a single one.", hint="Name one of them."
        )
    diagnosed = [
        (answer(evidence, more(evidence)), evidence.is_direct) for folder in folders for evidence in read(folder)
    ]
    diagnoses = [diagnosis for diagnosis, _ in diagnosed]
    if as_json:
        click.echo(json.dumps(document(diagnoses)))
    elif len(diagnoses) == 1:
        show(report(diagnoses[0]))
    else:
        show(overview(diagnoses, run))
    # Runs of the mock alone are bound by the mock, whatever the rig does.
    judged = [diagnosis for diagnosis, is_direct in diagnosed if not is_direct] or diagnoses
    context.exit(RIG_INVALID if all(diagnosis.bound is Bound.RIG for diagnosis in judged) else 0)


def _only_run(folder: Path) -> Evidence:
    """Return the only run of a folder."""
    runs = [evidence for path in find_runs(folder) for evidence in read(path)]
    if len(runs) != 1:
        raise WrongUse(f"{folder} has {len(runs)} runs.", hint="Name the one with the same load as RUN.")
    return runs[0]


def document(diagnoses: Sequence[Diagnosis]) -> dict[str, Any]:
    """Return diagnoses as a JSON document."""
    return {"runs": [diagnosis.document() for diagnosis in diagnoses]}


def report(diagnosis: Diagnosis) -> RenderableType:
    """Return a diagnosis as text."""
    parts: list[RenderableType] = [Text(diagnosis.name, style="dim"), Text(diagnosis.headline, style="bold")]
    parts += [Text(" ".join(diagnosis.details)), Text()]
    for finding in diagnosis.findings:
        if finding.impact in STYLES:
            parts += [*_finding_lines(finding), Text()]
    parts += _short(diagnosis.findings)
    return Group(*parts, *_over_time(diagnosis))


def overview(diagnoses: Sequence[Diagnosis], path: Path) -> RenderableType:
    """Return a table with a line for each diagnosis."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("run", "p50", "upstream", "proxy", "client", ""):
        table.add_column(title, justify="right" if title not in {"run", ""} else "left", no_wrap=title != "")
    for diagnosis in diagnoses:
        split = diagnosis.split
        shares = [
            formatting.share(split.share(name)) if split.is_upstream_known else "-"
            for name in ("upstream", "proxy", "wait")
        ]
        name = diagnosis.name.removeprefix(f"{path}/").removeprefix(f"{path}, ")
        table.add_row(name, _quantile(split.latency, "p50"), *shares, diagnosis.headline)
    return Group(table, Text("shares of the mean latency; name one run for details", style="dim"))


def _finding_lines(finding: Finding) -> Iterator[RenderableType]:
    """Yield the lines of a finding that matters, with its evidence."""
    yield Text.assemble(
        (f"{finding.impact:<7}", STYLES[finding.impact]), (f"{finding.check}: ", "bold"), finding.verdict
    )
    lines = [f"because {reason}" if number == 0 else f"and {reason}" for number, reason in enumerate(finding.because)]
    if finding.why:
        lines.append(f"sure: {finding.confidence}, {finding.why}")
    elif finding.confidence is not Confidence.HIGH:
        lines.append(f"sure: {finding.confidence}")
    if finding.hint:
        lines.append(f"hint: {finding.hint}")
    yield from (Padding(Text(line), INDENT, expand=False) for line in lines)


def _short(findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """Yield a line for each cause that is ruled out, and one for what was not recorded."""
    for finding in findings:
        if finding.impact is Impact.CLEAR:
            because = f" ({'; '.join(finding.because)})" if finding.because else ""
            yield Text.assemble(("clear  ", "green"), (f"{finding.check}: ", "bold"), finding.verdict, (because, "dim"))
    missing: dict[str, list[str]] = {}
    for finding in findings:
        if finding.impact is Impact.UNKNOWN:
            missing.setdefault(finding.hint, []).append(finding.verdict)
    for hint, verdicts in missing.items():
        yield Text.assemble(("unknown ", "dim"), f"not recorded: {'; '.join(verdicts)}", (f" (hint: {hint})", "dim"))


def _over_time(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    """Yield the table of the tenths of a load."""
    rows = [(f"{tenth.split.begin:.1f}", tenth.split, tenth.cores) for tenth in diagnosis.over_time]
    if not rows:
        return
    tail = next((name for name in TAILS if 2 * sum(_has(split, name) for _, split, _ in rows) >= len(rows)), TAILS[-1])
    parts = {name: title for name, title in PARTS.items() if getattr(diagnosis.split, name) is not None}
    if not diagnosis.split.is_upstream_known:
        parts = {"latency": "latency", "wait": "client"}
    table = Table(box=None, pad_edge=False, header_style="dim")
    titles = ["from second", "requests", "failed", "answered", "at once"]
    titles += [f"{title} {name}" for title in parts.values() for name in ("p50", tail)]
    with_cores = any(cores is not None for _, _, cores in rows)
    for title in [*titles, *(["proxy cores"] if with_cores else [])]:
        table.add_column(title, justify="right")
    for label, split, cores in [*rows, ("all", diagnosis.split, None)]:
        cells = [label, f"{split.requests:,}", f"{split.failed:,}", formatting.rate(split.answered)]
        cells.append(formatting.mean(split.in_flight))
        cells += [_quantile(getattr(split, name), which) for name in parts for which in ("p50", tail)]
        table.add_row(*cells, *([f"{cores:.2f}" if cores is not None else ""] if with_cores else []))
    yield Text()
    yield table
    yield Text("~ estimated from fewer than 20 requests beyond it", style="dim")


def _has(split: Split, name: str) -> bool:
    return split.latency is not None and name in split.latency.quantiles


def _quantile(spread: Spread | None, name: str) -> str:
    if spread is None or name not in spread.quantiles:
        return "-"
    return f"{'~' if name in spread.unsure else ''}{formatting.ms(spread.quantiles[name])}"
