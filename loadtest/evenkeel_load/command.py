"""The commands `evenkeel load` and `evenkeel summary`."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress as Bar, TaskID, TextColumn, TimeRemainingColumn

from evenkeel_load.analysis.criteria import Criteria, read_criteria
from evenkeel_load.analysis.render import render
from evenkeel_load.analysis.summary import Summary, summarise
from evenkeel_load.errors import LoadConfigError, LoadError
from evenkeel_load.http.address import address
from evenkeel_load.options import OPTIONS, SECRETS, Option
from evenkeel_load.proxy import Sampler, Usage
from evenkeel_load.records import folder as names
from evenkeel_load.records.merge import merge
from evenkeel_load.run import Fleet, Progress, run, work
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FAILED, WRONG_USE, RIG_INVALID = 1, 2, 3
HIDDEN = ("step", "identities", "start_at")
LEAST_WIDTH = 110
# Options that a worker has itself. It gets all others from its master.
OF_A_WORKER = {"records", *(option.field for option in SECRETS)}


class Users(click.ParamType[tuple[int, ...]]):
    """A number of users, or several for a load in steps."""

    name = "N[,N...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Parse the numbers."""
        try:
            numbers = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail("Examples are 100 and 1,10,30,50,100.", param, ctx)
        if min(numbers) < 1:
            self.fail("Each number must be above zero.", param, ctx)
        return numbers


class Failed(click.ClickException):
    """An error of a load, with its exit code."""

    def __init__(self, error: LoadError) -> None:
        super().__init__(str(error))
        # click's class has 1 for all errors.
        vars(self)["exit_code"] = WRONG_USE if isinstance(error, LoadConfigError) else RIG_INVALID


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add all options of a load to a command."""
    for option in reversed(OPTIONS):
        if option.field in HIDDEN:
            continue
        kind = click.Choice(option.choices) if option.choices else None
        default = f"  [default: {option.default}]" if option.default not in {None, ""} else ""
        command = click.option(
            f"--{option.name}",
            option.field,
            type=kind,
            metavar=None if option.choices else option.metavar,
            envvar=option.env,
            help=f"{option.about[0].upper()}{option.about[1:]}.{default}",
        )(command)
    return command


@click.command()
@click.argument("scenario", type=click.Choice(tuple(SCENARIOS)))
@click.option("--host", metavar="URL", help="The target, such as http://127.0.0.1:4000.")
@click.option("--users", type=Users(), help="Simulated users; several numbers make several steps.")
@with_options
@click.option(
    "--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="The number of sending processes."
)
@click.option("--master", type=click.IntRange(1), metavar="N", help="Control N workers on other machines.")
@click.option("--worker", "worker_of", metavar="HOST[:PORT]", help="Work for this master.")
@click.option("--master-port", type=click.IntRange(1, 65535), help="The master's port; by default 5557.")
@click.option("--criteria", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A TOML file; see docs.")
@click.option(
    "--pid", type=click.IntRange(1), metavar="PID", help="The proxy's process, to measure its CPU and memory."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def load(  # noqa: PLR0913  # one for each option
    scenario: str,
    host: str | None,
    users: tuple[int, ...] | None,
    workers: int,
    master: int | None,
    worker_of: str | None,
    master_port: int | None,
    criteria: Path | None,
    pid: int | None,
    *,
    as_json: bool,
    **texts: str | None,
) -> None:
    """Load an OpenAI-compatible server, record every request, and summarise the results."""
    try:
        given = {option.field: _read(option, texts.get(option.field)) for option in OPTIONS}
        fleet = Fleet(workers, master or 0, worker_of or "", master_port)
        name = given["run_name"] or f"{scenario}-{datetime.now(UTC):%Y%m%dT%H%M%S-%f}"
        records = Path(given["records"] or Path("evenkeel-load") / name)
        if host is None:
            raise LoadConfigError("The load has no target.", hint="Give --host, such as http://127.0.0.1:4000.")
        host = address(host)
        if worker_of:
            _require_options_of_a_worker(given, users, criteria, pid, as_json)
            work(scenario, host, given, records, fleet)
            click.echo(
                f"Copy the part-* and health-* files in {records} to the master's folder.",
                err=True,
            )
            return
        wanted = read_criteria(criteria) if criteria else Criteria(None, {}, {})
        wanted.check(SCENARIOS[scenario].calls, watched=pid is not None)
        sampler = Sampler(pid) if pid else None
        if sampler:
            sampler.start()
        with bar() as tell:
            chosen = users or SCENARIOS[scenario].defaults["users"]
            listener = _with_sampler(sampler, records, tell)
            result = run(scenario, host, chosen, given, records, fleet=fleet, tell=listener)
        if result is None:
            click.echo(f"Copy the workers' records to {records}, then: evenkeel summary {records}", err=True)
        else:
            usage = sampler.usage() if sampler else None
            if sampler:
                sampler.write(records)
            show(result, wanted, usage, records, as_json=as_json)
    except LoadError as error:
        raise Failed(error) from error


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--criteria", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A TOML file; see docs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def summary(folder: Path, criteria: Path | None, *, as_json: bool) -> None:
    """Merge and summarise a folder of records: of a stopped load, of plain Locust, or of several machines."""
    try:
        wanted = read_criteria(criteria) if criteria else Criteria(None, {}, {})
        merge(folder)
        result = summarise(folder)
        wanted.check([name for step in result.steps for name in step.calls], watched=False)
        show(result, wanted, None, folder, as_json=as_json)
    except LoadError as error:
        raise Failed(error) from error


def show(result: Summary, wanted: Criteria, usage: Usage | None, folder: Path, *, as_json: bool) -> None:
    """Print the summary of a load, and exit with the code of its verdict."""
    judged = wanted.judge(result, usage)
    failed = nothing_succeeded(result)
    if usage is not None and usage.ended:
        failed.append("the watched process ended")
    missed = [criterion.what for criterion in judged if not criterion.ok] + failed
    if result.limited:
        verdict, code = f"rig-limited: {'; '.join(result.limited)}", RIG_INVALID
    elif missed:
        verdict, code = f"failed: {', '.join(missed)}", FAILED
    else:
        verdict, code = "ok", 0
    document = result.document() | {
        "criteria": [criterion.document() for criterion in judged],
        "proxy": vars(usage) if usage else None,
        "records": str(folder / names.RECORDS),
        "verdict": verdict,
    }
    text = json.dumps(document, indent=1)
    (folder / names.SUMMARY).write_text(text + "\n", encoding="utf-8")
    if as_json:
        click.echo(text)
    else:
        console = Console(highlight=False)
        # On a narrower terminal, lines wrap instead of being cut.
        console.width = max(console.width, LEAST_WIDTH)
        console.print(render(result, judged, failed))
        if usage:
            console.print(f"proxy: {usage.cpu:.0%} of a core on average, {usage.memory_mib:,.0f} MiB at most")
        console.print(f"records: {folder / names.RECORDS}", soft_wrap=True, markup=False)
    click.get_current_context().exit(code)


def nothing_succeeded(summary: Summary) -> list[str]:
    """Return a failure for each step without any successful request."""
    has_steps = len(summary.steps) > 1
    return [
        f"{step.users} users: no request succeeded" if has_steps else "no request succeeded"
        for step in summary.steps
        if step.calls and all(calls.error_rate == 1 for calls in step.calls.values())
    ]


@contextlib.contextmanager
def bar() -> Iterator[Callable[[Progress], None]]:
    """Show progress on standard error: answered and failed requests, their rate, and the remaining time."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        shown: dict[int, TaskID] = {}
        first: dict[int, Progress] = {}

        def tell(now: Progress) -> None:
            step = now.plan.step
            total = now.plan.expected
            if step not in shown:
                what = f"{now.plan.users} users" if not now.plan.is_open else now.plan.arrivals
                shown[step] = bars.add_task(what, total=total or now.plan.duration, counts="")
            # Until the first answer, Locust is still starting.
            began = first.setdefault(step, now) if now.answered else now
            seconds = now.seconds - began.seconds
            rate = f", {(now.answered - began.answered) / seconds:,.0f}/s" if seconds else ""
            counts = f"{now.answered:,} answered{rate}, {now.failed:,} failed"
            if now.waiting:
                counts = "created users are removed once the proxy has written their spend"
            bars.update(shown[step], completed=now.answered if total else now.seconds, counts=counts)

        yield tell


def _with_sampler(
    sampler: Sampler | None, records: Path, tell: Callable[[Progress], None]
) -> Callable[[Progress], None]:
    """Return a listener that also writes the samples so far, so that those of a stopped load are kept."""
    if sampler is None:
        return tell
    running = sampler

    def tell_and_write(now: Progress) -> None:
        running.write(records)
        tell(now)

    return tell_and_write


def _read(option: Option, text: str | None) -> Any:
    return None if text is None else option.parse(text)


def _require_options_of_a_worker(given: dict[str, Any], *others: object) -> None:
    unexpected = [option for option in OPTIONS if given[option.field] is not None and option.field not in OF_A_WORKER]
    if unexpected or any(others):
        raise LoadConfigError(
            "A --worker gets its options from its master.", hint="Give it only --host, --workers, --records and keys."
        )
