"""What keeping rows costs, in microseconds for each: ways to read and to write files of SQLite, and tables of Postgres.

Each is a function that is called with a seed, as an arm of an investigation is; `evenkeel bench store` calls the same.
A file lies in memory where it is the code that is to be compared, and on a disk where it is the disk.
"""

from __future__ import annotations

import queue
import random
import sqlite3
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from litellm_evenkeel.journal.record import RequestRecord
from litellm_evenkeel.journal.settings import Synchronous
from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MICROSECONDS = 1e6
MEMORY = Path("/dev/shm")  # noqa: S108  # a folder of its own is made in it
ROWS, OPERATIONS, LEAST_BATCHES = 1_000, 1_000, 20
POOL = 10
GET = "SELECT * FROM runs WHERE id = ?"
PUT = "INSERT INTO runs (model, text, seconds) VALUES (?, ?, ?)"
TEXT = "x" * 200
MODES = {"wal": "PRAGMA journal_mode = WAL", "delete": "PRAGMA journal_mode = DELETE"}


@contextmanager
def folder(*, on_disk: bool) -> Iterator[Path]:
    """Make a folder for files, on the disk or in memory, and remove it."""
    place = MEMORY if MEMORY.is_dir() and not on_disk else None
    with tempfile.TemporaryDirectory(prefix="evenkeel-store-", dir=place) as name:
        yield Path(name)


def connected(path: Path, mode: str, synchronous: str) -> sqlite3.Connection:
    """Open a file with a table in it."""
    connection = sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)
    connection.execute(MODES[mode])
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY, model TEXT, text TEXT, seconds REAL)")
    return connection


def filled(path: Path, mode: str, synchronous: str = "normal") -> sqlite3.Connection:
    """Open a file with a thousand rows in it, all of which have been read."""
    connection = connected(path, mode, synchronous)
    connection.execute("BEGIN")
    connection.executemany(PUT, [("m", TEXT, float(number)) for number in range(ROWS)])
    connection.execute("COMMIT")
    return warm(connection)


def warm(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Read all there is, so that it lies in the connection's own cache."""
    connection.execute("SELECT * FROM runs").fetchall()
    return connection


def per_operation(operation: Callable[[int], object], several: Sequence[int]) -> float:
    """Return how many microseconds it takes for each of several, after a few that do not count."""
    for one in several[: max(len(several) // 10, 1)]:
        operation(one)
    began = time.perf_counter()
    for one in several:
        operation(one)
    return (time.perf_counter() - began) / len(several) * MICROSECONDS


def _ids(seed: int) -> list[int]:
    return random.Random(seed).choices(range(1, ROWS + 1), k=OPERATIONS)


def read(seed: int, *, mode: str = "wal", on_disk: bool = False) -> float:
    """Read rows one by one through one connection."""
    with folder(on_disk=on_disk) as place, closing(filled(place / "f.db", mode)) as connection:
        return per_operation(lambda one: connection.execute(GET, (one,)).fetchone(), _ids(seed))


def write(
    seed: int, *, mode: str = "wal", synchronous: str = "normal", on_disk: bool = False, rows: int = OPERATIONS
) -> float:
    """Write so many rows one by one, each a transaction."""
    several = range(seed, seed + rows)
    with folder(on_disk=on_disk) as place, closing(filled(place / "f.db", mode, synchronous)) as connection:
        return per_operation(lambda one: connection.execute(PUT, ("m", TEXT, float(one))), several)


def read_lent(seed: int, *, mode: str = "wal", on_disk: bool = False) -> float:
    """Read rows one by one, each through a connection that a pool of ten lends."""
    with folder(on_disk=on_disk) as place, ExitStack() as stack:
        filled(place / "f.db", mode).close()
        pool: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        for _ in range(POOL):
            pool.put(warm(stack.enter_context(closing(connected(place / "f.db", mode, "normal")))))

        def asked(one: int) -> None:
            connection = pool.get()
            try:
                connection.execute(GET, (one,)).fetchone()
            finally:
                pool.put(connection)

        return per_operation(asked, _ids(seed))


def read_at_once(seed: int, *, threads: int = 10, mode: str = "wal", on_disk: bool = False) -> float:
    """Read rows from several threads, each with a connection of its own, until all have been read."""
    several = _ids(seed)
    parts = [several[start::threads] for start in range(threads)]
    with folder(on_disk=on_disk) as place, ExitStack() as stack:
        filled(place / "f.db", mode).close()
        # One after the other: who opens a file while others do is refused at times, whatever its patience.
        mine = [warm(stack.enter_context(closing(connected(place / "f.db", mode, "normal")))) for _ in parts]
        ready = threading.Barrier(threads + 1)

        def work(connection: sqlite3.Connection, ids: list[int]) -> None:
            ready.wait()
            for one in ids:
                connection.execute(GET, (one,)).fetchone()

        with ThreadPoolExecutor(threads) as pool:
            working = [pool.submit(work, connection, ids) for connection, ids in zip(mine, parts, strict=True)]
            ready.wait()
            began = time.perf_counter()
            for one in working:
                one.result()
            return (time.perf_counter() - began) / len(several) * MICROSECONDS


def write_in(seed: int, *, transaction: str = "immediate", size: int = 100, on_disk: bool = False) -> float:
    """Write rows some at a time: in a transaction that is immediate or deferred, or in none, each by itself."""
    batches = range(max(OPERATIONS // size, LEAST_BATCHES))
    rows = [("m", TEXT, float(seed))] * size
    with folder(on_disk=on_disk) as place, closing(connected(place / "f.db", "wal", "normal")) as connection:

        def write_some(_: int) -> None:
            if transaction != "none":
                connection.execute(f"BEGIN {transaction}")
            for row in rows:
                connection.execute(PUT, row)
            if transaction != "none":
                connection.execute("COMMIT")

        return per_operation(write_some, batches) / size


def row(number: int, writer: int = 1) -> RequestRecord:
    """Return a row of the journal as it is in practice."""
    return RequestRecord(
        writer=writer,
        number=number,
        time=1_700_000_000_000_000 + number * 1_000,
        key="0123456789abcdef" * 4,
        account=f"account-{number % 50}",
        model="gpt-4o-mini",
        deployment="0123456789abcdef" * 4,
        status=200,
        error="",
        latency=0.25,
        first_token=None,
        prompt_tokens=812,
        output_tokens=124,
        cost=0.00021,
        retries=0,
        reason="strategy",
        is_stream=False,
        is_cached=False,
    )


def write_twice(
    seed: int, *, how: str = "one", size: int = 1, synchronous: str = "normal", on_disk: bool = False
) -> float:
    """Write rows of the journal into one store, or into two: in turn (sequential), or at once (parallel)."""
    batches = range(max(OPERATIONS // size, LEAST_BATCHES))
    with folder(on_disk=on_disk) as place, ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        stores = [
            stack.enter_context(closing(SqliteStore(place / f"{name}.db", synchronous=Synchronous(synchronous))))
            for name in ("first", "second")
        ]
        records = [[row(seed + batch * size + one) for one in range(size)] for batch in range(2 * len(batches))]
        taken = iter(records)

        def write_some(_: int) -> None:
            some = next(taken)
            if how == "parallel":
                other = pool.submit(stores[1].write, some)
                stores[0].write(some)
                other.result()
                return
            stores[0].write(some)
            if how == "sequential":
                stores[1].write(some)

        found = per_operation(write_some, batches) / size
        if how == "parallel":
            # A connection is closed by the thread that has opened it.
            pool.submit(stores[1].close).result()
    return found
