"""`evenkeel accounts`: state and limits of a running proxy's accounts."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import click
from rich.text import Text

from evenkeel_lab.cli.accounts.table import STATES, page
from evenkeel_lab.cli.accounts.watch import watch as watch_accounts
from evenkeel_lab.cli.number_range import NumberRange
from evenkeel_lab.cli.output import results, show
from evenkeel_lab.errors import WrongUse
from evenkeel_lab.proxy_admin_client import ProxyAdminClient, proxy_options
from litellm_evenkeel.admin.parameters import DEFAULT_ACCOUNTS, MAX_ACCOUNTS

ALONE = (
    " in worker process {pid}{many}, which does not share its state with others. If there are others, repeat the "
    "command until each has answered, or restart the proxy"
)


@click.command()
@click.option("--watch", is_flag=True, help="Repeat until Ctrl-C.")
@click.option(
    "--every",
    metavar="SECONDS",
    type=NumberRange(min=0.2),
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
        watch_accounts(admin, wanted, every, results())
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
