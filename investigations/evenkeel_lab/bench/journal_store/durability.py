"""Records that the journal loses when its process is killed, or when the power fails.

A killed process loses what is in its memory. A power failure also loses what was written but not synced: for a file
with a write-ahead log and `synchronous=normal`, the log since the last checkpoint. So a power failure is simulated by
reading the file without its log.
"""

from __future__ import annotations

import mmap
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

from evenkeel_lab.bench.journal_store.files import folder
from evenkeel_lab.errors import RigFailure

if TYPE_CHECKING:
    from pathlib import Path

RATE, LEAST_SECONDS, MOST_SECONDS = 2_000, 6.0, 10.0
# Values are compared by factors, which must not be zero.
LEAST = 1.0
COUNT = "SELECT count(*) FROM evenkeel_journal"
OFFERS = """
import mmap, struct, sys, time
from pathlib import Path
from evenkeel_lab.bench.journal_store.files import row
from litellm_evenkeel.journal.journal import Journal
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.journal.settings import JournalSettings, Synchronous

path, shared, synchronous, together, rate = sys.argv[1:]
settings = JournalSettings(batch_size=int(together), retention=0.0)
journal = Journal(SqliteStore(Path(path), synchronous=Synchronous(synchronous)), None, settings, writer=1)
record = row(0)
with open(shared, "r+b") as file:
    offered, number = mmap.mmap(file.fileno(), 8), 0
    began = time.perf_counter()
    while True:
        while number < (time.perf_counter() - began) * int(rate):
            number += 1
            struct.pack_into("q", offered, 0, number)
            journal.append(record)
        time.sleep(0.001)
"""


def lost(seed: int, *, synchronous: str = "normal", together: int = 500, power: bool = False) -> float:
    """Return one plus the number of lost records when a process that gets 2,000 records a second is killed.

    `together` is the size of a batch. `power` simulates a power failure.
    """
    with folder(on_disk=True) as directory:
        path, shared = directory / "journal.db", directory / "offered"
        shared.write_bytes(bytes(8))
        arguments = [path, shared, synchronous, together, RATE]
        offering = subprocess.Popen([sys.executable, "-c", OFFERS, *map(str, arguments)])
        try:
            with shared.open("r+b") as file, closing(mmap.mmap(file.fileno(), 8)) as offered:
                # At a random time between two batches and between two checkpoints.
                wanted = RATE * random.Random(seed).uniform(LEAST_SECONDS, MOST_SECONDS)
                while struct.unpack_from("q", offered)[0] < wanted:
                    if offering.poll() is not None:
                        what = f"The process that writes records ended with {offering.returncode}."
                        raise RigFailure(what, hint="See its last output, above.")
                    time.sleep(0.002)
                offering.send_signal(signal.SIGKILL)
                offering.wait()
                (number,) = struct.unpack_from("q", offered)
        finally:
            offering.kill()
            offering.wait()
        if power and synchronous == "normal":
            path = shutil.copyfile(path, directory / "alone.db")
        return float(number - _rows(path)) + LEAST


def _rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as file:
        try:
            return int(file.execute(COUNT).fetchone()[0])
        except sqlite3.OperationalError:
            # Not even the table is in the file.
            return 0
