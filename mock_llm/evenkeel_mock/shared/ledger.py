"""Recording of requests: counters, and a line in the journal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from evenkeel_mock.shared.counters import Tally
from evenkeel_mock.shared.journal import Journal

if TYPE_CHECKING:
    from evenkeel_mock.shared.shared_file import Board
    from evenkeel_mock.wire.answer import Request


class Ledger:
    """The counters and the journal of one worker."""

    def __init__(self, board: Board, worker: int) -> None:
        self._count = Tally(board, worker).count
        self._write = Journal(board, worker).write

    def note(self, received_ns: int, sent_ns: int, endpoint: int, status: int, slot: int) -> None:
        """Record a request that could not be parsed, or has no known key."""
        self._count(endpoint, status, 0, 0, 0)
        self._write(received_ns, sent_ns, sent_ns, status, endpoint, 0, slot + 1, 0, 0, 0, b"", b"", b"")

    def record(
        self,
        received_ns: int,
        sent_ns: int,
        endpoint: int,
        status: int,
        slot: int,
        request: Request,
        tokens: tuple[int, int, int],
        fault: bytes,
        key: bytes,
    ) -> None:
        """Record a request and its tokens: of the prompt, the cached ones among them, and of the completion."""
        self._count(endpoint, status, *tokens)
        self._write(
            received_ns,
            sent_ns,
            time.time_ns(),
            status,
            endpoint,
            request.stream,
            slot + 1,
            *tokens,
            fault,
            key,
            request.model.encode(),
        )
