"""Environments of LiteLLM, one for each version, kept in the user's cache folder.

The lab never imports the LiteLLM it measures. A version that has a committed lock is installed from it, hash by
hash; any other is resolved as of today (see requirements.py). The plugin is in a separate folder on PYTHONPATH that is
named after its content, so that a changed plugin costs a copy instead of a new environment of 800 MB.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.errors import ProcessFailed, RigFailure, UnknownVersion
from evenkeel_lab.stack.folders import ENVIRONMENT_MIB, cache_folder, create_once, require_room
from evenkeel_lab.stack.litellm.migrations import statements
from evenkeel_lab.stack.litellm.requirements import (
    NO_NETWORK,
    NO_SOLUTION,
    PRISMA,
    requirements,
    shortfalls,
    site_packages_of,
)
from evenkeel_lab.stack.litellm.schema import write_difference
from evenkeel_lab.stack.packages.python import install, make_environment
from evenkeel_lab.stack.processes.process import Command, run
from litellm_evenkeel import Verdict, judge

if TYPE_CHECKING:
    from evenkeel_lab.stack.litellm.engine import Engine
    from evenkeel_lab.stack.packages.node import Node

LOCKS = Path(__file__).parents[1] / "locks"
# The spelling of PyPI, without leading zeros, so that each release has one name.
VERSION = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)((a|b|rc)\d+|\.(post|dev)\d+)?"
DEFAULT_VERSION = "1.108.7"
"""The newest version whose `proxy` extra can be installed completely, with all migrations."""


@dataclass(frozen=True)
class Environment:
    """An installed LiteLLM, with its Prisma client generated."""

    version: str
    python: Path
    site_packages: Path
    locked: bool

    @property
    def schema(self) -> Path:
        """The Prisma schema that this version was released with."""
        return self.site_packages / "litellm" / "proxy" / "schema.prisma"

    @property
    def migrations(self) -> Path:
        """The folder of SQL migrations; incomplete if the version has shortfalls."""
        return self.site_packages / "litellm_proxy_extras" / "migrations"

    @property
    def difference(self) -> Path:
        """The file of SQL from the last migration to the version's schema. It exists only if there are shortfalls."""
        return self.python.parents[1] / "schema-difference.sql"

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """Differences from the version's `proxy` extra; empty if there are none."""
        return shortfalls(self.site_packages)

    @property
    def about(self) -> str:
        """Description of the installation."""
        if not self.shortfalls:
            return "with its whole proxy extra"
        return f"its main wheel, and its proxy extra by name: {', '.join(self.shortfalls)}; {self._schema}"

    @property
    def _schema(self) -> str:
        if statements(self.difference):
            return "database schema completed from the wheel's schema.prisma"
        return "database schema as released"


def locked_versions() -> list[str]:
    """Return the versions that have a committed lock, oldest first."""
    versions = (path.stem.removeprefix("litellm-") for path in LOCKS.glob("litellm-*.txt"))
    return sorted(versions, key=lambda version: [int(part) for part in re.findall(r"\d+", version)])


def require_allowed(version: str) -> None:
    """Raise `UnknownVersion` for malformed versions and for compromised releases."""
    if not re.fullmatch(VERSION, version):
        raise UnknownVersion(
            f"{version!r} is not a LiteLLM version.", hint=f"Use three numbers, such as {DEFAULT_VERSION}."
        )
    if judge(version) is Verdict.COMPROMISED:
        raise UnknownVersion(
            f"LiteLLM {version} is a compromised release and is never installed.",
            hint=f"Use another version, for instance {DEFAULT_VERSION}.",
        )


def prisma_env(node: Node, engine: Engine, home: Path) -> dict[str, str]:
    """Return variables with which Prisma's Python client downloads nothing except npm packages."""
    return {
        "PATH": node.path,
        "PRISMA_QUERY_ENGINE_BINARY": str(engine.path),
        "PRISMA_SCHEMA_ENGINE_BINARY": str(engine.path),
        "PRISMA_HOME_DIR": str(home),
        "CHECKPOINT_DISABLE": "1",
        "npm_config_ignore_scripts": "true",
        "npm_config_cache": str(cache_folder() / "npm"),
        "npm_config_update_notifier": "false",
    }


async def environment(version: str, node: Node, engine: Engine, log: Path) -> Environment:
    """Return the environment of a LiteLLM version, installed on first use."""
    require_allowed(version)
    lock = LOCKS / f"litellm-{version}.txt"
    recipe = lock.read_bytes() if lock.exists() else f"litellm {version} prisma {PRISMA}".encode()
    digest = hashlib.sha256(recipe + platform.python_version().encode()).hexdigest()[:12]
    folder = cache_folder() / "subjects" / f"litellm-{version}-{digest}"
    made = Environment(version, folder / "bin" / "python", site_packages_of(folder), locked=lock.exists())
    async with create_once(folder) as empty:
        if empty is not None:
            require_room(empty, ENVIRONMENT_MIB)
            await make_environment(empty, log)
            await _install_litellm(made, lock if lock.exists() else None, log)
            await _generate_client(made, node, engine, log)
            if made.shortfalls:
                await write_difference(
                    made.migrations.with_name("schema.prisma"), made.schema, made.difference, node, log
                )
    return made


async def _install_litellm(made: Environment, lock: Path | None, log: Path) -> None:
    try:
        wanted: list[str | Path] = ["--require-hashes", "-r", lock] if lock else []
        wanted = wanted or [*await requirements(made.version, made.python, made.site_packages, log)]
        await install(["--python", made.python], wanted, log)
    except ProcessFailed as error:
        if re.search(NO_NETWORK, error.details):
            raise RigFailure(
                f"LiteLLM {made.version} is not in the cache, and PyPI cannot be reached.",
                hint="Check the connection to PyPI with evenkeel doctor, or use a version that is in the cache.",
                details=error.details,
            ) from error
        if NO_SOLUTION in error.details:
            raise UnknownVersion(
                f"LiteLLM {made.version} cannot be installed from PyPI.",
                hint=f"Choose another version; tested ones are {', '.join(locked_versions())}.",
                details=error.details,
            ) from error
        raise


async def _generate_client(made: Environment, node: Node, engine: Engine, log: Path) -> None:
    """Generate the Prisma client for the version's schema in its site-packages."""
    home = cache_folder() / f"prisma-home-{PRISMA}"
    scripts = made.python.parent
    env = dict(os.environ) | prisma_env(node, engine, home)
    env["PATH"] = os.pathsep.join([str(scripts), env["PATH"]])
    command = Command(
        "prisma generate", [scripts / "prisma", "generate", "--schema", made.schema], env=env, cwd=scripts, log=log
    )
    # Otherwise two versions could install npm packages into one folder at the same time.
    async with create_once(home) as first:
        if first is not None:
            await run(command)
            return
    await run(command)


async def plugin_folder() -> Path:
    """Return a folder, named after its content, with the plugin as its wheel would install it."""
    spec = importlib.util.find_spec("litellm_evenkeel")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    files = sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    digest = hashlib.sha256()
    for path in files:
        digest.update(str(path.relative_to(package)).encode() + path.read_bytes())
    distribution = metadata.distribution("litellm-evenkeel")
    version = distribution.version
    folder = cache_folder() / "plugins" / f"{version}-{digest.hexdigest()[:12]}"
    async with create_once(folder) as empty:
        if empty is not None:
            shutil.copytree(package, empty / "litellm_evenkeel", ignore=shutil.ignore_patterns("__pycache__"))
            about = empty / f"litellm_evenkeel-{version}.dist-info"
            about.mkdir()
            (about / "METADATA").write_text(distribution.read_text("METADATA") or "", encoding="utf-8")
    return folder
