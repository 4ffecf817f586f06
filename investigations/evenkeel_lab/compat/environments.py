"""Environments like those of operators: LiteLLM with its proxy's requirements, the plugin's wheel, and no lab."""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.compat.releases import UNREACHED
from evenkeel_lab.errors import ProcessFailed, RigFailure, UnknownVersion, WrongUse
from evenkeel_lab.stack.folders import ENVIRONMENT_MIB, cache_folder, create_once, require_room
from evenkeel_lab.stack.litellm.environment import require_allowed
from evenkeel_lab.stack.litellm.requirements import NO_NETWORK, PRISMA, requirements, site_packages_of
from evenkeel_lab.stack.packages.python import install, make_environment, uv_command
from evenkeel_lab.stack.processes.process import run

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[3]
TEST_TOOLS = ("pytest", "pytest-asyncio", "hypothesis")
WHEEL_PARTS = ("plugin/litellm_evenkeel", "pyproject.toml")


@dataclass(frozen=True)
class Installed:
    """A LiteLLM with the plugin."""

    version: str
    python: Path
    command: Path
    """The command `litellm`."""


async def installed(version: str, folder: Path, log: Path) -> Installed:
    """Make an environment in `folder` with a LiteLLM version and the plugin's current wheel.

    LiteLLM itself is installed on first use. All environments of the version share it.
    """
    require_allowed(version)
    shared = cache_folder() / "subjects" / f"plain-litellm-{version}-py{platform.python_version()}"
    async with create_once(shared) as empty:
        if empty is not None:
            require_room(empty, ENVIRONMENT_MIB)
            await _install(version, await make_environment(empty, log), log)
    python = await make_environment(folder, log)
    packages = site_packages_of(folder)
    (packages / "litellm.pth").write_text(f"{site_packages_of(shared)}\n")
    await install(["--python", python], ["--no-deps", await _wheel(log)], log)
    return Installed(version, python, shared / "bin" / "litellm")


async def _install(version: str, python: Path, log: Path) -> None:
    try:
        wanted = await requirements(version, python, site_packages_of(python.parents[1]), log)
        # Only a proxy with a database needs Prisma.
        plain = [requirement for requirement in wanted if requirement != f"prisma=={PRISMA}"]
        await install(["--python", python], [*plain, *TEST_TOOLS], log)
    except ProcessFailed as error:
        if re.search(NO_NETWORK, error.details):
            what = f"An environment with LiteLLM {version} is not in the cache, and PyPI cannot be reached."
            raise RigFailure(what, hint=UNREACHED, details=error.details) from error
        raise UnknownVersion(
            f"LiteLLM {version} cannot be installed from PyPI.",
            hint="Choose another version. evenkeel compat without --run needs no installation.",
            details=error.details,
        ) from error


def plugin_digest() -> str:
    """Return a digest of the plugin's source."""
    return _digest(path for part in WHEEL_PARTS for path in _files(ROOT / part))


def tests_digest() -> str:
    """Return a digest of the plugin's tests."""
    return _digest(_files(ROOT / "plugin" / "tests"))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return [file for file in sorted(path.rglob("*")) if file.is_file() and file.suffix != ".pyc"]


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


async def _wheel(log: Path) -> Path:
    """Return a wheel of the plugin's current source."""
    if not (ROOT / "plugin" / "tests").is_dir():
        raise WrongUse("The plugin's tests are missing.", hint="Run it in a clone of the project, after make setup.")
    folder = cache_folder() / "plugins" / f"wheel-{plugin_digest()}"
    async with create_once(folder) as empty:
        if empty is not None:
            options: list[str | Path] = ["--wheel", "--no-build-isolation", "--python", sys.executable]
            await run(uv_command("uv build", ["build", *options, "--out-dir", empty, ROOT], log))
    return next(folder.glob("*.whl"))
