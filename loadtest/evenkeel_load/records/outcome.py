"""Outcome of a request, as the client saw it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Outcome:
    """Outcome of a request. Times are nanoseconds of Unix time; 0 if it never happened."""

    sent_ns: int = 0
    first_byte_ns: int = 0
    first_token_ns: int = 0
    last_token_ns: int = 0
    end_ns: int = 0
    chunk_ns: list[int] = field(default_factory=list)
    status: int = 0
    error: str = ""
    """The class of the error, see `http.client`; empty without one."""
    retries: int | None = None
    model_id: str | None = None
    mock_received_ns: int | None = None
    mock_sent_ns: int | None = None
    size: int = 0
