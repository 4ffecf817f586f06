"""Set-up of all test packages."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The time of an example depends on the machine, which may be busy.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("default"), max_examples=10, stateful_step_count=20)
BYTECODE = Path(__file__).parent / ".venv" / "bytecode"
PROCESS_EVENTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty"})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--quick`."""
    parser.addoption(
        "--quick", action="store_true", help="skip tests that start a process; fewer examples of property tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the Hypothesis profile, make SIGINT interrupt, and compile each package only once."""
    settings.load_profile("quick" if config.getoption("quick") else "default")
    # A shell starts background jobs with SIGINT ignored, and their children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # LiteLLM would download its list of prices at import.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # Hundreds of processes import the same packages. Without bytecode beside the sources, it goes where `make clean`
    # removes it.
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(BYTECODE))
        sys.dont_write_bytecode = False


@pytest.fixture(scope="session", autouse=True)
def skip_processes(request: pytest.FixtureRequest) -> None:
    """With `--quick`, skip a test as soon as it starts a process."""

    def skip(event: str, _: tuple[Any, ...]) -> None:
        if event in PROCESS_EVENTS:
            pytest.skip("starts a process")

    if request.config.getoption("quick"):
        # An audit hook sees every way to start a process. It cannot be removed.
        sys.addaudithook(skip)
