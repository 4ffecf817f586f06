"""What became of one request, as the client saw it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Outcome:
    """Times in nanoseconds of Unix time; 0 for what never came."""

    sent_ns: int = 0
    first_byte_ns: int = 0
    first_token_ns: int = 0
    last_token_ns: int = 0
    end_ns: int = 0
    chunk_ns: list[int] = field(default_factory=list)
    status: int = 0
    error: str = ""
    """Its class; empty if all went well. See `client`."""
    retries: int | None = None
    model_id: str | None = None
    mock_received_ns: int | None = None
    mock_sent_ns: int | None = None
    size: int = 0
