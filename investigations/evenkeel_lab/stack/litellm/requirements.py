"""What a proxy of a release is installed from: its `proxy` extra as a whole, or the extra's packages by name.

The extra of newer releases pins packages that are not in every registry. Then the main wheel is installed with the
requirements of its extra, as the wheel's own metadata names them: a pinned package in the newest release of its
series that is not newer than the pin, and none at all only where there is no such release.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from evenkeel_lab.errors import ProcessFailed
from evenkeel_lab.stack.packages.python import install, make_environment

PRISMA = "0.11.0"  # LiteLLM reaches into its `_Prisma__engine`, which later versions do not have
OTHERS = (f"prisma=={PRISMA}", "asyncpg", "prometheus-client", "redis")
"""What the stand-in for Prisma's engine and the plugin need, beside LiteLLM's own requirements."""
OF_EXTRA = r"""\s*(;|\band)\s*extra\s*==\s*['"]proxy['"]\s*$"""
PIN = r"^([\w.\-\[\]]+)\s*==\s*((\d+\.\d+)[\w.]*)"
NO_SOLUTION = "No solution found"
NO_NETWORK = r"(?i)error sending request|dns error|failed to fetch|network is unreachable|tcp connect|offline"


def of_extra(site_packages: Path) -> list[str]:
    """Return the requirements of the `proxy` extra of the LiteLLM that is installed there."""
    found = _installed("litellm", site_packages)
    required = (found.requires or []) if found else []
    return [re.sub(OF_EXTRA, "", one) for one in required if re.search(OF_EXTRA, one)]


def relaxed(requirement: str) -> str:
    """Return a pinned requirement for its whole series up to the pin: a stranger's package has no such release."""
    return re.sub(PIN, r"\1>=\3,<=\2", requirement)


async def requirements(version: str, python: Path, site_packages: Path, log: Path) -> list[str]:
    """Return what to install for a proxy of a version, with the help of an environment that is still empty."""
    whole = [f"litellm[proxy]=={version}", *OTHERS]
    if await _resolves(whole, python, log):
        return whole
    main = f"litellm=={version}"
    await install(["--python", python, "--no-deps"], [main], log)
    found = [main]
    for requirement in of_extra(site_packages):
        is_pinned = re.match(PIN, requirement)
        if not is_pinned or await _resolves(["--no-deps", relaxed(requirement)], python, log):
            found.append(relaxed(requirement))
    return [*found, *OTHERS]


async def _resolves(wanted: list[str], python: Path, log: Path) -> bool:
    try:
        await install(["--python", python, "--dry-run"], list(wanted), log)
    except ProcessFailed as error:
        if NO_SOLUTION in error.details and not re.search(NO_NETWORK, error.details):
            return False
        raise
    return True


def shortfalls(site_packages: Path) -> tuple[str, ...]:
    """Return how what is installed differs from what the release's `proxy` extra asks for; nothing if it does not."""
    found = []
    for requirement in map(Requirement, of_extra(site_packages)):
        if requirement.marker and not requirement.marker.evaluate():
            continue
        there = _installed(requirement.name, site_packages)
        if there is None:
            found.append(f"no {requirement.name}")
        elif not requirement.specifier.contains(there.version, prereleases=True):
            wanted = str(requirement.specifier).removeprefix("==")
            found.append(f"{requirement.name} {there.version} instead of {wanted}")
    return tuple(found)


def _installed(name: str, site_packages: Path) -> metadata.Distribution | None:
    return next(iter(metadata.distributions(name=name, path=[str(site_packages)])), None)


def site_packages_of(environment: Path) -> Path:
    """Return where an environment, made with the Python we run on, has its packages."""
    return environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


async def _for_lock(version: str) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log"
        python = await make_environment(folder / "environment", log)
        return await requirements(version, python, site_packages_of(folder / "environment"), log)


if __name__ == "__main__":
    # For `make lock`: one requirement a line.
    print("\n".join(asyncio.run(_for_lock(sys.argv[1]))))  # noqa: T201
