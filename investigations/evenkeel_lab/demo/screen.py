"""The contest on a terminal: a lane for each account, side by side, and the result as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from evenkeel_lab.demo import story

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from evenkeel_lab.demo.contest import Contestant

COLUMNS = math.ceil(story.SECONDS)
SERVED, FAILED, FAULTY, IDLE = "█", "✗", "░", "·"
STYLES = {SERVED: "green", FAILED: "bold red", FAULTY: "dim red", IDLE: "dim"}
LEGEND = f"each column is a second: {SERVED} served, {FAILED} a failed attempt, {FAULTY} out of order, {IDLE} idle"


def frame(contestants: Sequence[Contestant], second: float) -> RenderableType:
    """Return the contest as it is now."""
    both = Table.grid(padding=(0, 3))
    for _ in contestants:
        both.add_column()
    both.add_row(*(_lanes(contestant, second) for contestant in contestants))
    begun = story.chapters_until(second)
    now = f"{second:4.0f} s  {begun[-1].about}" if begun else f"{second:4.0f} s  all accounts work"
    return Group(both, Text(now, style="bold"), Text(LEGEND, style="dim"))


def _lanes(contestant: Contestant, second: float) -> RenderableType:
    lines = [Text(contestant.title, style="bold")]
    for number, lane in enumerate(lanes(contestant, second), 1):
        line = Text(f"{number} ")
        for mark in lane:
            line.append(mark, STYLES.get(mark, ""))
        lines.append(line)
    failed = len(contestant.answers) - contestant.served
    lines.append(
        Text.assemble(
            (f"{contestant.served} answered", "green"), ", ", (f"{failed} failed", "bold red" if failed else "dim")
        )
    )
    return Group(*lines)


def lanes(contestant: Contestant, second: float) -> list[str]:
    """Return a text for each account, with a character for each second so far."""
    columns = min(COLUMNS, math.ceil(second))
    troubles = story.troubles(contestant.prefix)
    drawn = []
    for account in contestant.accounts:
        marks = [
            FAULTY if any(trouble.account == account.name and trouble.is_on(moment) for trouble in troubles) else IDLE
            for moment in range(columns)
        ]
        for attempt in contestant.attempts:
            column = int(attempt.at)
            if attempt.account == account.name and attempt.at >= 0 and column < columns:
                # A failure shows, whatever else happened in this second.
                marks[column] = FAILED if attempt.fault or marks[column] == FAILED else SERVED
        drawn.append("".join(marks))
    return drawn


def result(contestants: Sequence[Contestant]) -> Table:
    """Return what clients and accounts saw."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for contestant in contestants:
        table.add_column(contestant.title, justify="right")

    def row(name: str, *values: str) -> None:
        table.add_row(name, *values)

    row("requests answered", *(f"{each.served / len(each.answers):.1%}" for each in contestants))
    row("429, 401, 403, 503 seen by clients", *(str(each.rejections_seen) for each in contestants))
    row("failed while an account could serve", *(str(each.avoidable()) for each in contestants))
    row("failed attempts at accounts", *(str(each.failed_attempts) for each in contestants))
    row("slowest answer", *(f"{each.slowest:.1f} s" for each in contestants))
    row(
        "database transactions per request",
        *(f"{each.transactions / len(each.answers):.1f}" for each in contestants),
    )
    return table
