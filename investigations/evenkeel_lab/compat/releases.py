"""LiteLLM releases in the registry, and their sources."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from evenkeel_lab.errors import ProcessFailed, RigFailure, UnknownVersion
from evenkeel_lab.stack.folders import cache_folder, create_once, require_room
from evenkeel_lab.stack.litellm.environment import require_allowed
from evenkeel_lab.stack.litellm.requirements import NO_NETWORK
from evenkeel_lab.stack.packages.python import install, uv_command
from evenkeel_lab.stack.processes.process import run

if TYPE_CHECKING:
    from pathlib import Path

NEWEST = "newest"
MINORS = ("1.100", "1.102", "1.104", "1.106", "1.108", "1.109", "1.110")
"""The release lines of the matrix. The newest patch of each is checked."""
UNPACKED_MIB = 250
UNREACHED = "Check the connection to PyPI (evenkeel doctor says more), or name versions that are in the cache."


async def newest(line: str, log: Path) -> str | None:
    """Return the newest release of a line such as 1.109, or of all if `line` is empty; `None` if there is none."""
    return await _newest_that(f"=={line}.*" if line else "", log, refreshed=True)


async def between(good: str, bad: str, log: Path) -> list[str]:
    """Return the releases from `good` to `bad`, both included, oldest first."""
    releases = [bad]
    while (release := await _newest_that(f">{good},<{releases[-1]}", log, refreshed=len(releases) == 1)) is not None:
        releases.append(release)
    return [good, *releases[::-1]]


async def _newest_that(matches: str, log: Path, *, refreshed: bool) -> str | None:
    """Return the newest release that a specifier such as `<1.109` matches; `None` if there is none."""
    wanted = log.with_name("wanted.txt")
    wanted.write_text(f"litellm{matches}\n")
    arguments = ["--no-deps", "--no-header", "--no-annotate", "--prerelease", "disallow"]
    arguments += ["--refresh-package", "litellm"] if refreshed else []
    answer = log.with_name("newest.log")
    try:
        await run(uv_command("uv pip compile", ["pip", "compile", wanted, *arguments, "--quiet"], answer))
    except ProcessFailed as error:
        if re.search(NO_NETWORK, error.details):
            raise RigFailure("PyPI cannot be reached.", hint=UNREACHED, details=error.details) from error
        return None
    # The log also has the answers to the requests before this one.
    answers: list[str] = re.findall(r"^litellm==(\S+)$", answer.read_text(), re.MULTILINE)
    return answers[-1]


async def matrix(log: Path) -> list[str]:
    """Return the versions of the matrix, oldest first."""
    versions = [await newest(line, log) for line in MINORS]
    return [version for version in versions if version is not None]


async def sources(version: str, log: Path) -> Path:
    """Return a folder with the Python sources of a release, which are fetched on first use and never run."""
    require_allowed(version)
    folder = cache_folder() / "wheels" / f"litellm-{version}"
    async with create_once(folder) as empty:
        if empty is not None:
            require_room(empty, UNPACKED_MIB)
            await _unpack(version, empty, log)
    return folder


async def _unpack(version: str, folder: Path, log: Path) -> None:
    try:
        await install(["--target", folder], ["--no-deps", "--only-binary", "litellm", f"litellm=={version}"], log)
    except ProcessFailed as error:
        if re.search(NO_NETWORK, error.details):
            what = f"LiteLLM {version} is not in the cache, and PyPI cannot be reached."
            raise RigFailure(what, hint=UNREACHED, details=error.details) from error
        raise UnknownVersion(
            f"PyPI has no wheel of LiteLLM {version}.",
            hint="Choose another release.",
            details=error.details,
        ) from error
    # Two thirds of a wheel are web pages and compiled code.
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".py" and path.name != "METADATA":
            path.unlink()
    shutil.rmtree(folder / "bin", ignore_errors=True)
