"""`evenkeel compare`: compare two sets of runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Group
from rich.table import Table
from rich.text import Text

from evenkeel_lab.cli.output import show
from evenkeel_lab.errors import RIG_INVALID, WrongUse
from evenkeel_lab.stats import Margin, wording
from evenkeel_lab.stats.compare import Comparison, compare as compare_runs
from evenkeel_lab.stats.metrics import metric_named, ordered
from evenkeel_lab.stats.run_set import read_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType


@click.command()
@click.argument("baseline", metavar="A", type=click.Path(path_type=Path))
@click.argument("candidate", metavar="B", type=click.Path(path_type=Path))
@click.option(
    "--primary", metavar="METRIC", help="The metric that decides; by default A's first column, or p50 of records."
)
@click.option(
    "--margin", "margins", metavar="METRIC=X%", multiple=True, help="The smallest difference that matters: p50=3%."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
@click.pass_context
def compare(
    context: click.Context,
    baseline: Path,
    candidate: Path,
    primary: str | None,
    margins: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Compare B with A: folders of records, or CSV files with a column for each metric.

    Folders of the same name are a pair, or the n-th lines of two files. The exit code is 3 if there is no verdict on
    the metric that decides.
    """
    wanted = dict(map(_margin, margins))
    if primary:
        metric_named(primary)
    first, second = read_runs(baseline), read_runs(candidate)
    seen = first.seen | second.seen
    for option, name in [("--primary", primary), *(("--margin", name) for name in wanted)]:
        if name and name not in seen:
            raise WrongUse(
                f"{option}: these runs have no {name}.", hint=f"They have {', '.join(ordered([*seen])) or 'none'}."
            )
    comparison = compare_runs(first, second, primary=primary, margins=wanted)
    if as_json:
        click.echo(json.dumps(document(comparison)))
    else:
        show(table(comparison))
    context.exit(0 if any(compared.primary and compared.verdict for compared in comparison.figures) else RIG_INVALID)


def document(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as a JSON document."""
    return {
        "baseline": comparison.baseline,
        "candidate": comparison.candidate,
        "pairs": comparison.pairs,
        "primary": comparison.primary,
        "warnings": list(comparison.warnings),
        "figures": [
            {
                "figure": compared.metric.name,
                "primary": compared.primary,
                "baseline": list(compared.baseline),
                "candidate": list(compared.candidate),
                "verdict": asdict(compared.verdict) if compared.verdict else None,
                "p_permutation": compared.p_permutation,
                "said": wording.verdict(compared),
                "effect": wording.effect(compared),
            }
            for compared in comparison.figures
        ],
    }


def table(comparison: Comparison) -> RenderableType:
    """Return a comparison as a table."""
    shown = Table(box=None, pad_edge=False, header_style="dim")
    titles = ("", comparison.baseline, comparison.candidate, "effect", "margin", "detectable", "verdict")
    for title in titles:
        shown.add_column(title, justify="left" if title in {"", "verdict"} else "right")
    for compared in comparison.figures:
        shown.add_row(
            compared.metric.name,
            wording.amount(compared, compared.baseline),
            wording.amount(compared, compared.candidate),
            wording.effect(compared),
            wording.margin(compared),
            wording.detectable(compared),
            wording.verdict(compared),
        )
    decides = f"; {comparison.primary} decides" if comparison.primary else ""
    pairs = f"{comparison.pairs} pair{'' if comparison.pairs == 1 else 's'}"
    heading = Text(f"{comparison.candidate} against {comparison.baseline}, {pairs}{decides}")
    return Group(heading, shown, *_notes(comparison.warnings))


def _notes(warnings: Sequence[str]) -> list[Text]:
    return [Text(f"warning: {warning}", style="yellow") for warning in warnings]


def _margin(text: str) -> tuple[str, Margin]:
    name, _, size = text.partition("=")
    known = metric_named(name)
    try:
        share = float(size.strip().removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not 0 < share < 10:  # noqa: PLR2004  # a factor of eleven is no margin
        raise WrongUse(f"--margin: expected METRIC=X%, got {text!r}.", hint="An example is p50=3%.")
    return name, Margin(known.usual.scale, share, known.usual.floor)
