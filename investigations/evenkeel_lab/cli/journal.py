"""`evenkeel journal`: what the plugin has written down of requests."""

from __future__ import annotations

import csv
import json
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evenkeel_lab.atomic_files import open_replacement
from evenkeel_lab.cli.accounts import span
from evenkeel_lab.cli.output import results
from evenkeel_lab.errors import NotReached, WrongUse
from evenkeel_lab.journal_reader import Address, open_journal
from evenkeel_lab.journal_reader.comparing import compare
from evenkeel_lab.journal_reader.queries import FIRST_FAILURE, GROUPS, new_records, pages
from evenkeel_lab.progress import shown_on
from litellm_evenkeel.journal.backfill import back_fill
from litellm_evenkeel.journal.record import COLUMNS, RequestRecord
from litellm_evenkeel.support.durations import span as seconds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.journal.store import RecordStore

DEFAULT, VARIABLE = "evenkeel-journal.db", "EVENKEEL_JOURNAL_PATH"
MICROSECONDS = 1_000_000
CRITERION_FAILED = 1
LOOKS_EACH_SECONDS, LOOKS_AGAIN_SECONDS = 0.5, 1.5
# So long a row may be on its way to a second store.
ARRIVES_SECONDS = 2.0
SHOWN_KEY = 8
MOST_LOOKED_AT = 200_000
FORMULAS = ("=", "+", "-", "@")


def _address(context: click.Context, parameter: click.Parameter, told: str) -> Address:
    """Remember where an address comes from, as far as that is to be told when it is none."""
    is_secret = context.get_parameter_source(str(parameter.name)) is ParameterSource.ENVIRONMENT
    return Address(told, VARIABLE if is_secret else parameter.human_readable_name.strip("[]"), is_secret=is_secret)


def of_a_journal(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command ask which journal is meant."""
    return click.argument("address", metavar="[FILE | URL]", default=DEFAULT, envvar=VARIABLE, callback=_address)(
        command
    )


def _moment(context: click.Context, parameter: click.Parameter, told: str | None) -> int:
    """Read how far back to look as a moment, in microseconds since 1970."""
    del context
    if told is None:
        return 0
    ago = seconds_of(told)
    if ago is None or ago <= 0:
        raise click.BadParameter(f"{told!r} is no duration. Write such as 15m, 6h or 7d.", param=parameter)
    # No row is older than the count of time, before which stores know no moments.
    return max(0, int((time.time() - ago) * MICROSECONDS))


since_option = click.option(
    "--since", "since", metavar="AGO", callback=_moment, help="Only the last 15m, 6h, 7d.", expose_value=True
)


@click.group()
def journal() -> None:
    """Look at what the plugin has written down of requests, or move it to another store.

    A journal is a file of SQLite, or a Postgres by its address: os.environ/NAME stands for one in the environment.
    """


@journal.command()
@of_a_journal
@click.option("-n", "--lines", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many rows.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--failed", is_flag=True, help="Only requests that failed.")
@click.option("--account", help="Only of this account.")
@click.option("--json", "as_json", is_flag=True, help="A JSON document a line.")
def tail(address: Address, *, lines: int, follow: bool, failed: bool, account: str | None, as_json: bool) -> None:
    """Show the newest requests."""

    def wanted(row: RequestRecord) -> bool:
        return (not failed or row.status >= FIRST_FAILURE) and (account is None or row.account == account)

    def say(rows: list[RequestRecord]) -> None:
        for row in rows:
            click.echo(json.dumps(document(row)) if as_json else line(row))

    with open_journal(address) as found:
        seen = dict(found.store.latest())
        if not as_json:
            click.echo(HEAD)
        # What comes between these two looks is in both.
        looked_at = found.store.newest(MOST_LOOKED_AT if failed or account is not None else lines)
        chosen = [record for record in looked_at if wanted(record)][-lines:]
        say(chosen)
        if len(chosen) < lines and len(looked_at) == MOST_LOOKED_AT:
            click.echo(f"looked at the newest {MOST_LOOKED_AT:,} rows, back to {_when(looked_at[0])}", err=True)
        shown = {(record.writer, record.number) for record in looked_at}
        try:
            while follow:
                time.sleep(LOOKS_EACH_SECONDS)
                come = [record for record in _come(found.store, seen) if (record.writer, record.number) not in shown]
                say(sorted(filter(wanted, come), key=lambda row: row.time))
        except KeyboardInterrupt:
            return


@journal.command()
@of_a_journal
@since_option
@click.option("--by", type=click.Choice(GROUPS), default="account", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
def stats(address: Address, *, since: int, by: str, as_json: bool) -> None:
    """Say how requests went: how many, how many failed, how long they took, what they cost."""
    from evenkeel_lab.journal_reader.stats import load_requests, summarise, summarise_groups  # noqa: PLC0415  # pandas takes long to import

    with open_journal(address) as found:
        requests = load_requests(found.store, since, by)
        gaps = sum(one.gaps for one in found.store.writers().values())
    total = summarise(requests)
    if as_json:
        click.echo(json.dumps({"by": by, "groups": summarise_groups(requests, by), "total": total, "gaps": gaps}))
        return
    results().print(table(by, summarise_groups(requests, by), total))
    if gaps:
        click.echo(f"missing between rows that are there: {gaps:,}, which were dropped, or deleted as too old")


@journal.command()
@of_a_journal
@since_option
@click.option(
    "--to", "path", type=click.Path(dir_okay=False), help="A file, whose ending says what it is; else stdout."
)
@click.option("--format", "form", type=click.Choice(("csv", "jsonl")), help="What it is, if no ending says so.")
def export(address: Address, *, since: int, path: str | None, form: str | None) -> None:
    """Write rows as CSV, or as JSON lines."""
    kind = form or ("csv" if path is None else path.rpartition(".")[2].lower())
    if kind not in WRITERS:
        raise WrongUse(f"{path}: its ending is none of .csv and .jsonl.", hint="Rename it, or add --format.")
    with open_journal(address) as found:
        records = (record for some in pages(found.store, since) for record in some)
        if path is None:
            WRITERS[kind](records, sys.stdout)
            return
        with open_replacement(path, forbidden=found.path) as file:
            number = WRITERS[kind](records, file)
    click.echo(f"{number:,} rows in {path}", err=True)


@journal.command()
@click.argument("source", metavar="FROM", callback=_address)
@click.argument("target", metavar="TO", callback=_address)
@click.option("--verify", "only_verify", is_flag=True, help="Bring nothing over: only compare.")
@click.option("--anew", is_flag=True, help="Look at all rows again, also at those that were brought over before.")
@click.option("--since", "since", metavar="AGO", callback=_moment, help="Compare only the last 15m, 6h, 7d.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of lines.")
@click.pass_context
def migrate(
    context: click.Context,
    source: Address,
    target: Address,
    *,
    only_verify: bool,
    anew: bool,
    since: int,
    as_json: bool,
) -> None:
    """Bring all rows from one journal to another, while both are written, and compare them.

    Let the proxies write both first: evenkeel.journal.copy_to. It may be stopped at any moment, and goes on there.
    """
    if only_verify and anew:
        raise WrongUse("--verify brings nothing over, so --anew means nothing.", hint="Leave one of them out.")
    steps = shown_on(Console(stderr=True))
    with open_journal(source) as here, open_journal(target, create=not only_verify) as there:
        if here.is_same(there):
            raise WrongUse(f"{here.label} is both.", hint="Name another one to move to.")
        # Before anything is made there: a source that is none leaves nothing behind.
        here.store.latest()
        looked_at = brought = 0
        if not only_verify:
            with steps.step(f"bringing rows from {here.label} to {there.label}"):
                for done in back_fill(here.store, there.store, here.identity, restart=anew):
                    looked_at, brought = done.records_read, done.records_copied
        with steps.step("comparing them"):
            found = compare(here.store, there.store, pause=_wait_for_it, since=since)
    wrong = found.differences
    told = {"looked_at": looked_at, "brought": brought, "compared": found.records, "mismatches": wrong}
    if as_json:
        click.echo(json.dumps(told))
    else:
        click.echo(f"{brought:,} of {looked_at:,} rows were brought over; {found.records:,} compared, {wrong:,} differ")
        for one in found.examples:
            lacks = "is missing there" if one.is_missing else "differs there"
            click.echo(f"row {one.number} of writer {one.writer} {lacks}", err=True)
        if not anew and any(one.is_missing for one in found.examples):
            click.echo(
                "hint: if they were deleted there, `evenkeel journal migrate --anew` brings them again", err=True
            )
    context.exit(CRITERION_FAILED if wrong else 0)


def _come(store: RecordStore, seen: dict[int, int]) -> Iterator[RequestRecord]:
    """Yield what is new; while the journal cannot be reached, or is locked, nothing is, and that is said."""
    try:
        yield from new_records(store, seen)
    except NotReached as error:
        click.echo(f"{error.what} It is looked at again and again.", err=True)
        time.sleep(LOOKS_AGAIN_SECONDS)


HEAD = f"{'time':23}  {'status':>6}  {'seconds':>8}  {'tokens':>13}  {'tries':>5}  {'key':8}  account, model, why"


def line(record: RequestRecord) -> str:
    """Return a row for a person."""
    tokens = f"{record.prompt_tokens}+{record.output_tokens}"
    why = ", ".join(
        one
        for one in (
            record.account or ("cache" if record.is_cached else "-"),
            record.model,
            record.error or record.reason,
        )
        if one
    )
    return (
        f"{_when(record)}  {record.status:>6}  {record.latency:8.3f}  {tokens:>13}  {record.retries + 1:>5}  "
        f"{record.key[:SHOWN_KEY]:8}  {why}"
    )


def document(record: RequestRecord) -> dict[str, Any]:
    """Return a row for a program."""
    came = datetime.fromtimestamp(record.time // MICROSECONDS, UTC).replace(microsecond=record.time % MICROSECONDS)
    return record._asdict() | {"time": came.isoformat(timespec="microseconds")}


def table(by: str, several: list[dict[str, Any]], total: dict[str, Any]) -> Table:
    """Return what requests came to."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column(by, overflow="fold")
    for title in ("requests", "failed", "retries", "p50", "p95", "p99", "first token", "tokens in", "out", "dollars"):
        shown.add_column(title, justify="right", no_wrap=True)
    for one in [*several, {by: "all", **total}] if len(several) != 1 else several:
        shown.add_row(
            Text(str(one[by]) or "-"),
            f"{one['requests']:,}",
            f"{one['failed']:,}",
            f"{one['retries']:,}",
            *(_seconds(one[name]) for name in ("p50_seconds", "p95_seconds", "p99_seconds", "first_token_p50_seconds")),
            f"{one['prompt_tokens']:,}",
            f"{one['output_tokens']:,}",
            f"{one['cost']:.4f}",
        )
    return shown


def _when(record: RequestRecord) -> str:
    came = datetime.fromtimestamp(record.time / MICROSECONDS, UTC).astimezone()
    return f"{came:%Y-%m-%d %H:%M:%S}.{came.microsecond // 1000:03d}"


def _wait_for_it() -> None:
    time.sleep(ARRIVES_SECONDS)


def _seconds(told: float | None) -> str:
    return "-" if told is None else span(told)


def _as_csv(records: Iterator[RequestRecord], file: TextIO) -> int:
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    return sum(1 for record in records if writer.writerow(map(_cell, document(record).values())))


def _cell(told: Any) -> Any:
    """Return what a spreadsheet does not take for a formula: clients choose what their models are called."""
    return f"'{told}" if isinstance(told, str) and told.startswith(FORMULAS) else told


def _as_lines(records: Iterator[RequestRecord], file: TextIO) -> int:
    return sum(1 for record in records if file.write(f"{json.dumps(document(record))}\n"))


WRITERS: dict[str, Callable[[Iterator[RequestRecord], TextIO], int]] = {"csv": _as_csv, "jsonl": _as_lines}
