"""Run the plugin with a LiteLLM version: its contract, its tests, a proxy. Successful outcomes are cached."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from evenkeel_lab.compat import contract as listed, end_to_end
from evenkeel_lab.compat.contract import contract
from evenkeel_lab.compat.environments import installed, plugin_digest, tests_digest
from evenkeel_lab.compat.lookup import breaks
from evenkeel_lab.compat.outcome import Outcome
from evenkeel_lab.compat.plugin_tests import run_tests
from evenkeel_lab.compat.releases import sources
from evenkeel_lab.compat.source import Tree
from evenkeel_lab.stack.folders import cache_folder, stack_folder

if TYPE_CHECKING:
    from evenkeel_lab.progress import Steps


async def outcome(version: str, logs: Path, steps: Steps) -> Outcome:
    """Return the outcome of a version. A successful outcome of the same code is taken from the cache."""
    kept = cache_folder() / "matrix" / f"{version}-{_digest()}.json"
    with contextlib.suppress(OSError, ValidationError):
        return Outcome.model_validate_json(kept.read_text())
    result = await _run(version, logs, steps)
    if result.ok:
        kept.parent.mkdir(parents=True, exist_ok=True)
        # Atomically: a file cut off by a full disk or a signal would be taken for an outcome.
        new = kept.with_suffix(f".{os.getpid()}.new")
        new.write_text(result.model_dump_json())
        new.replace(kept)
    return result


async def _run(version: str, logs: Path, steps: Steps) -> Outcome:
    log = logs / "uv.log"
    with steps.step(f"LiteLLM {version}: what the plugin needs of it"):
        missing = breaks(Tree(await sources(version, log)), version, contract())
    async with stack_folder() as folder:
        with steps.step(f"LiteLLM {version}: an environment"):
            made = await installed(version, folder / "environment", log)
        with steps.step(f"LiteLLM {version}: the plugin's tests"):
            tests = await run_tests(made, folder, logs)
        with steps.step(f"LiteLLM {version}: a proxy with all callbacks"):
            checks = await end_to_end.run_checks(made, folder / "proxy", logs)
    return Outcome(
        version=version,
        date=datetime.now(UTC).date().isoformat(),
        python=platform.python_version(),
        entries=sum(entry.applies_to(version) for entry in contract()),
        breaks=tuple(missing),
        tests=tests,
        checks=checks,
    )


def _digest() -> str:
    """Return a digest of all code that is run."""
    own_files = (listed.FILE, Path(end_to_end.__file__))
    digest = hashlib.sha256(f"{plugin_digest()}{tests_digest()}{platform.python_version()}".encode())
    for path in own_files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
