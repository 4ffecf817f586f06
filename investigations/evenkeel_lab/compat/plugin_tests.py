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
# As pyproject.toml has it for the tests here; its other settings name what is not there.
OPTIONS = (
    *("-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider", "-q"),
    *("-o", "asyncio_mode=auto", "-o", f"asyncio_default_fixture_loop_scope={LOOP}"),
    *("-o", f"asyncio_default_test_loop_scope={LOOP}"),
    *("-o", f"pythonpath={ROOT / 'plugin' / 'tests' / 'doubles'}"),
)


async def tested(installed: Installed, folder: Path, logs: Path) -> TestRun:
    """Run the tests of the plugin; return how they went."""
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
    """Read what pytest has written."""
    # It is our own pytest that wrote it.
    cases = list(ET.parse(report).iter("testcase"))  # noqa: S314
    failed = [one for one in cases if one.find("failure") is not None or one.find("error") is not None]
    skipped = sum(one.find("skipped") is not None for one in cases)
    names = tuple(f"{one.get('classname') or one.get('name')}: {one.get('name')}" for one in failed)
    return TestRun(passed=len(cases) - len(failed) - skipped, skipped=skipped, failed=names)
