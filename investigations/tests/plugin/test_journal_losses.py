"""Losses of two thousand records a second when a worker ends or is killed. Slow: a minute each."""

from __future__ import annotations

import mmap
import signal
import struct
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.journal.settings import JournalSettings
from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

RATE, SECONDS = 2_000, 60
# The last interval's rows, and a batch that was being written: as long as a write takes less than an interval, such a
# batch holds what came in one, too.
TERMS = JournalSettings()
MOST_LOST = 2 * int(RATE * TERMS.flush_interval)
WORKER = f"""
import atexit, mmap, signal, struct, sys, time
from pathlib import Path
from evenkeel_lab.bench.journal_store.files import row
from litellm_evenkeel.journal.journal import Journal
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.journal.settings import JournalSettings

ends = []
signal.signal(signal.SIGTERM, lambda *_: ends.append(True))
journal = Journal(SqliteStore(Path(sys.argv[1])), None, JournalSettings(), writer=1)
atexit.register(journal.close)
# Not so old that it would be deleted.
one = row(0)._replace(time=int(time.time() * 1_000_000))
with open(sys.argv[2], "r+b") as file:
    offered = mmap.mmap(file.fileno(), 8)
    began = time.perf_counter()
    number = 0
    while not ends:
        due = int((time.perf_counter() - began) * {RATE})
        while number < due:
            # Counted first, so that a killed worker never has more records than were counted.
            number += 1
            struct.pack_into("q", offered, 0, number)
            journal.append(one)
        time.sleep(0.001)
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("ends", "most_lost"), [(signal.SIGTERM, 0), (signal.SIGKILL, MOST_LOST)])
def test_no_more_is_lost_than_was_promised(tmp_path: Path, ends: signal.Signals, most_lost: int) -> None:
    path, shared = tmp_path / "journal.db", tmp_path / "offered"
    shared.write_bytes(bytes(8))
    worker = subprocess.Popen([sys.executable, "-c", WORKER, path, shared])
    try:
        with shared.open("r+b") as file, closing(mmap.mmap(file.fileno(), 8)) as offered:
            gives_up = time.monotonic() + 3 * SECONDS
            while struct.unpack_from("q", offered)[0] < RATE * SECONDS:
                assert worker.poll() is None
                assert time.monotonic() < gives_up
                time.sleep(0.01)
            worker.send_signal(ends)
            worker.wait(30)
            (number,) = struct.unpack_from("q", offered)
    finally:
        worker.kill()
        worker.wait()
    with closing(SqliteStore(path, create=False)) as store:
        span = store.writers()[1]
    # What is there is there without a gap.
    assert span.first == 1
    assert span.gaps == 0
    print(f"{ends.name}: {number - span.records} of {number:,} rows lost")  # noqa: T201  # for who measures it
    assert number - span.records <= most_lost
