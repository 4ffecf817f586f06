"""Provenance of a session: the machine, the software and the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping

COUNTING = 2
MODEL, MEMORY_UNIT = "model name", 2**30
MEASURES_WITH = ("litellm-evenkeel", "locust", "gevent", "numpy", "scipy", "statsmodels")
HERE = Path(__file__).parent
# Files that sessions write. They are no changes of the code: the next chapter of a study is measured with the same.
WRITTEN = (
    "reports/**",
    *(f"investigations/**/{name}.json" for name in ("summary", "profile", "traces")),
    "investigations/benches/*.json",
    "investigations/chaos.json",
    "investigations/bisect_searches.json",
    "**/notebook.ipynb",
)


@dataclass(frozen=True)
class Provenance:
    """Everything that is needed to repeat a session. Unknown fields are empty."""

    machine: str = ""
    processor: str = ""
    cores: int = 0
    memory_gib: int = 0
    kernel: str = ""
    python: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    commit: str = ""
    dirty: bool = False
    """Whether there were uncommitted changes."""
    engine: str = ""
    """The query engine between LiteLLM and Postgres."""
    installed: dict[str, str] = field(default_factory=dict)
    """The installation of each version of LiteLLM."""
    counting: int = 1
    """The version of the method that counts commands of Valkey. The first one missed closed connections."""
    later: list[dict[str, Any]] = field(default_factory=list)
    """Changes of these fields, each time that the session was resumed with another value."""

    def resumed(self, now: Provenance) -> Provenance:
        """Return the provenance of a session that was begun with this one and is resumed with `now`."""
        current = asdict(now)
        last = asdict(self)
        for change in last.pop("later"):
            last |= change
        change = {name: current[name] for name, before in last.items() if current[name] != before}
        return replace(self, later=[*self.later, change]) if change else self


def provenance(engine: str, code: Path = HERE, installed: Mapping[str, str] | None = None) -> Provenance:
    """Return the provenance of a measurement on this machine with the code in the folder `code`."""
    return Provenance(
        machine=platform.machine(),
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_gib=round(psutil.virtual_memory().total / MEMORY_UNIT),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        versions={name: metadata.version(name) for name in MEASURES_WITH},
        commit=_git(code, "rev-parse", "HEAD"),
        dirty=bool(
            _git(code, "status", "--porcelain", "--", ":/", *(f":(top,exclude,glob){path}" for path in WRITTEN))
        ),
        engine=engine,
        installed=dict(installed or {}),
        counting=COUNTING,
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(MODEL)), platform.processor())


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S607
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
