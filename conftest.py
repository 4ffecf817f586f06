"""What holds for the tests of all packages."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from hypothesis import HealthCheck, settings

# How long an example takes is the machine's affair, which may do other things as well.
settings.register_profile("anywhere", deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pytest_configure() -> None:
    """Let SIGINT interrupt again, nothing be too slow, and all that the tests start compile each package only once."""
    settings.load_profile("anywhere")
    # What a shell starts in the background ignores it, and hands that down.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Hundreds of processes import the same packages. Who wants no bytecode beside sources has it where `make clean`
    # finds it.
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(__file__).parent / ".venv" / "bytecode"))
