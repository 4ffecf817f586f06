"""Installing Python packages with the `uv` that comes with the lab."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import uv

from evenkeel_lab.errors import MissingTool
from evenkeel_lab.stack.processes.process import Command, run

if TYPE_CHECKING:
    from pathlib import Path

# A hung download must not hang the lab.
HTTP_TIMEOUT_SECONDS = "60"


def uv_command(name: str, arguments: list[str | Path], log: Path) -> Command:
    """Return a command of uv that ignores the active environment and project."""
    try:
        binary = uv.find_uv_bin()
    except FileNotFoundError as error:
        raise MissingTool("uv is not installed.", hint="pip install 'litellm-evenkeel[lab]'") from error
    env = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"}}
    env |= {"UV_HTTP_TIMEOUT": HTTP_TIMEOUT_SECONDS, "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}
    return Command(name, [binary, *arguments], log=log, env=env)


async def make_environment(folder: Path, log: Path) -> Path:
    """Make an empty virtual environment with the lab's Python; return its interpreter."""
    await run(uv_command("uv venv", ["venv", "--python", sys.executable, "--no-project", folder], log))
    return folder / "bin" / "python"


async def install(target: list[str | Path], requirements: list[str | Path], log: Path) -> None:
    """Install into an environment (`--python PATH`) or a bare folder (`--target PATH`)."""
    await run(uv_command("uv pip install", ["pip", "install", *target, *requirements], log))
