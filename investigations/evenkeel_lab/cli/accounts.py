"""`evenkeel accounts`: state and limits of a running proxy's accounts."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from evenkeel_lab.cli.output import results, show
from evenkeel_lab.errors import LabError, WrongUse
from evenkeel_lab.proxy_admin_client import ProxyAdminClient, proxy_options
from litellm_evenkeel.admin.handlers import DEFAULT_ACCOUNTS, MAX_ACCOUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, RenderableType

STYLES = {
    "quarantined": "bold red",
    "cooling_down": "red",
    "probing": "yellow",
    "ramping_up": "yellow",
    "healthy": "green",
}
STATES = tuple(STYLES)
MINUTE, HOUR, DAY = 60, 3600, 86_400
# A narrower terminal has the reasons of cooldowns below the table.
WIDE = 100
LOW, SOON_SECONDS = 0.1, 60
ALONE = (
    " in worker process {pid}{many}, which does not share its state with others. If there are others, repeat the "
    "command until each has answered, or restart the proxy"
)


@click.command()
@click.option("--watch", is_flag=True, help="Repeat until Ctrl-C.")
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.FloatRange(min=0.2),
    default=2.0,
    show_default=True,
    help="Interval of --watch.",
)
@click.option("--state", type=click.Choice(STATES), help="Only accounts in this state.")
@click.option("--account", metavar="NAME", multiple=True, help="Only this account; may be repeated.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1, MAX_ACCOUNTS),
    default=DEFAULT_ACCOUNTS,
    show_default=True,
    help="The maximum number of accounts, in the order of their names.",
)
@click.option("--release", metavar="NAME", help="End the cooldown or quarantine of this account.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
@proxy_options
def accounts(  # one for each option
    *,
    watch: bool,
    every: float,
    state: str | None,
    account: tuple[str, ...],
    limit: int,
    release: str | None,
    as_json: bool,
    url: str | None,
    key: str | None,
) -> None:
    """Show the accounts of a running proxy, with cooldowns and remaining limits; or release one.

    The proxy needs the rotation of litellm-evenkeel. With several workers, the one that accepts the request answers.
    """
    if watch and as_json:
        raise WrongUse("--watch and --json do not go together.", hint="Leave one of them out.")
    admin = ProxyAdminClient.from_options(url, key)
    if release is not None:
        if watch or state or account:
            raise WrongUse(
                "--release does not go with --watch, --state or --account.",
                hint="Release the account first, then show it.",
            )
        released(admin, release, as_json=as_json)
        return
    wanted: dict[str, Any] = {"limit": limit} | ({"account": list(account)} if account else {})
    if state:
        wanted["state"] = state
    if watch:
        watching(admin, wanted, every, results())
        return
    document = admin.get("/evenkeel/accounts", wanted)
    if as_json:
        click.echo(json.dumps(document))
    else:
        console = results()
        console.print(page(document, console.width))


def released(admin: ProxyAdminClient, name: str, *, as_json: bool) -> None:
    """Release an account, and print in which workers."""
    if not name.strip():
        raise WrongUse(
            "--release: expected a name, got an empty one.",
            hint="Write --release NAME; evenkeel accounts lists all of them.",
        )
    document = admin.post(f"/evenkeel/accounts/{quote(name, safe='')}/release")
    if as_json:
        click.echo(json.dumps(document))
        return
    worker = document["worker"]
    many = f", one of {worker['workers']}" if worker["workers"] else ""
    scope_note = "" if document["everywhere"] else ALONE.format(pid=worker["pid"], many=many)
    show(Text(f"{document['released']} is released{scope_note}"))


def watching(admin: ProxyAdminClient, wanted: Mapping[str, Any], every: float, console: Console) -> None:
    """Show the accounts repeatedly until Ctrl-C: in place on a terminal, else one table below the other."""
    document = admin.get("/evenkeel/accounts", wanted)
    try:
        if not console.is_terminal:
            while True:
                console.print(page(document, console.width))
                time.sleep(every)
                document = admin.get("/evenkeel/accounts", wanted)
        with Live(console=console, auto_refresh=False) as live:
            while True:
                shown = page(document, console.width)
                live.update(Group(shown, Text("Ctrl-C ends it", style="dim")), refresh=True)
                time.sleep(every)
                try:
                    document = admin.get("/evenkeel/accounts", wanted)
                except LabError as error:
                    # The proxy may come back. The last answer stays on the screen.
                    live.update(Group(Text(f"{error.what} {error.hint}", style="red"), shown), refresh=True)
                    time.sleep(every)
    except KeyboardInterrupt:
        return


def page(document: Mapping[str, Any], width: int) -> RenderableType:
    """Return the table of an answer."""
    listed = sorted(document["accounts"], key=lambda account: (STATES.index(account["state"]), account["account"]))
    if not listed:
        nothing = "no such account" if document.get("models") else "no accounts yet: the first request makes them known"
        return Group(Text(nothing), Text(_footer(document, 0), style="dim"))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("account", no_wrap=True, overflow="ellipsis", max_width=24 if width >= WIDE else 18)
    table.add_column("state", no_wrap=True)
    for title in ("busy", "latency"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("limit", no_wrap=True)
    for title in ("left", "out in", "picks", "failed"):
        table.add_column(title, justify="right", no_wrap=True)
    if width >= WIDE:
        table.add_column("reason", overflow="ellipsis", no_wrap=True)
    for account in listed:
        for row in _rows(account):
            table.add_row(*row[: len(table.columns)])
    reasons = [] if width >= WIDE else [*_reasons(listed)]
    return Group(table, *reasons, Text(_footer(document, len(listed)), style="dim"))


def _reasons(listed: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """Yield a line with the reason of each cooldown, for terminals without a column for it."""
    for account in listed:
        for name, scope in ((account["account"], account), *((model["model"], model) for model in account["models"])):
            if scope["reason"]:
                yield Text(f"{name}: {scope['reason']}", style="dim", overflow="ellipsis", no_wrap=True)


def span(seconds: float | None) -> str:
    """Return a duration in a few characters."""
    if seconds is None:
        return ""
    for size, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "m")):
        if seconds >= size:
            return f"{seconds / size:.1f}{unit}" if seconds < 10 * size else f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s" if seconds >= 1 else f"{seconds * 1000:.0f}ms"


def _rows(account: Mapping[str, Any]) -> Iterator[list[Text]]:
    picks, failed = sum(account["picks"].values()), sum(account["failures"].values())
    yield from _scope(account["account"], account, picks, failed)
    for model in account["models"]:
        if model["windows"] or model["state"] != "healthy":
            yield from _scope(f"  {model['model']}", model, None, None)


def _scope(name: str, scope: Mapping[str, Any], picks: int | None, failed: int | None) -> Iterator[list[Text]]:
    """Yield a row with the first limit, and one more for each other limit."""
    windows = scope["windows"] or [None]
    for number, window in enumerate(windows):
        first = number == 0
        yield [
            Text(name if first else ""),
            _state(scope) if first else Text(),
            Text(_in_flight(scope) if first else ""),
            Text(span(scope["latency_seconds"]) if first else ""),
            Text(window["name"] if window else ""),
            _remaining(window),
            _exhausted_in(window),
            Text(f"{picks:,}" if first and picks is not None else ""),
            Text(f"{failed:,}" if first and failed else ""),
            Text(scope["reason"] if first else ""),
        ]


def _state(scope: Mapping[str, Any]) -> Text:
    state, seconds = scope["state"], scope["cooldown_seconds"]
    texts = {"cooling_down": f"cooling {span(seconds)}", "ramping_up": f"ramping {scope['traffic_share']:.0%}"}
    return Text(texts.get(state, state), style=STYLES.get(state, ""))


def _in_flight(scope: Mapping[str, Any]) -> str:
    return f"{scope['in_flight']}/{scope['concurrent']}" if scope["concurrent"] is not None else f"{scope['in_flight']}"


def _remaining(window: Mapping[str, Any] | None) -> Text:
    if window is None:
        return Text()
    remaining = 1 - window["used_share"]
    return Text(f"{remaining:.0%}", style="red" if remaining < LOW else "")


def _exhausted_in(window: Mapping[str, Any] | None) -> Text:
    seconds = window["exhausted_in_seconds"] if window else None
    if seconds is None:
        return Text()
    return Text(span(seconds), style="yellow" if seconds < SOON_SECONDS else "")


def _footer(document: Mapping[str, Any], shown: int) -> str:
    worker, sessions = document["worker"], document["sessions"]
    many = f", one of {worker['workers']}" if worker["workers"] else ""
    parts = [f"{shown} of {document['total']} accounts", f"worker process {worker['pid']}{many}"]
    if worker["shared"] is not None:
        parts.append("state shared" if worker["shared"] else "SHARED STATE CUT OFF")
    queued = sum(document["queued"].values())
    parts += [f"{queued} in the queue"] if queued else []
    parts.append(f"{sessions['pins']:,} pins")
    return " · ".join(parts)
