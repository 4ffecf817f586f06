"""One request as it was: what the client saw, in nanoseconds of Unix time."""

from __future__ import annotations

import pyarrow as pa

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
