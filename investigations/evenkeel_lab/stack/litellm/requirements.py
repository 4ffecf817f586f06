"""Requirements of a proxy of a LiteLLM release: its `proxy` extra, or the packages of the extra by name.

The extra of newer releases pins packages that are not in every registry. Then the main wheel is installed with the
requirements in its metadata. A pinned package is relaxed to the newest release of its series up to the pin, and left
out if there is no such release.
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

PRISMA = "0.11.0"  # LiteLLM uses its `_Prisma__engine`, which later versions do not have
ADDITIONAL = (f"prisma=={PRISMA}", "asyncpg", "prometheus-client", "redis")
"""Additional requirements of the stand-in for Prisma's engine and of the plugin."""
OF_EXTRA = r"""\s*(;|\band)\s*extra\s*==\s*['"]proxy['"]\s*$"""
PIN = r"^([\w.\-\[\]]+)\s*==\s*((\d+\.\d+)[\w.]*)"
NO_SOLUTION = "No solution found"
NO_NETWORK = r"(?i)error sending request|dns error|failed to fetch|network is unreachable|tcp connect|offline"


def of_extra(site_packages: Path) -> list[str]:
    """Return the requirements of the `proxy` extra of the LiteLLM in `site_packages`."""
    litellm = _installed("litellm", site_packages)
    required = (litellm.requires or []) if litellm else []
    return [re.sub(OF_EXTRA, "", line) for line in required if re.search(OF_EXTRA, line)]


def relaxed(requirement: str) -> str:
    """Return a pinned requirement, relaxed to the releases of its series up to the pin."""
    return re.sub(PIN, r"\1>=\3,<=\2", requirement)


async def requirements(version: str, python: Path, site_packages: Path, log: Path) -> list[str]:
    """Return the requirements of a proxy of a version. They are resolved in the empty environment of `python`."""
    extra = [f"litellm[proxy]=={version}", *ADDITIONAL]
    if await _resolves(extra, python, log):
        return extra
    main = f"litellm=={version}"
    await install(["--python", python, "--no-deps"], [main], log)
    requirements = [main]
    for requirement in of_extra(site_packages):
        is_pinned = re.match(PIN, requirement)
        if not is_pinned or await _resolves(["--no-deps", relaxed(requirement)], python, log):
            requirements.append(relaxed(requirement))
    return [*requirements, *ADDITIONAL]


async def _resolves(wanted: list[str], python: Path, log: Path) -> bool:
    try:
        await install(["--python", python, "--dry-run"], list(wanted), log)
    except ProcessFailed as error:
        if NO_SOLUTION in error.details and not re.search(NO_NETWORK, error.details):
            return False
        raise
    return True


def shortfalls(site_packages: Path) -> tuple[str, ...]:
    """Return the differences of `site_packages` from the release's `proxy` extra; empty if there are none."""
    differences = []
    for requirement in map(Requirement, of_extra(site_packages)):
        if requirement.marker and not requirement.marker.evaluate():
            continue
        package = _installed(requirement.name, site_packages)
        if package is None:
            differences.append(f"no {requirement.name}")
        elif not requirement.specifier.contains(package.version, prereleases=True):
            wanted = str(requirement.specifier).removeprefix("==")
            differences.append(f"{requirement.name} {package.version} instead of {wanted}")
    return tuple(differences)


def _installed(name: str, site_packages: Path) -> metadata.Distribution | None:
    return next(iter(metadata.distributions(name=name, path=[str(site_packages)])), None)


def site_packages_of(environment: Path) -> Path:
    """Return the site-packages folder of an environment that has the lab's Python."""
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
