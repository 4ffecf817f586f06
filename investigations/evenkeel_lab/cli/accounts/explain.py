"""`evenkeel explain`: explain the next pick of a running proxy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evenkeel_lab.cli.accounts.table import STYLES, span
from evenkeel_lab.cli.number_range import NumberRange
from evenkeel_lab.cli.output import show
from evenkeel_lab.proxy_admin_client import ProxyAdminClient, proxy_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType


@click.command()
@click.argument("model", metavar="MODEL")
@click.option(
    "--tokens", metavar="N", type=NumberRange(min=0), help="The tokens of the request; by default an estimate."
)
@click.option("--session", metavar="ID", help="The id of the request's session.")
@click.option("--client", metavar="HASH", help="The hash of the session's key; by default the admin's.")
@click.option(
    "--excluded",
    metavar="NAME",
    multiple=True,
    help="An account or deployment where the request failed; may be repeated.",
)
@click.option("--stream", is_flag=True, help="The request is a stream.")
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="The number of candidates to show.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document with all candidates instead of the table.")
@proxy_options
def explain(  # noqa: PLR0913  # one for each option
    model: str,
    *,
    tokens: float | None,
    session: str | None,
    client: str | None,
    excluded: tuple[str, ...],
    stream: bool,
    top: int,
    as_json: bool,
    url: str | None,
    key: str | None,
) -> None:
    """Show which account the next request for MODEL would get, why not the others, and what would have to change.

    The command sends no request to a provider, and changes nothing in the proxy.
    """
    given = {
        "model": model,
        "tokens": tokens,
        "session": session,
        "client": client,
        "excluded": list(excluded) or None,
        "stream": "true" if stream else None,
    }
    parameters = {name: value for name, value in given.items() if value is not None}
    document = ProxyAdminClient.from_options(url, key).get("/evenkeel/explain", parameters)
    if as_json:
        click.echo(json.dumps(document))
    else:
        show(page(document, top))


def page(document: Mapping[str, Any], top: int) -> RenderableType:
    """Return an answer as text and a table."""
    candidates: Sequence[Mapping[str, Any]] = document["candidates"][:top]
    left_out = len(document["candidates"]) - len(candidates)
    parts: list[RenderableType] = [Text(document["verdict"], style="bold"), Text()]
    if candidates:
        parts += [_table(candidates), Text()]
    parts += _changes(candidates)
    if left_out:
        parts.append(Text(f"and {left_out:,} more; --top shows more, --json all of them", style="dim"))
    return Group(*parts, Text(_footer(document), style="dim"))


def _table(candidates: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("account", no_wrap=True, overflow="ellipsis", max_width=24)
    for title in ("priority", "score", "weight", "in flight", "latency"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("blocked by", no_wrap=True, overflow="ellipsis")
    for candidate in candidates:
        table.add_row(
            str(candidate["rank"]),
            Text(candidate["account"]),
            str(candidate["priority"]),
            "-" if candidate["score"] is None else f"{candidate['score']:.3g}",
            f"{candidate['weight']:.3g}",
            str(candidate["in_flight"]),
            span(candidate["latency_seconds"]),
            _blocker(candidate),
        )
    return table


def _changes(candidates: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    if not any(candidate["change"] for candidate in candidates):
        return
    yield Text("what would have to change", style="bold")
    for candidate in candidates:
        if candidate["change"]:
            yield Padding(Text.assemble((f"{candidate['account']}: ", "bold"), candidate["change"]), (0, 0, 0, 2))
    yield Text()


def _blocker(candidate: Mapping[str, Any]) -> Text:
    blocker = candidate["blocker"]
    if blocker is None:
        return Text()
    state = max((candidate["account_state"], candidate["model_state"]), key=lambda name: name != "healthy")
    return Text(blocker["reason"].replace("_", " "), style=STYLES.get(state, "") if state != "healthy" else "yellow")


def _footer(document: Mapping[str, Any]) -> str:
    worker, request, session = document["worker"], document["request"], document["session"]
    many = f", one of {worker['workers']}" if worker["workers"] else ""
    parts = [f"{document['strategy']}", f"{request['tokens']:,.0f} tokens"]
    if session:
        pinned = (
            f"pinned to {session['pinned_to']}: {session['decision'].replace('_', ' ')}"
            if session["pinned_to"]
            else "not pinned"
        )
        parts.append(f"session {pinned}")
    if document["queued"]:
        parts.append(f"{document['queued']:,} in the queue before it")
    if document["scarce"]:
        parts.append("capacity is scarce, and shared fairly among clients")
    return " · ".join(
        [*parts, f"snapshot {span(document['snapshot_age_seconds'])} old", f"worker process {worker['pid']}{many}"]
    )
