"""Where and with what something was measured."""

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
# What sessions write themselves: the second chapter of a book is measured with the same code as the first.
WRITTEN = ("reports/**", "investigations/**/summary.json", "investigations/**/profile.json", "**/notebook.ipynb")


@dataclass(frozen=True)
class Provenance:
    """All that somebody needs who wants to do it again; what is not known is empty."""

    machine: str = ""
    processor: str = ""
    cores: int = 0
    memory_gib: int = 0
    kernel: str = ""
    python: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    commit: str = ""
    dirty: bool = False
    """Whether there were changes beside the commit."""
    engine: str = ""
    """Which query engine stood between LiteLLM and Postgres."""
    installed: dict[str, str] = field(default_factory=dict)
    """How each version of LiteLLM was installed."""
    counting: int = 1
    """By which way commands to Valkey were counted; the first left out those of connections that had been closed."""
    later: list[dict[str, Any]] = field(default_factory=list)
    """What was another when it went on after a stop, each time that anything was."""

    def went_on(self, now: Provenance) -> Provenance:
        """Return the same, of something that was begun here and has more done to it now."""
        found = asdict(now)
        last = asdict(self)
        for change in last.pop("later"):
            last |= change
        change = {name: found[name] for name, before in last.items() if found[name] != before}
        return replace(self, later=[*self.later, change]) if change else self


def provenance(engine: str, code: Path = HERE, installed: Mapping[str, str] | None = None) -> Provenance:
    """Return this machine's, and of the code that measures."""
    return Provenance(
        machine=platform.machine(),
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_gib=round(psutil.virtual_memory().total / MEMORY_UNIT),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        versions={name: metadata.version(name) for name in MEASURES_WITH},
        commit=_git(code, "rev-parse", "HEAD"),
        dirty=bool(_git(code, "status", "--porcelain", "--", ":/", *(f":(top,exclude,glob){one}" for one in WRITTEN))),
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


def _git(place: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=place, capture_output=True, text=True, check=False)  # noqa: S607
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
