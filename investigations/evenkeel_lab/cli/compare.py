"""`evenkeel compare`: what may be said of two sets of runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Group
from rich.table import Table
from rich.text import Text

from evenkeel_lab.cli.output import results
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
    "--primary", metavar="FIGURE", help="The figure that decides; A's first column, or p50 of records, if not given."
)
@click.option("--margin", "margins", metavar="FIGURE=X%", multiple=True, help="How much does not matter: p50=3%.")
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
    """Say how B differs from A: folders of records, or CSV files with a column for each figure.

    Folders of one name are a pair, or the n-th lines of two files. The exit code is 3 when there is no basis for a
    verdict on the figure that decides.
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
    found = compare_runs(first, second, primary=primary, margins=wanted)
    if as_json:
        click.echo(json.dumps(document(found)))
    else:
        results().print(table(found))
    context.exit(0 if any(one.primary and one.verdict for one in found.figures) else RIG_INVALID)


def document(found: Comparison) -> dict[str, Any]:
    """Return a comparison for a program."""
    return {
        "baseline": found.baseline,
        "candidate": found.candidate,
        "pairs": found.pairs,
        "primary": found.primary,
        "warnings": list(found.warnings),
        "figures": [
            {
                "figure": one.metric.name,
                "primary": one.primary,
                "baseline": list(one.baseline),
                "candidate": list(one.candidate),
                "verdict": asdict(one.verdict) if one.verdict else None,
                "p_permutation": one.p_permutation,
                "said": wording.verdict(one),
                "effect": wording.effect(one),
            }
            for one in found.figures
        ],
    }


def table(found: Comparison) -> RenderableType:
    """Return a comparison for a person."""
    shown = Table(box=None, pad_edge=False, header_style="dim")
    titles = ("", found.baseline, found.candidate, "effect", "margin", "detectable", "verdict")
    for title in titles:
        shown.add_column(title, justify="left" if title in {"", "verdict"} else "right")
    for one in found.figures:
        shown.add_row(
            one.metric.name,
            wording.amount(one, one.baseline),
            wording.amount(one, one.candidate),
            wording.effect(one),
            wording.margin(one),
            wording.detectable(one),
            wording.verdict(one),
        )
    decides = f"; {found.primary} decides" if found.primary else ""
    heading = Text(
        f"{found.candidate} against {found.baseline}, {found.pairs} pair{'' if found.pairs == 1 else 's'}{decides}"
    )
    return Group(heading, shown, *_notes(found.warnings))


def _notes(warnings: Sequence[str]) -> list[Text]:
    return [Text(f"warning: {one}", style="yellow") for one in warnings]


def _margin(text: str) -> tuple[str, Margin]:
    name, _, size = text.partition("=")
    known = metric_named(name)
    try:
        share = float(size.strip().removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not 0 < share < 10:  # noqa: PLR2004  # a factor of eleven is no margin
        raise WrongUse(f"--margin: {text!r} is no margin.", hint="Such as p50=3%.")
    return name, Margin(known.usual.scale, share, known.usual.floor)
