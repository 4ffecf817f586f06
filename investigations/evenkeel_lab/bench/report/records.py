"""Synthetic records of a load, in a folder with a plan like that of a real load."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_load.records.record import Record
from evenkeel_load.records.recorder import Recorder

if TYPE_CHECKING:
    from pathlib import Path

STREAMS_EVERY, CHUNKS = 10, 50
NS_PER_MS = 1_000_000


def make_records(folder: Path, count: int, seed: int = 7, factor: float = 1.0) -> None:
    """Write records of `count` requests, a millisecond apart, a tenth of them streams."""
    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(folder)
    took = (np.random.default_rng(seed).lognormal(18, 0.5, count) * factor).astype(np.int64).tolist()
    start = time.time_ns()
    for number, ns in enumerate(took):
        intended = start + number * NS_PER_MS
        sent, end = intended + 100_000, intended + ns
        streams = number % STREAMS_EVERY == 0
        chunks = list(range(sent, end, (end - sent) // CHUNKS)) if streams else []
        recorder.add(
            Record(
                number=number,
                step=0,
                call="stream" if streams else "chat",
                user=f"random-{number:016x}",
                key=f"7-{number}",
                intended_ns=intended,
                sent_ns=sent,
                first_byte_ns=sent + 50_000,
                first_token_ns=chunks[0] if chunks else None,
                last_token_ns=chunks[-1] if chunks else None,
                end_ns=end,
                chunk_ns=chunks,
                status=200,
                error=None,
                retries=0,
                model_id="a-model",
                mock_received_ns=sent + 20_000,
                mock_sent_ns=end - 20_000,
                arm="",
                run="made",
            )
        )
    recorder.close()
    plan = {"step": 0, "scenario": "mixed", "arrivals": "constant", "users": 1, "expected": count, "host": ""}
    plan |= {"span": (count - 1) / 1000, "duration": None, "processes": 0}
    (folder / "plan-0.json").write_text(json.dumps(plan), encoding="utf-8")
