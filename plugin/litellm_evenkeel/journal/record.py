"""What the journal keeps of a request.

A row is known by who wrote it and a number that counts that writer's rows from 1: rows of two stores can be told
apart and compared, none is written twice, and a gap in a writer's numbers is a row that was lost.
"""

from __future__ import annotations

import math
from typing import NamedTuple

MAX_INTEGER = 2**63 - 1
MAX_TEXT_CHARACTERS = 256
REPLACED = "\N{REPLACEMENT CHARACTER}"


class RequestRecord(NamedTuple):
    """One request of a client, and how it ended. The order is that of a store's columns."""

    writer: int
    """Whose row it is: a random number that each worker draws when it starts."""
    number: int
    """Which of that writer's rows it is, from 1."""
    time: int
    """When the request came, in microseconds since 1970."""
    key: str
    """The hash of the key with which it came."""
    account: str
    """Which account served it, or failed it last; empty if none was asked."""
    model: str
    """What the client asked for."""
    deployment: str
    """LiteLLM's id of the deployment that served it, or failed it last."""
    status: int
    """What the client got: 200, or the status of the error."""
    error: str
    """What kind of error it was; empty if it was none."""
    latency: float
    """Seconds from the request to the end of its answer."""
    first_token: float | None
    """Seconds to the first token of a stream; None for other answers."""
    prompt_tokens: int
    output_tokens: int
    cost: float
    """Dollars, as LiteLLM reckons them."""
    retries: int
    """How many attempts had failed before the one that ended it."""
    reason: str
    """Why the rotation chose that account; empty if it did not choose."""
    is_stream: bool
    is_cached: bool
    """Whether LiteLLM had the answer itself, so that no account was asked."""


COLUMNS: tuple[str, ...] = RequestRecord._fields


def safe_text(told: object) -> str:
    """Return what every store can keep of a text, and every terminal show: bounded, in one line, and of printed signs.

    Clients choose what their models are called; a line that looks like another row is none of theirs to write.
    """
    if not told:
        return ""
    found = str(told)[:MAX_TEXT_CHARACTERS]
    return found if found.isprintable() else "".join(one if one.isprintable() else REPLACED for one in found)


def safe_int(told: object) -> int:
    """Return a number that every store can keep; 0 for what is none."""
    return min(int(told), MAX_INTEGER) if isinstance(told, int | float) and 0 <= told < math.inf else 0


def safe_float(told: object) -> float:
    """Return a finite number that is not below zero; 0 for what is none."""
    return float(told) if isinstance(told, int | float) and 0 <= told < math.inf else 0.0
