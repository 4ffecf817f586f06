"""The command line `evenkeel`. Commands parse options, call the package that does the work, and print its result."""

from __future__ import annotations

import difflib
import errno
import importlib
import sys

import click
from rich.console import Console
from rich.text import Text

from evenkeel_lab.errors import DISK_FULL_HINT, RIG_INVALID, DiskFull, LabError, RigFailure

INTERRUPTED = 130
# Each command with its module and its help text, so that `evenkeel --help` imports none of them.
COMMANDS = {
    "up": ("evenkeel_lab.cli.up", "Start a LiteLLM proxy with its database, Redis and a mock provider."),
    "part": ("evenkeel_lab.cli.part", "Kill, suspend or restart a part of a running stack."),
    "demo": ("evenkeel_lab.cli.demo", "Let accounts fail behind LiteLLM's router and behind the plugin's."),
    "init": ("evenkeel_lab.cli.init", "Add the plugin to a proxy's YAML, or take it out again."),
    "doctor": ("evenkeel_lab.cli.doctor", "Check this machine and a proxy's configuration."),
    "mock": ("evenkeel_mock.command", "Run the mock provider alone."),
    "load": ("evenkeel_load.command", "Load an OpenAI-compatible server, and record every request."),
    "summary": ("evenkeel_load.command", "Summarise the records of a load."),
    "investigate": (
        "evenkeel_lab.cli.investigate.command",
        "Measure an investigation's arms in pairs, and judge them.",
    ),
    "report": ("evenkeel_lab.cli.report", "Write the reports of measured investigations."),
    "compare": ("evenkeel_lab.cli.compare", "Compare two sets of runs."),
    "diagnose": ("evenkeel_lab.cli.diagnose", "Find the bottleneck of a recorded load."),
    "bisect": ("evenkeel_lab.cli.bisect", "Find the LiteLLM release that changed a metric."),
    "bench": ("evenkeel_lab.cli.bench", "Measure a part of the project against a reference."),
    "chaos": ("evenkeel_lab.cli.chaos", "Let everything around a proxy fail, and count what clients lose."),
    "accounts": ("evenkeel_lab.cli.accounts.command", "Show the accounts of a running proxy."),
    "control": ("evenkeel_lab.cli.accounts.control", "Pause and resume accounts of a running proxy."),
    "journal": ("evenkeel_lab.cli.journal", "Read or move the plugin's request journal."),
    "explain": ("evenkeel_lab.cli.accounts.explain", "Explain the next pick of a running proxy."),
    "rules": ("evenkeel_lab.cli.monitoring", "Print alert rules for Prometheus."),
    "dashboard": ("evenkeel_lab.cli.monitoring", "Print a dashboard for Grafana."),
    "settings": ("evenkeel_lab.cli.settings", "List the settings of the plugin, or print their JSON schema."),
    "compat": ("evenkeel_lab.cli.compat", "Check which LiteLLM releases have what the plugin needs."),
    "cache": ("evenkeel_lab.cli.cache", "List what the lab keeps between runs, or remove it."),
}


class Commands(click.Group):
    """Commands that are imported on first use, because some imports take seconds."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; `None` if there is none of this name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(COMMANDS[cmd_name][0]), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` begin with. A name like that of a command gets a suggestion."""
        similar = difflib.get_close_matches(args[0], COMMANDS, n=1)
        if similar and args[0] not in COMMANDS:
            ctx.fail(f"No such command '{args[0]}'. Did you mean {similar[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help texts of all commands."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in sorted(COMMANDS.items())])


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
            show(
                RigFailure(f"{error.filename or 'The system'}: {error.strerror}.", hint="Correct that, and try again.")
            )
            return RIG_INVALID
        show(
            DiskFull(
                f"Cannot write {error.filename2 or error.filename or 'a file'}: {error.strerror}.", hint=DISK_FULL_HINT
            )
        )
        return RIG_INVALID
    except (KeyboardInterrupt, click.Abort):
        print("stopped", file=sys.stderr)  # noqa: T201
        return INTERRUPTED


def show(error: LabError) -> None:
    """Print an error on standard error: its details, the message and the hint."""
    console = Console(stderr=True, highlight=False)
    if error.details:
        console.print(Text(error.details, style="dim"), soft_wrap=True)
    console.print(Text.assemble(("error  ", "bold red"), error.what), soft_wrap=True)
    console.print(Text.assemble(("hint   ", "bold green"), error.hint), soft_wrap=True)
