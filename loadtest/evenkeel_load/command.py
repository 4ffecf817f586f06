"""The load's command line: `evenkeel load` and `evenkeel summary`."""

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
# What a worker has of its own; all else it is told by its master.
OF_A_WORKER = {"records", *(option.field for option in SECRETS)}


class Users(click.ParamType[tuple[int, ...]]):
    """One number of users, or several that are tried one after another."""

    name = "N[,N...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Read them."""
        try:
            found = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail("Such as 100, or 1,10,30,50,100.", param, ctx)
        if min(found) < 1:
            self.fail("Each of them is above zero.", param, ctx)
        return found


class Failed(click.ClickException):
    """An error of the load's, with its exit code."""

    def __init__(self, error: LoadError) -> None:
        super().__init__(str(error))
        # Its own class says 1 for all of them.
        vars(self)["exit_code"] = WRONG_USE if isinstance(error, LoadConfigError) else RIG_INVALID


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add every option of a load."""
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
@click.option("--host", metavar="URL", help="What is loaded, such as http://127.0.0.1:4000.")
@click.option("--users", type=Users(), help="Simulated users; several numbers are tried one after another.")
@with_options
@click.option("--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes that send.")
@click.option("--master", type=click.IntRange(1), metavar="N", help="Direct N workers on other machines.")
@click.option("--worker", "worker_of", metavar="HOST[:PORT]", help="Work for the master there.")
@click.option("--master-port", type=click.IntRange(1, 65535), help="Where the master listens, if not at 5557.")
@click.option("--criteria", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A TOML file; see docs.")
@click.option("--pid", type=click.IntRange(1), metavar="PID", help="The proxy's process, to watch its CPU and memory.")
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
    """Load anything that speaks OpenAI, and say what it was like."""
    try:
        given = {option.field: _read(option, texts.get(option.field)) for option in OPTIONS}
        fleet = Fleet(workers, master or 0, worker_of or "", master_port)
        name = given["run_name"] or f"{scenario}-{datetime.now(UTC):%Y%m%dT%H%M%S-%f}"
        records = Path(given["records"] or Path("evenkeel-load") / name)
        if host is None:
            raise LoadConfigError(
                "Nothing says what is to be loaded.", hint="Give --host, such as http://127.0.0.1:4000."
            )
        host = address(host)
        if worker_of:
            _refuse_beside_a_worker(given, users, criteria, pid, as_json)
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
            found = run(scenario, host, chosen, given, records, fleet=fleet, tell=_watched(sampler, records, tell))
        if found is None:
            click.echo(f"Copy the workers' records to {records}, then: evenkeel summary {records}", err=True)
        else:
            usage = sampler.usage() if sampler else None
            if sampler:
                sampler.write(records)
            say(found, wanted, usage, records, as_json=as_json)
    except LoadError as error:
        raise Failed(error) from error


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--criteria", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A TOML file; see docs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def summary(folder: Path, criteria: Path | None, *, as_json: bool) -> None:
    """Merge and summarise a folder of records: of a load that was stopped, of plain Locust, of several machines."""
    try:
        wanted = read_criteria(criteria) if criteria else Criteria(None, {}, {})
        merge(folder)
        found = summarise(folder)
        wanted.check([name for step in found.steps for name in step.calls], watched=False)
        say(found, wanted, None, folder, as_json=as_json)
    except LoadError as error:
        raise Failed(error) from error


def say(found: Summary, wanted: Criteria, usage: Usage | None, folder: Path, *, as_json: bool) -> None:
    """Say what a load was like, and end with the exit code that follows."""
    judged = wanted.judge(found, usage)
    failed = nothing_succeeded(found)
    if usage is not None and usage.ended:
        failed.append("the process that was watched has ended")
    missed = [one.what for one in judged if not one.ok] + failed
    if found.limited:
        verdict, code = f"rig-limited: {'; '.join(found.limited)}", RIG_INVALID
    elif missed:
        verdict, code = f"failed: {', '.join(missed)}", FAILED
    else:
        verdict, code = "ok", 0
    document = found.document() | {
        "criteria": [vars(one) | {"ok": one.ok} for one in judged],
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
        # On a narrower terminal lines wrap: figures must not be cut.
        console.width = max(console.width, LEAST_WIDTH)
        console.print(render(found, judged, failed))
        if usage:
            console.print(f"proxy: {usage.cpu:.0%} of a core in the mean, {usage.memory_mib:,.0f} MiB at most")
        console.print(f"records: {folder / names.RECORDS}", soft_wrap=True, markup=False)
    click.get_current_context().exit(code)


def nothing_succeeded(found: Summary) -> list[str]:
    """Return what fails without being asked for: a step in which nothing went well."""
    several = len(found.steps) > 1
    return [
        f"{step.users} users: no request succeeded" if several else "no request succeeded"
        for step in found.steps
        if step.calls and all(calls.error_rate == 1 for calls in step.calls.values())
    ]


@contextlib.contextmanager
def bar() -> Iterator[Callable[[Progress], None]]:
    """Show progress on standard error: what has been answered, how fast, how much failed, how long it will take."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeRemainingColumn())
    console = Console(stderr=True)
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        shown: dict[int, TaskID] = {}
        first: dict[int, Progress] = {}

        def tell(now: Progress) -> None:
            step = now.plan.step
            total = now.plan.expected
            if step not in shown:
                what = f"{now.plan.users} users" if not now.plan.is_open else now.plan.arrivals
                shown[step] = bars.add_task(what, total=total or now.plan.duration, told="")
            # Until the first answer Locust is still coming up.
            began = first.setdefault(step, now) if now.answered else now
            seconds = now.seconds - began.seconds
            rate = f", {(now.answered - began.answered) / seconds:,.0f}/s" if seconds else ""
            told = f"{now.answered:,} answered{rate}, {now.failed:,} failed"
            if now.waiting:
                told = "created users go when the proxy has written what they spent"
            bars.update(shown[step], completed=now.answered if total else now.seconds, told=told)

        yield tell


def _watched(sampler: Sampler | None, records: Path, tell: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Write down what was sampled as often as something is told: what there is of a load that is stopped stays."""
    if sampler is None:
        return tell
    watching = sampler

    def told(now: Progress) -> None:
        watching.write(records)
        tell(now)

    return told


def _read(option: Option, text: str | None) -> Any:
    return None if text is None else option.parse(text)


def _refuse_beside_a_worker(given: dict[str, Any], *others: object) -> None:
    told = [option for option in OPTIONS if given[option.field] is not None and option.field not in OF_A_WORKER]
    if told or any(others):
        raise LoadConfigError(
            "A --worker does what its master says.", hint="Give it only --host, --workers, --records and keys."
        )
