"""What holds for the tests of all packages."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

BYTECODE = "PYTHONPYCACHEPREFIX"


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGINT interrupt again, and whatever the tests start compile each package only once."""
    # What a shell starts in the background ignores it, and hands that down.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Hundreds of processes import the same packages. Who wants no bytecode in the project gets it elsewhere.
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and BYTECODE not in os.environ:
        os.environ[BYTECODE] = tempfile.mkdtemp(prefix="evenkeel-bytecode-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(BYTECODE), ignore_errors=True))
