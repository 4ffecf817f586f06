"""The command line: parse, do, say. What is done lies elsewhere."""

from __future__ import annotations

import errno
import importlib
import sys

import click
from rich.console import Console
from rich.text import Text

from evenkeel_lab.errors import DISK_FULL_CURE, RIG_INVALID, DiskFull, LabError, RigFailure

INTERRUPTED = 130
COMMANDS = {
    "up": "evenkeel_lab.cli.up",
    "demo": "evenkeel_lab.cli.demo",
    "doctor": "evenkeel_lab.cli.doctor",
    "mock": "evenkeel_mock.command",
    "load": "evenkeel_load.command",
    "summary": "evenkeel_load.command",
    "investigate": "evenkeel_lab.cli.investigate",
    "compare": "evenkeel_lab.cli.compare",
    "diagnose": "evenkeel_lab.cli.diagnose",
    "bench": "evenkeel_lab.cli.bench",
    "cache": "evenkeel_lab.cli.cache",
}


class Commands(click.Group):
    """Commands that are imported when they are asked for: some bring what takes seconds to import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return their names."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(importlib.import_module(COMMANDS[cmd_name]), cmd_name)
        return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="litellm-evenkeel")
def evenkeel() -> None:
    """A LiteLLM proxy on an even keel: run it, load it, measure it."""


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
