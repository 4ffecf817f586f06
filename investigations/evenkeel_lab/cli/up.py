"""`evenkeel up`: the whole stack, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import psutil
import yaml
from rich.console import Console
from rich.table import Table

from evenkeel_lab.cli.output import show
from evenkeel_lab.errors import ProcessFailed, WrongUse
from evenkeel_lab.progress import shown_on
from evenkeel_lab.stack.control import controlled
from evenkeel_lab.stack.litellm.accounts import MAX_ACCOUNTS, mock_settings, unequal_accounts
from evenkeel_lab.stack.litellm.config import Journal, Prometheus, ProxySpec, Rotation
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION, require_allowed
from evenkeel_lab.stack.parts import Parts
from evenkeel_lab.stack.ports import free_port
from evenkeel_lab.stack.processes.process import log_tail
from evenkeel_lab.stack.service_info import ServiceInfo
from evenkeel_lab.stack.stack import Options, stack

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack

LOOK_SECONDS = 0.5


def _one_of(
    name: str, usual: Prometheus | Rotation | Journal, help_text: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return an option whose values are those of the enumeration of `usual`, its default."""
    kinds = [kind.value for kind in type(usual)]
    return click.option(name, type=click.Choice(kinds), default=usual.value, show_default=True, help=help_text)


@click.command()
@click.option("--litellm", "version", default=DEFAULT_VERSION, show_default=True, help="The LiteLLM version.")
@_one_of("--prometheus", Prometheus.OFF, "The proxy's Prometheus callback.")
@_one_of("--rotation", Rotation.OFF, "The router of the proxy: LiteLLM's or the plugin's.")
@_one_of("--journal", Journal.OFF, "The store of the plugin's journal.")
@click.option(
    "--accounts",
    type=click.IntRange(1, MAX_ACCOUNTS),
    help="The number of accounts, with different limits; by default one without limits.",
)
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes.")
@click.option("--port", type=click.IntRange(1, 65535), help="The proxy's port; a free one if not given.")
@click.option(
    "--settings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A YAML file laid over the proxy's generated configuration.",
)
@click.option("--allow-migrate", is_flag=True, help="Let LiteLLM's migrations be applied to DATABASE_URL.")
@click.option("--survive", is_flag=True, help="Run on if a part ends, and let `evenkeel part` kill and restart parts.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
def up(  # noqa: PLR0913  # one for each option
    version: str,
    prometheus: str,
    rotation: str,
    journal: str,
    accounts: int | None,
    workers: int,
    port: int | None,
    settings: Path | None,
    *,
    allow_migrate: bool,
    survive: bool,
    as_json: bool,
) -> None:
    """Bring up Postgres, Valkey, the mock provider and a LiteLLM proxy; take all of it down on Ctrl-C.

    DATABASE_URL and REDIS_URL name servers of your own to use instead of the embedded ones.
    """
    # What can be refused is refused before anything starts.
    require_allowed(version)
    free_port(port)
    chosen = unequal_accounts(accounts) if accounts else ()
    subject = ProxySpec(
        version,
        Prometheus(prometheus),
        workers,
        read_settings(settings),
        Rotation(rotation),
        Journal(journal),
        accounts=chosen,
    )
    options = Options.from_env(allow_migrate=allow_migrate)
    if chosen:
        options = options.with_mock(mock_settings(chosen), workers=1)
    asyncio.run(serve(subject, options, port, survive=survive, as_json=as_json))


def read_settings(path: Path | None) -> dict[str, Any]:
    """Read the settings to lay over the generated ones."""
    if path is None:
        return {}
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # Where, but not what: the file may hold secrets.
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or "it cannot be parsed"
        raise WrongUse(f"{path}{line} is not YAML: {reason}.", hint="Correct it there.") from error
    if not isinstance(settings, dict):
        raise WrongUse(f"{path} is not a mapping.", hint="Write sections such as `general_settings:` into it.")
    return settings


async def serve(subject: ProxySpec, options: Options, port: int | None, *, survive: bool, as_json: bool) -> None:
    """Run the stack until a signal says stop. Unless it is to `survive`, it also ends if a part ends."""
    console = Console(stderr=True)
    stop = asyncio.Event()
    async with stack(options, steps=shown_on(console)) as ground, ground.proxy(subject, port=port) as proxy:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        parts = [*ground.service_infos, proxy.info]
        if as_json:
            click.echo(json.dumps(document(parts, proxy, ground.engine.kind)))
        else:
            show(table(parts))
            click.echo(usage(proxy, ground))
        if survive:
            await survive_until(stop, parts, ground.folder, console)
        else:
            await first_of(stop, parts)
        console.print("stopping")


async def first_of(stop: asyncio.Event, parts: list[ServiceInfo]) -> None:
    """Wait for the signal to stop. Raise if a part ends before."""
    while not stop.is_set():
        for part in parts:
            if part.pid is not None and not psutil.pid_exists(part.pid):
                raise ProcessFailed(
                    f"{part.name} has ended unexpectedly.",
                    hint=f"See {part.log}.",
                    details=log_tail(part.log) if part.log else "",
                )
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), LOOK_SECONDS)


async def survive_until(stop: asyncio.Event, infos: list[ServiceInfo], folder: Path, console: Console) -> None:
    """Wait for the signal to stop. Meanwhile, carry out what `evenkeel part` requests, and print which parts end."""
    console.print(f"stack        {folder}", soft_wrap=True)
    async with Parts(infos) as parts, controlled(parts, folder):
        ended: set[int | None] = set()
        while not stop.is_set():
            for info in parts.infos:
                if info.pid not in ended and not psutil.pid_exists(info.pid or 0):
                    ended.add(info.pid)
                    console.print(f"{info.name} has ended; evenkeel part restart {info.name}", soft_wrap=True)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), LOOK_SECONDS)


def table(parts: list[ServiceInfo]) -> Table:
    """Return a table of all parts with their addresses and logs."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("part", "version", "address", "pid", "started", "ready after", "log"):
        result.add_column(column, no_wrap=True, justify="right" if column in {"pid", "ready after"} else "left")
    for part in parts:
        result.add_row(
            part.name,
            part.version,
            part.address,
            str(part.pid or ""),
            time.strftime("%H:%M:%S", time.localtime(part.started)) if part.started else "",
            f"{part.ready_after:.1f} s" if part.ready_after is not None else "",
            part.log.name if part.log else "",
        )
    return result


def usage(proxy: Proxy, ground: Stack) -> str:
    """Return the paths of logs and configuration, the keys, and an example request."""
    body = json.dumps({"model": proxy.model, "messages": [{"role": "user", "content": "ahoy"}]})
    journal = f"journal      {proxy.journal}\n" if proxy.journal else ""
    return (
        f"\nlogs         {ground.logs}\nconfig       {proxy.config}\nengine       {ground.engine.kind}\n{journal}"
        f"litellm      {proxy.services.environment.about}\n"
        f"master key   {proxy.master_key}\n\n"
        f"curl {proxy.url}/v1/chat/completions -H 'Authorization: Bearer {proxy.master_key}' \\\n"
        f"  -H 'Content-Type: application/json' -d '{body}'\n\nCtrl-C stops all of it."
    )


def document(parts: list[ServiceInfo], proxy: Proxy, engine: str) -> dict[str, Any]:
    """Return the same for a program."""
    # The process is left out: its environment holds passwords.
    names = [field.name for field in dataclasses.fields(ServiceInfo) if field.name not in {"child", "log"}]
    rows = [
        {name: getattr(part, name) for name in names} | {"log": str(part.log) if part.log else None} for part in parts
    ]
    return {
        "parts": rows,
        "url": proxy.url,
        "master_key": proxy.master_key,
        "model": proxy.model,
        "config": str(proxy.config),
        "journal": str(proxy.journal) if proxy.journal else None,
        "engine": engine,
        "litellm": proxy.services.environment.about,
    }
