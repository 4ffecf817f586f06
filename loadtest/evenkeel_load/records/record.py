"""One request as it was: what the client saw, in nanoseconds of Unix time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence


class Record(NamedTuple):
    """One request; None for what never came."""

    number: int
    step: int
    call: str
    user: str | None
    key: str
    intended_ns: int
    sent_ns: int
    first_byte_ns: int | None
    first_token_ns: int | None
    last_token_ns: int | None
    end_ns: int
    chunk_ns: Sequence[int]
    status: int | None
    error: str | None
    retries: int | None
    model_id: str | None
    mock_received_ns: int | None
    mock_sent_ns: int | None
    arm: str
    run: str


# As they are written; in the order of the above.
FIELDS: dict[str, pa.DataType] = {
    "number": pa.int64(),
    "step": pa.int32(),
    "call": pa.string(),
    "user": pa.string(),
    "key": pa.string(),
    "intended_ns": pa.int64(),
    "sent_ns": pa.int64(),
    "first_byte_ns": pa.int64(),
    "first_token_ns": pa.int64(),
    "last_token_ns": pa.int64(),
    "end_ns": pa.int64(),
    "chunk_ns": pa.list_(pa.int64()),
    "status": pa.int16(),
    "error": pa.string(),
    "retries": pa.int64(),
    "model_id": pa.string(),
    "mock_received_ns": pa.int64(),
    "mock_sent_ns": pa.int64(),
    "arm": pa.string(),
    "run": pa.string(),
}
SCHEMA = pa.schema(list(FIELDS.items()))
"""As a process writes it."""
MERGED = SCHEMA.append(pa.field("added_ns", pa.int64()))
"""As it is merged: with what stands between the client and the mock has added, where the mock's times came through."""
