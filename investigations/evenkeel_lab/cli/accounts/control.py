"""`evenkeel control`: pause and resume accounts of a running proxy, or change their priority and weight."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click
from rich.text import Text

from evenkeel_lab.cli.accounts.command import ALONE
from evenkeel_lab.cli.accounts.table import span
from evenkeel_lab.cli.output import show
from evenkeel_lab.errors import WrongUse
from evenkeel_lab.proxy_admin_client import ProxyAdminClient, proxy_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Command = Callable[..., None]

account_argument = click.argument("account", metavar="ACCOUNT")
value_argument = click.argument("value", metavar="NUMBER|default")
for_option = click.option(
    "--for", "duration", metavar="TIME", help="End it after 30m, 2h, 7d. Without: until it is withdrawn."
)
reason_option = click.option("--reason", metavar="TEXT", help="Written to the journal, and shown beside the account.")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document instead of a sentence.")


def takes(*parameters: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Give a command the account, these parameters, and the options that all controls have."""
    in_order: list[Callable[[Command], Command]] = [account_argument, *parameters]
    in_order += [reason_option, json_option, proxy_options]

    def add(command: Command) -> Command:
        for parameter in reversed(in_order):
            command = parameter(command)
        return command

    return add


@click.group()
def control() -> None:
    """Pause accounts of a running proxy, or change their priority and weight.

    It holds in all workers if they share their limits through Redis, and without Redis in the worker that answers.
    """


@control.command()
@takes(for_option)
def pause(**options: Any) -> None:
    """Send an account no more requests. Those in flight end normally."""
    _act("pause", **options)


@control.command()
@takes(for_option)
def drain(**options: Any) -> None:
    """Send an account only requests of sessions that are pinned to it."""
    _act("drain", **options)


@control.command()
@takes()
def resume(**options: Any) -> None:
    """Withdraw the pause or the draining of an account."""
    _act("resume", **options)


@control.command()
@takes(value_argument, for_option)
def priority(**options: Any) -> None:
    """Change the priority of an account, or take that of the settings again. Lower ones are used first."""
    _act("priority", **options)


@control.command()
@takes(value_argument, for_option)
def weight(**options: Any) -> None:
    """Change the weight of an account, or take that of the settings again."""
    _act("weight", **options)


def _act(
    action: str,
    *,
    account: str,
    reason: str | None,
    as_json: bool,
    url: str | None,
    key: str | None,
    duration: str | None = None,
    value: str | None = None,
) -> None:
    if not account.strip():
        raise WrongUse(
            "ACCOUNT: expected a name, got an empty one.", hint="`evenkeel accounts` lists the names of all of them."
        )
    parameters = {"for": duration, "reason": reason, "value": value}
    document = ProxyAdminClient.from_options(url, key).post(
        f"/evenkeel/accounts/{quote(account, safe='')}/{action}",
        {name: text for name, text in parameters.items() if text is not None},
    )
    if as_json:
        click.echo(json.dumps(document))
    else:
        show(Text(sentence(document)))


def sentence(document: Mapping[str, Any]) -> str:
    """Return the state after an action in a sentence."""
    controls = ", ".join(_controls(document["controls"])) or "as in the settings"
    worker = document["worker"]
    many = f", one of {worker['workers']}" if worker["workers"] else ""
    scope_note = "" if document["everywhere"] else ALONE.format(pid=worker["pid"], many=many)
    journal_note = "; the journal could not be written" if document["journaled"] is False else ""
    return f"{document['account']}: {controls}{scope_note}{journal_note}"


def _controls(controls: list[Mapping[str, Any]]) -> Iterator[str]:
    for control_status in controls:
        name = "" if control_status["kind"] == "traffic" else f"{control_status['kind']} "
        value = control_status["value"]
        shown = value if isinstance(value, str) else f"{value:g}"
        seconds = control_status["ends_in_seconds"]
        yield f"{name}{shown}" + ("" if seconds is None else f" for {span(seconds)}")
