"""Single keys from a terminal, without Enter."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import tty
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

UP, DOWN = "up", "down"
SEQUENCES = {b"\x1b[A": UP, b"\x1b[B": DOWN, b"\x1bOA": UP, b"\x1bOB": DOWN}
ESCAPE, SEQUENCE_BYTES = b"\x1b", 3
MAX_BYTES = 64


class Keyboard:
    """Keys of standard input. Without a terminal there, no key is ever pressed."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._unread = b""

    @property
    def is_there(self) -> bool:
        """Whether keys can be read."""
        return self._descriptor is not None

    def read(self, seconds: float) -> str:
        """Return the next key, `up` or `down` for arrows; empty if none is pressed within `seconds`."""
        if not self._unread:
            descriptors = [] if self._descriptor is None else [self._descriptor]
            ready, _, _ = select.select(descriptors, [], [], seconds)
            if not ready or self._descriptor is None:
                return ""
            self._unread = os.read(self._descriptor, MAX_BYTES)
            if not self._unread:
                # The terminal is gone.
                self._descriptor = None
                return ""
        length = SEQUENCE_BYTES if self._unread.startswith(ESCAPE) else 1
        pressed, self._unread = self._unread[:length], self._unread[length:]
        return SEQUENCES.get(pressed, pressed[:1].decode(errors="replace"))


@contextlib.contextmanager
def keyboard() -> Iterator[Keyboard]:
    """Read single keys during the block. Ctrl-C still interrupts."""
    try:
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except (OSError, ValueError, termios.error):
        yield Keyboard(None)
        return
    try:
        tty.setcbreak(descriptor)
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
