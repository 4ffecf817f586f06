"""The command line: parse, do, say. What is done lies elsewhere."""

from __future__ import annotations

import errno
import sys

import click
from rich.console import Console
from rich.text import Text

from evenkeel_lab.cli.bench import bench
from evenkeel_lab.cli.cache import cache
from evenkeel_lab.cli.demo import demo
from evenkeel_lab.cli.doctor import doctor
from evenkeel_lab.cli.up import up
from evenkeel_lab.errors import DISK_FULL_CURE, RIG_INVALID, DiskFull, LabError, RigFailure
from evenkeel_load.command import load, summary
from evenkeel_mock.command import mock

INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="litellm-evenkeel")
def evenkeel() -> None:
    """A LiteLLM proxy on an even keel: run it, load it, measure it."""


for command in (up, demo, doctor, mock, load, summary, bench, cache):
    evenkeel.add_command(command)


def cli(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit code. A user's mistake or a failing machine is one sentence."""
    try:
        return evenkeel.main(args=arguments, prog_name="evenkeel", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LabError as error:
        show(error)
        return error.exit_code
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            show(RigFailure(f"{error.filename or 'The system'}: {error.strerror}.", cure="Mend that, and try again."))
            return RIG_INVALID
        show(
            DiskFull(
                f"Cannot write {error.filename2 or error.filename or 'a file'}: {error.strerror}.", cure=DISK_FULL_CURE
            )
        )
        return RIG_INVALID
    except (KeyboardInterrupt, click.Abort):
        print("stopped", file=sys.stderr)  # noqa: T201
        return INTERRUPTED


def show(error: LabError) -> None:
    """Print an error on standard error: what, the cure, and what the part itself said."""
    console = Console(stderr=True, highlight=False)
    if error.details:
        console.print(Text(error.details, style="dim"), soft_wrap=True)
    console.print(Text.assemble(("error  ", "bold red"), error.what), soft_wrap=True)
    console.print(Text.assemble(("cure   ", "bold green"), error.cure), soft_wrap=True)
