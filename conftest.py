"""What holds for the tests of all packages."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def pytest_configure() -> None:
    """Let SIGINT interrupt again, and all that the tests start compile each package only once."""
    # What a shell starts in the background ignores it, and hands that down.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Hundreds of processes import the same packages. Who wants no bytecode beside sources has it where `make clean`
    # finds it.
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(__file__).parent / ".venv" / "bytecode"))
