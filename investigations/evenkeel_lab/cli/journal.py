"""`evenkeel journal`: read, export, compare and move the plugin's request journal."""

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
from evenkeel_lab.cli.accounts.table import span
from evenkeel_lab.cli.output import results, show
from evenkeel_lab.errors import NotReached, WrongUse
from evenkeel_lab.journal_reader import Address, open_journal
from evenkeel_lab.journal_reader.comparing import compare
from evenkeel_lab.journal_reader.queries import FIRST_FAILURE, GROUPS, new_records, pages
from evenkeel_lab.progress import shown_on
from litellm_evenkeel.journal.backfill import back_fill
from litellm_evenkeel.journal.record import COLUMNS, RequestRecord, safe_text
from litellm_evenkeel.support.durations import span as seconds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.journal.store import RecordStore
    from litellm_evenkeel.operator_actions import OperatorAction

DEFAULT, VARIABLE = "evenkeel-journal.db", "EVENKEEL_JOURNAL_PATH"
MICROSECONDS = 1_000_000
CRITERION_FAILED = 1
LOOKS_EACH_SECONDS, LOOKS_AGAIN_SECONDS = 0.5, 1.5
# The time that a record may take to arrive at a second store.
ARRIVES_SECONDS = 2.0
SHOWN_KEY = 8
MOST_LOOKED_AT = 200_000
FORMULAS = ("=", "+", "-", "@")


def _address(context: click.Context, parameter: click.Parameter, text: str) -> Address:
    """Return an address with its origin, which errors name instead of a secret."""
    is_secret = context.get_parameter_source(str(parameter.name)) is ParameterSource.ENVIRONMENT
    return Address(text, VARIABLE if is_secret else parameter.human_readable_name.strip("[]"), is_secret=is_secret)


def journal_argument(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument with the address of a journal to a command."""
    return click.argument("address", metavar="[FILE | URL]", default=DEFAULT, envvar=VARIABLE, callback=_address)(
        command
    )


def _moment(context: click.Context, parameter: click.Parameter, text: str | None) -> int:
    """Return the time that lies a duration ago, in microseconds since 1970."""
    del context
    if text is None:
        return 0
    ago = seconds_of(text)
    if ago is None or ago <= 0:
        raise click.BadParameter(f"{text!r} is no duration, such as 15m, 6h or 7d.", param=parameter)
    # Stores have no times before 1970.
    return max(0, int((time.time() - ago) * MICROSECONDS))


since_option = click.option(
    "--since", "since", metavar="AGO", callback=_moment, help="Only records of the last 15m, 6h, 7d.", expose_value=True
)


@click.group()
def journal() -> None:
    """Read the plugin's request journal, or move it to another store.

    A journal is an SQLite file or the address of a Postgres database; os.environ/NAME is one in the environment.
    """


@journal.command()
@journal_argument
@click.option(
    "-n", "--lines", type=click.IntRange(1, 100_000), default=20, show_default=True, help="The number of records."
)
@click.option("-f", "--follow", is_flag=True, help="Show new records until Ctrl-C.")
@click.option("--failed", is_flag=True, help="Only failed requests.")
@click.option("--account", help="Only requests of this account.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document per line.")
def tail(address: Address, *, lines: int, follow: bool, failed: bool, account: str | None, as_json: bool) -> None:
    """Show the newest records."""

    def wanted(record: RequestRecord) -> bool:
        return (not failed or record.status >= FIRST_FAILURE) and (account is None or record.account == account)

    def print_records(records: list[RequestRecord]) -> None:
        for record in records:
            click.echo(json.dumps(document(record)) if as_json else line(record))

    with open_journal(address) as opened:
        seen = dict(opened.store.latest())
        if not as_json:
            click.echo(HEAD)
        # Records that arrive between these two reads are in both.
        looked_at = opened.store.newest(MOST_LOOKED_AT if failed or account is not None else lines)
        chosen = [record for record in looked_at if wanted(record)][-lines:]
        print_records(chosen)
        if len(chosen) < lines and len(looked_at) == MOST_LOOKED_AT:
            click.echo(f"looked at the newest {MOST_LOOKED_AT:,} records, back to {_when(looked_at[0])}", err=True)
        shown = {(record.writer, record.number) for record in looked_at}
        try:
            while follow:
                time.sleep(LOOKS_EACH_SECONDS)
                come = [
                    record for record in _new_records(opened.store, seen) if (record.writer, record.number) not in shown
                ]
                print_records(sorted(filter(wanted, come), key=lambda record: record.time))
        except KeyboardInterrupt:
            return


@journal.command()
@journal_argument
@since_option
@click.option("--by", type=click.Choice(GROUPS), default="account", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
def stats(address: Address, *, since: int, by: str, as_json: bool) -> None:
    """Summarise requests: number, failures, latencies, cost."""
    from evenkeel_lab.journal_reader.stats import load_requests, summarise, summarise_groups  # noqa: PLC0415  # pandas takes seconds to import

    with open_journal(address) as opened:
        requests = load_requests(opened.store, since, by)
        gaps = sum(writer.gaps for writer in opened.store.writers().values())
    total = summarise(requests)
    if as_json:
        click.echo(json.dumps({"by": by, "groups": summarise_groups(requests, by), "total": total, "gaps": gaps}))
        return
    show(table(by, summarise_groups(requests, by), total, results().width))
    if gaps:
        click.echo(f"missing records: {gaps:,}; they were dropped, or deleted because of their age")


@journal.command()
@journal_argument
@click.option(
    "-n", "--lines", type=click.IntRange(1, 100_000), default=20, show_default=True, help="The number of actions."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document per line.")
def actions(address: Address, *, lines: int, as_json: bool) -> None:
    """Show what operators did: releases, pauses, priorities and weights."""
    with open_journal(address) as opened:
        done = opened.store.actions(lines)
    if as_json:
        for action in done:
            click.echo(json.dumps(action._asdict() | {"time": _iso(action.time)}))
        return
    if not done:
        click.echo("no actions")
        return
    show(action_table(done))


@journal.command()
@journal_argument
@since_option
@click.option(
    "--to",
    "path",
    type=click.Path(dir_okay=False),
    help="A file that ends in .csv or .jsonl; by default standard output.",
)
@click.option(
    "--format", "form", type=click.Choice(("csv", "jsonl")), help="The format, if the file does not end in it."
)
def export(address: Address, *, since: int, path: str | None, form: str | None) -> None:
    """Export records as CSV or JSON lines."""
    kind = form or ("csv" if path is None else path.rpartition(".")[2].lower())
    if kind not in WRITERS:
        raise WrongUse(f"{path}: expected a name that ends in .csv or .jsonl.", hint="Rename it, or add --format.")
    with open_journal(address) as opened:
        records = (record for page in pages(opened.store, since) for record in page)
        if path is None:
            WRITERS[kind](records, sys.stdout)
            return
        with open_replacement(path, forbidden=opened.path) as file:
            number = WRITERS[kind](records, file)
    click.echo(f"{number:,} records in {path}", err=True)


@journal.command()
@click.argument("source", metavar="FROM", callback=_address)
@click.argument("target", metavar="TO", callback=_address)
@click.option("--verify", "only_verify", is_flag=True, help="Copy nothing: only compare.")
@click.option("--anew", is_flag=True, help="Start from the beginning, with records that were copied before.")
@click.option("--since", "since", metavar="AGO", callback=_moment, help="Compare only records of the last 15m, 6h, 7d.")
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
    """Copy all records from one journal to another while both are written, and compare them.

    First make the proxies write both: evenkeel.journal.copy_to. The command may be stopped at any time and resumed.
    """
    if only_verify and anew:
        raise WrongUse(
            "--verify and --anew do not go together: --verify copies nothing.", hint="Leave one of them out."
        )
    steps = shown_on(Console(stderr=True))
    with open_journal(source) as here, open_journal(target, create=not only_verify) as there:
        if here.is_same(there):
            raise WrongUse(f"{here.label} is both source and target.", hint="Name another target.")
        # Before the target is changed: an invalid source leaves nothing behind.
        here.store.latest()
        looked_at = brought = 0
        if not only_verify:
            with steps.step(f"copying records from {here.label} to {there.label}"):
                for done in back_fill(here.store, there.store, here.identity, restart=anew):
                    looked_at, brought = done.records_read, done.records_copied
        with steps.step("comparing them"):
            compared = compare(here.store, there.store, pause=_wait_for_it, since=since)
    wrong = compared.differences
    result = {"looked_at": looked_at, "brought": brought, "compared": compared.records, "mismatches": wrong}
    if as_json:
        click.echo(json.dumps(result))
    else:
        click.echo(f"{brought:,} of {looked_at:,} records copied; {compared.records:,} compared, {wrong:,} differ")
        for example in compared.examples:
            lacks = "is missing in the target" if example.is_missing else "differs in the target"
            click.echo(f"record {example.number} of writer {example.writer} {lacks}", err=True)
        if not anew and any(example.is_missing for example in compared.examples):
            click.echo(
                "hint: if they were deleted in the target, `evenkeel journal migrate --anew` copies them again",
                err=True,
            )
    context.exit(CRITERION_FAILED if wrong else 0)


def _new_records(store: RecordStore, seen: dict[int, int]) -> Iterator[RequestRecord]:
    """Yield new records. While the journal cannot be reached or is locked, print that and yield nothing."""
    try:
        yield from new_records(store, seen)
    except NotReached as error:
        click.echo(f"{error.what} Trying again.", err=True)
        time.sleep(LOOKS_AGAIN_SECONDS)


SHOWN_OF_MODEL, MIN_NAME_WIDTH = 40, 12
HEAD = f"{'time':23}  {'status':>6}  {'seconds':>8}  {'tokens':>13}  {'tries':>5}  {'key':8}  account, model, why"


def line(record: RequestRecord) -> str:
    """Return a record as a line of text."""
    tokens = f"{record.prompt_tokens}+{record.output_tokens}"
    why = ", ".join(
        part
        for part in (
            record.account or ("cache" if record.is_cached else "-"),
            shortened(record.model),
            record.error or record.reason,
        )
        if part
    )
    return (
        f"{_when(record)}  {record.status:>6}  {record.latency:8.3f}  {tokens:>13}  {record.retries + 1:>5}  "
        f"{record.key[:SHOWN_KEY]:8}  {why}"
    )


def shortened(text: str) -> str:
    """Return a text that fits on a line: clients may send names of hundreds of characters."""
    return text if len(text) <= SHOWN_OF_MODEL else f"{text[: SHOWN_OF_MODEL - 1]}…"


def document(record: RequestRecord) -> dict[str, Any]:
    """Return a record as a JSON document."""
    came = datetime.fromtimestamp(record.time // MICROSECONDS, UTC).replace(microsecond=record.time % MICROSECONDS)
    return record._asdict() | {"time": came.isoformat(timespec="microseconds")}


COLUMNS_OF_STATS: dict[str, Callable[[dict[str, Any]], str]] = {
    "requests": lambda group: f"{group['requests']:,}",
    "failed": lambda group: f"{group['failed']:,}",
    "retries": lambda group: f"{group['retries']:,}",
    "p50": lambda group: _seconds(group["p50_seconds"]),
    "p95": lambda group: _seconds(group["p95_seconds"]),
    "p99": lambda group: _seconds(group["p99_seconds"]),
    "first token": lambda group: _seconds(group["first_token_p50_seconds"]),
    "tokens in": lambda group: f"{group['prompt_tokens']:,}",
    "out": lambda group: f"{group['output_tokens']:,}",
    "dollars": lambda group: f"{group['cost']:.4f}",
}
# A narrower terminal has no room for these; --json has them.
ONLY_IF_WIDE, WIDE = ("p99", "first token", "tokens in", "out"), 120


def table(by: str, groups: list[dict[str, Any]], total: dict[str, Any], width: int) -> Table:
    """Return the summary of requests as a table that fits into `width`."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column(by, overflow="fold", min_width=MIN_NAME_WIDTH)
    titles = [title for title in COLUMNS_OF_STATS if width >= WIDE or title not in ONLY_IF_WIDE]
    for title in titles:
        shown.add_column(title, justify="right", no_wrap=True)
    for group in [*groups, {by: "all", **total}] if len(groups) != 1 else groups:
        shown.add_row(Text(str(group[by]) or "-"), *(COLUMNS_OF_STATS[title](group) for title in titles))
    return shown


def action_table(done: list[OperatorAction]) -> Table:
    """Return actions of operators as a table."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("time", "by", "action", "account", "value", "for", "reason"):
        shown.add_column(title, overflow="fold")
    for action in done:
        when = datetime.fromtimestamp(action.time, UTC).astimezone()
        texts = (
            f"{when:%Y-%m-%d %H:%M:%S}",
            action.by,
            action.action,
            action.account,
            action.value,
            span(action.seconds),
            action.reason,
        )
        shown.add_row(*(Text(safe_text(text)) for text in texts))
    return shown


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def _when(record: RequestRecord) -> str:
    came = datetime.fromtimestamp(record.time / MICROSECONDS, UTC).astimezone()
    return f"{came:%Y-%m-%d %H:%M:%S}.{came.microsecond // 1000:03d}"


def _wait_for_it() -> None:
    time.sleep(ARRIVES_SECONDS)


def _seconds(value: float | None) -> str:
    return "-" if value is None else span(value)


def _as_csv(records: Iterator[RequestRecord], file: TextIO) -> int:
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    return sum(1 for record in records if writer.writerow(map(_cell, document(record).values())))


def _cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: clients choose the names of models."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value


def _as_lines(records: Iterator[RequestRecord], file: TextIO) -> int:
    return sum(1 for record in records if file.write(f"{json.dumps(document(record))}\n"))


WRITERS: dict[str, Callable[[Iterator[RequestRecord], TextIO], int]] = {"csv": _as_csv, "jsonl": _as_lines}
