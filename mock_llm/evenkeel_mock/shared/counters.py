"""Counters of answers by worker, in the shared file, which any worker can sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_mock.shared.journal import ENDPOINTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_mock.shared.shared_file import Board

STATUSES = (200, 400, 401, 402, 403, 404, 405, 408, 413, 422, 429, 499, 500, 501, 502, 503, 504, 529)
OK = 200
OTHER = len(STATUSES)
COLUMNS = {status: column for column, status in enumerate(STATUSES)}
ROW = 32
KINDS = ("prompt", "cached", "completion")
TOKENS_AT = ROW * len(ENDPOINTS)


class Tally:
    """The counters of one worker."""

    def __init__(self, board: Board, worker: int) -> None:
        self._counters = board.counters(worker)

    def count(self, endpoint: int, status: int, prompt: int, cached: int, completion: int) -> None:
        """Count an answer."""
        counters = self._counters
        counters[endpoint * ROW + COLUMNS.get(status, OTHER)] += 1
        if status == OK:
            counters[TOKENS_AT] += prompt
            counters[TOKENS_AT + 1] += cached
            counters[TOKENS_AT + 2] += completion


def requests(board: Board) -> Iterator[tuple[str, str, int]]:
    """Yield endpoint, status and number of requests over all workers, without zeros."""
    workers = [board.counters(worker) for worker in range(board.layout.workers)]
    for row, endpoint in enumerate(ENDPOINTS):
        for column in range(OTHER + 1):
            count = sum(counters[row * ROW + column] for counters in workers)
            if count:
                yield endpoint, str(STATUSES[column]) if column < OTHER else "other", count


def tokens(board: Board) -> dict[str, int]:
    """Return the tokens of all answers, by kind."""
    workers = [board.counters(worker) for worker in range(board.layout.workers)]
    return {kind: sum(counters[TOKENS_AT + number] for counters in workers) for number, kind in enumerate(KINDS)}
