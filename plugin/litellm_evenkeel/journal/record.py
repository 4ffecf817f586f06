"""Journal records, one for each request.

A record is identified by its writer and by a number that counts the writer's records from 1. So the records of two
stores can be compared, none is written twice, and a gap in a writer's numbers shows a lost record.
"""

from __future__ import annotations

import math
from typing import NamedTuple

MAX_INTEGER = 2**63 - 1
MAX_TEXT_CHARACTERS = 256
REPLACED = "\N{REPLACEMENT CHARACTER}"


class RequestRecord(NamedTuple):
    """One client request and its outcome. The fields are in the order of a store's columns."""

    writer: int
    """Id of the worker that wrote the record: a random number drawn at its start."""
    number: int
    """Number of the record among the writer's records, from 1."""
    time: int
    """Arrival of the request, in microseconds since 1970."""
    key: str
    """Hash of the client's key."""
    account: str
    """Account of the last attempt, or empty if there was no attempt."""
    model: str
    """Model that the client requested."""
    deployment: str
    """LiteLLM's id of the deployment of the last attempt."""
    status: int
    """HTTP status of the response: 200, or the status of the error."""
    error: str
    """Class name of the error, or empty if there was none."""
    latency: float
    """Seconds from the arrival of the request to the end of the response."""
    first_token: float | None
    """Seconds to the first token of a stream, or `None` for other responses."""
    prompt_tokens: int
    output_tokens: int
    cost: float
    """Dollars, as calculated by LiteLLM."""
    retries: int
    """Number of failed attempts before the last one."""
    reason: str
    """Reason of the rotation's pick, or empty if it did not pick."""
    is_stream: bool
    is_cached: bool
    """Whether LiteLLM answered from its cache, without an attempt."""


COLUMNS: tuple[str, ...] = RequestRecord._fields


def safe_text(value: object) -> str:
    """Return a text that every store and terminal accepts: bounded, on one line, with printable characters only.

    Model names are client input. A line break in one could forge another record in a printed journal.
    """
    if not value:
        return ""
    bounded = str(value)[:MAX_TEXT_CHARACTERS]
    return bounded if bounded.isprintable() else "".join(char if char.isprintable() else REPLACED for char in bounded)


def safe_int(value: object) -> int:
    """Return a non-negative integer that every store accepts, or 0 for anything else."""
    return min(int(value), MAX_INTEGER) if isinstance(value, int | float) and 0 <= value < math.inf else 0


def safe_float(value: object) -> float:
    """Return a finite, non-negative number, or 0 for anything else."""
    return float(value) if isinstance(value, int | float) and 0 <= value < math.inf else 0.0
