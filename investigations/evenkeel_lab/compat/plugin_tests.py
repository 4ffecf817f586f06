"""The plugin's own tests, in an environment with a LiteLLM and without the lab."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from evenkeel_lab.compat.environments import ROOT
from evenkeel_lab.compat.outcome import TestRun
from evenkeel_lab.errors import ProcessFailed
from evenkeel_lab.stack.processes.process import Command, run

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.compat.environments import Installed

LOOP = "session"
# The settings of pyproject.toml that do not need the rest of the project.
OPTIONS = (
    *("-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider", "-q"),
    *("-o", "asyncio_mode=auto", "-o", f"asyncio_default_fixture_loop_scope={LOOP}"),
    *("-o", f"asyncio_default_test_loop_scope={LOOP}"),
    *("-o", f"pythonpath={ROOT / 'plugin' / 'tests' / 'doubles'}"),
)


async def run_tests(installed: Installed, folder: Path, logs: Path) -> TestRun:
    """Run the plugin's tests, and return their results."""
    report = folder / "tests.xml"
    command = Command(
        f"The plugin's tests with LiteLLM {installed.version}",
        [installed.python, "-m", "pytest", *OPTIONS, f"--junitxml={report}", ROOT / "plugin" / "tests"],
        log=logs / f"tests-{installed.version}.log",
        env=dict(os.environ) | {"TMPDIR": str(folder)},
        cwd=folder,
        folder=folder,
    )
    try:
        await run(command)
    except ProcessFailed:
        if not report.exists():
            raise
    return read(report)


def read(report: Path) -> TestRun:
    """Read the report of pytest."""
    # Our own pytest has written it.
    cases = list(ET.parse(report).iter("testcase"))  # noqa: S314
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    names = tuple(f"{case.get('classname') or case.get('name')}: {case.get('name')}" for case in failed)
    return TestRun(passed=len(cases) - len(failed) - skipped, skipped=skipped, failed=names)
