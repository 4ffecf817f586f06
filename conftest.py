"""What holds for the tests of all packages."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Let SIGINT interrupt again: what a shell starts in the background ignores it, and hands that down."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
