"""How many rows the journal loses when its process is killed, or when the power fails.

A process that is killed takes what waited in its memory. A loss of power takes besides what was written and not yet on
the disk: of a file with a write-ahead log that is, where the disk is not waited for, the log since it was last brought
into the file; so what is counted then is what the file holds without its log.
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
# A figure is compared by factors, which know no zero.
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
terms = JournalSettings(batch_size=int(together), retention=0.0)
journal = Journal(SqliteStore(Path(path), synchronous=Synchronous(synchronous)), None, terms, writer=1)
one = row(0)
with open(shared, "r+b") as file:
    offered, number = mmap.mmap(file.fileno(), 8), 0
    began = time.perf_counter()
    while True:
        while number < (time.perf_counter() - began) * int(rate):
            number += 1
            struct.pack_into("q", offered, 0, number)
            journal.append(one)
        time.sleep(0.001)
"""


def lost(seed: int, *, synchronous: str = "normal", together: int = 500, power: bool = False) -> float:
    """Return how many of 2,000 rows a second are lost, and one more, when the process is killed after some seconds.

    `power` counts what is on the disk for certain: without the log, unless the disk is waited for after each batch.
    """
    with folder(on_disk=True) as place:
        path, shared = place / "journal.db", place / "offered"
        shared.write_bytes(bytes(8))
        arguments = [path, shared, synchronous, together, RATE]
        offering = subprocess.Popen([sys.executable, "-c", OFFERS, *map(str, arguments)])
        try:
            with shared.open("r+b") as file, closing(mmap.mmap(file.fileno(), 8)) as offered:
                # At any moment between two flushes, and between two times that the log is brought into the file.
                wanted = RATE * random.Random(seed).uniform(LEAST_SECONDS, MOST_SECONDS)
                while struct.unpack_from("q", offered)[0] < wanted:
                    if offering.poll() is not None:
                        what = f"The process that offers rows ended with {offering.returncode}."
                        raise RigFailure(what, hint="What it wrote last, above, says why.")
                    time.sleep(0.002)
                offering.send_signal(signal.SIGKILL)
                offering.wait()
                (number,) = struct.unpack_from("q", offered)
        finally:
            offering.kill()
            offering.wait()
        if power and synchronous == "normal":
            path = shutil.copyfile(path, place / "alone.db")
        return float(number - _rows(path)) + LEAST


def _rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as file:
        try:
            return int(file.execute(COUNT).fetchone()[0])
        except sqlite3.OperationalError:
            # Not even the table has come into the file.
            return 0
