"""Journal of requests: a bounded ring of records per worker, in the shared file, which every worker can read."""

from __future__ import annotations

import heapq
import struct
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from evenkeel_mock.shared.shared_file import RECORD_BYTES, WORD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_mock.shared.shared_file import Board

# received, sent, ended (ns); status, endpoint, streamed; slot; prompt, cached and completion tokens; fault; key; model
RECORD = struct.Struct("<qqqHBBIIII12s40s24s")
ENDPOINTS = ("chat", "completions", "responses", "embeddings", "messages", "count_tokens", "models", "other")


@dataclass(frozen=True)
class Entry:
    """One request as the journal remembers it."""

    received_ns: int
    sent_ns: int
    ended_ns: int
    status: int
    endpoint: str
    streamed: bool
    slot: int
    """Where the account's numbers are, plus one; 0 if there is no account."""
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    fault: str
    key: str
    model: str

    @classmethod
    def unpack(cls, record: tuple[Any, ...]) -> Entry:
        """Read one from its packed form."""
        *numbers, fault, key, model = record
        received, sent, ended, status, endpoint, streamed, slot, prompt, cached, completion = numbers
        texts = (part.rstrip(b"\0").decode(errors="replace") for part in (fault, key, model))
        return cls(
            received, sent, ended, status, ENDPOINTS[endpoint], bool(streamed), slot, prompt, cached, completion, *texts
        )


class Journal:
    """The journal, as one worker writes it and anyone reads it."""

    def __init__(self, board: Board, worker: int) -> None:
        self._board = board
        self._words = board.words
        self._memory = board.memory
        self._capacity = board.layout.records
        self._counter = board.layout.rings_at // WORD + worker
        self._ring = board.layout.ring_at(worker)

    def write(self, *fields: object) -> None:
        """Write a request: the fields of `RECORD`, in their order."""
        written = self._words[self._counter]
        RECORD.pack_into(self._memory, self._ring + written % self._capacity * RECORD_BYTES, *fields)
        self._words[self._counter] = written + 1


def entries(board: Board, last: int = 0) -> Iterator[Entry]:
    """Return the entries of all workers' rings in the order of receipt, or the `last` ones of each ring."""
    return heapq.merge(
        *(_ring(board, worker, last) for worker in range(board.layout.workers)), key=lambda entry: entry.received_ns
    )


def ndjson(board: Board, last: int = 0) -> Iterator[bytes]:
    """Yield a line of JSON for each request, or for the last ones, with the names of accounts."""
    for entry in deque(entries(board, last), last) if last else entries(board):
        fields = dict(vars(entry))
        slot = fields.pop("slot")
        yield orjson.dumps(fields | {"account": board.name(slot - 1) if slot else ""}) + b"\n"


def written(board: Board) -> int:
    """Return the number of requests that were written, including those that the rings have overwritten."""
    start = board.layout.rings_at // WORD
    return sum(board.words[start : start + board.layout.workers])


def _ring(board: Board, worker: int, last: int) -> Iterator[Entry]:
    capacity, start = board.layout.records, board.layout.ring_at(worker)
    count = board.words[board.layout.rings_at // WORD + worker]
    # A request is remembered when it has ended, so the order of receipt is only nearly the order of the ring.
    result = [
        Entry.unpack(RECORD.unpack_from(board.memory, start + number % capacity * RECORD_BYTES))
        for number in range(max(0, count - min(last or capacity, capacity)), count)
    ]
    return iter(sorted(result, key=lambda entry: entry.received_ns))
