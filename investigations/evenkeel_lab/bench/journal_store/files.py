"""Microseconds per row of several ways to read and write SQLite files.

Each way is a function with a seed, which can be an arm of an investigation; `evenkeel bench store` calls them too.
Files are in memory to compare code, and on a disk to compare its effect.
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

LONGEST_LOCK_MS = 120_000
MICROSECONDS = 1e6
MEMORY = Path("/dev/shm")  # noqa: S108  # a folder of its own is made in it
ROWS, OPERATIONS, LEAST_BATCHES = 1_000, 1_000, 20
POOL, WRITE_EVERY = 10, 10
GET = "SELECT * FROM runs WHERE id = ?"
PUT = "INSERT INTO runs (model, text, seconds) VALUES (?, ?, ?)"
TEXT = "x" * 200
MODES = {"wal": "PRAGMA journal_mode = WAL", "delete": "PRAGMA journal_mode = DELETE"}


@contextmanager
def folder(*, on_disk: bool) -> Iterator[Path]:
    """Make a temporary folder on the disk or in memory."""
    parent = MEMORY if MEMORY.is_dir() and not on_disk else None
    with tempfile.TemporaryDirectory(prefix="evenkeel-store-", dir=parent) as name:
        yield Path(name)


def connected(path: Path, mode: str, synchronous: str) -> sqlite3.Connection:
    """Open a file with a table."""
    connection = sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)
    connection.execute(MODES[mode])
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY, model TEXT, text TEXT, seconds REAL)")
    return connection


def filled(path: Path, mode: str, synchronous: str = "normal") -> sqlite3.Connection:
    """Open a file with a thousand rows, all in the connection's cache."""
    connection = connected(path, mode, synchronous)
    connection.execute("BEGIN")
    connection.executemany(PUT, [("m", TEXT, float(number)) for number in range(ROWS)])
    connection.execute("COMMIT")
    return warm(connection)


def warm(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Read all rows, so that they are in the connection's cache."""
    connection.execute("SELECT * FROM runs").fetchall()
    return connection


def per_operation(operation: Callable[[int], object], arguments: Sequence[int]) -> float:
    """Return the mean microseconds of `operation` over `arguments`, after a warm-up with a tenth of them."""
    for argument in arguments[: max(len(arguments) // 10, 1)]:
        operation(argument)
    began = time.perf_counter()
    for argument in arguments:
        operation(argument)
    return (time.perf_counter() - began) / len(arguments) * MICROSECONDS


def _ids(seed: int) -> list[int]:
    return random.Random(seed).choices(range(1, ROWS + 1), k=OPERATIONS)


def read(seed: int, *, mode: str = "wal", on_disk: bool = False) -> float:
    """Read rows one by one through one connection."""
    with folder(on_disk=on_disk) as directory, closing(filled(directory / "f.db", mode)) as connection:
        return per_operation(lambda number: connection.execute(GET, (number,)).fetchone(), _ids(seed))


def write(
    seed: int, *, mode: str = "wal", synchronous: str = "normal", on_disk: bool = False, rows: int = OPERATIONS
) -> float:
    """Write rows one by one, each in its own transaction."""
    numbers = range(seed, seed + rows)
    with folder(on_disk=on_disk) as directory, closing(filled(directory / "f.db", mode, synchronous)) as connection:
        return per_operation(lambda number: connection.execute(PUT, ("m", TEXT, float(number))), numbers)


def read_lent(seed: int, *, mode: str = "wal", on_disk: bool = False) -> float:
    """Read rows one by one, each through a connection from a pool of ten."""
    with folder(on_disk=on_disk) as directory, ExitStack() as stack:
        filled(directory / "f.db", mode).close()
        pool: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        for _ in range(POOL):
            pool.put(warm(stack.enter_context(closing(connected(directory / "f.db", mode, "normal")))))

        def read_row(number: int) -> None:
            connection = pool.get()
            try:
                connection.execute(GET, (number,)).fetchone()
            finally:
                pool.put(connection)

        return per_operation(read_row, _ids(seed))


def read_at_once(seed: int, *, threads: int = 10, mode: str = "wal", on_disk: bool = False) -> float:
    """Read rows from several threads, each with its own connection."""
    all_ids = _ids(seed)
    parts = [all_ids[start::threads] for start in range(threads)]
    with folder(on_disk=on_disk) as directory, ExitStack() as stack:
        filled(directory / "f.db", mode).close()
        # One after the other: opening a file concurrently fails at times, whatever the timeout.
        connections = [warm(stack.enter_context(closing(connected(directory / "f.db", mode, "normal")))) for _ in parts]
        ready = threading.Barrier(threads + 1)

        def work(connection: sqlite3.Connection, ids: list[int]) -> None:
            ready.wait()
            for number in ids:
                connection.execute(GET, (number,)).fetchone()

        with ThreadPoolExecutor(threads) as pool:
            working = [pool.submit(work, connection, ids) for connection, ids in zip(connections, parts, strict=True)]
            ready.wait()
            began = time.perf_counter()
            for thread in working:
                thread.result()
            return (time.perf_counter() - began) / len(all_ids) * MICROSECONDS


def read_many(seed: int, *, how: str = "one", size: int = 100, on_disk: bool = False) -> float:
    """Read rows in batches: one by one (`one`), so within a transaction (`transaction`), or in one query (`query`)."""
    ids = _ids(seed)
    batches = [ids[start : start + size] for start in range(0, len(ids), size)]
    marks = ", ".join("?" * size)
    with folder(on_disk=on_disk) as directory, closing(filled(directory / "f.db", "wal")) as connection:

        def read_some(number: int) -> None:
            batch = batches[number % len(batches)]
            if how == "query":
                connection.execute(f"SELECT * FROM runs WHERE id IN ({marks})", batch).fetchall()
                return
            if how == "transaction":
                connection.execute("BEGIN")
            for row_id in batch:
                connection.execute(GET, (row_id,)).fetchone()
            if how == "transaction":
                connection.execute("COMMIT")

        return per_operation(read_some, range(max(len(batches), LEAST_BATCHES))) / size


def read_beside_writer(seed: int, *, mode: str = "wal", threads: int = 4, on_disk: bool = False) -> float:
    """Read rows from several threads, each with its own connection, while another thread writes rows one by one."""
    all_ids = _ids(seed)
    parts = [all_ids[start::threads] for start in range(threads)]
    with folder(on_disk=on_disk) as directory, ExitStack() as stack:
        path = directory / "f.db"
        filled(path, mode).close()
        writer, *readers = (
            warm(stack.enter_context(closing(connected(path, mode, "normal")))) for _ in range(threads + 1)
        )
        for connection in (writer, *readers):
            # Without a log, a reader may find the file locked for longer than the usual five seconds.
            connection.execute(f"PRAGMA busy_timeout = {LONGEST_LOCK_MS}")
        ready, stop = threading.Barrier(threads + 1), threading.Event()

        def write_rows() -> None:
            while not stop.is_set():
                writer.execute(PUT, ("m", TEXT, 0.0))

        def read_rows(connection: sqlite3.Connection, ids: list[int]) -> None:
            ready.wait()
            for number in ids:
                connection.execute(GET, (number,)).fetchone()

        with ThreadPoolExecutor(threads + 1) as pool:
            writing = pool.submit(write_rows)
            reading = [pool.submit(read_rows, connection, ids) for connection, ids in zip(readers, parts, strict=True)]
            ready.wait()
            began = time.perf_counter()
            try:
                for thread in reading:
                    thread.result()
                return (time.perf_counter() - began) / len(all_ids) * MICROSECONDS
            finally:
                stop.set()
                writing.result()


def read_and_write_lent(seed: int, *, size: int = POOL, threads: int = 10, on_disk: bool = False) -> float:
    """Read and write rows from several threads through connections from one pool; one operation in ten is a write."""
    all_ids = _ids(seed)
    parts = [all_ids[start::threads] for start in range(threads)]
    with folder(on_disk=on_disk) as directory, ExitStack() as stack:
        path = directory / "f.db"
        filled(path, "wal").close()
        connections: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        for _ in range(size):
            connections.put(warm(stack.enter_context(closing(connected(path, "wal", "normal")))))
        ready = threading.Barrier(threads + 1)

        def work(ids: list[int]) -> None:
            ready.wait()
            for number in ids:
                connection = connections.get()
                try:
                    if number % WRITE_EVERY:
                        connection.execute(GET, (number,)).fetchone()
                    else:
                        connection.execute(PUT, ("m", TEXT, 0.0))
                finally:
                    connections.put(connection)

        with ThreadPoolExecutor(threads) as pool:
            working = [pool.submit(work, ids) for ids in parts]
            ready.wait()
            began = time.perf_counter()
            for thread in working:
                thread.result()
            return (time.perf_counter() - began) / len(all_ids) * MICROSECONDS


def write_in(
    seed: int, *, transaction: str = "immediate", size: int = 100, savepoint_every: int = 0, on_disk: bool = False
) -> float:
    """Write rows in batches: in an immediate or deferred transaction, or each in its own (`none`).

    `savepoint_every` is the number of rows after which a savepoint is released and the next one begins; 0: none.
    """
    batches = range(max(OPERATIONS // size, LEAST_BATCHES))
    rows = [("m", TEXT, float(seed))] * size
    with folder(on_disk=on_disk) as directory, closing(connected(directory / "f.db", "wal", "normal")) as connection:

        def write_some(_: int) -> None:
            if transaction != "none":
                connection.execute(f"BEGIN {transaction}")
            for number, row in enumerate(rows):
                if savepoint_every and number % savepoint_every == 0:
                    connection.execute("SAVEPOINT part")
                connection.execute(PUT, row)
                if savepoint_every and number % savepoint_every == savepoint_every - 1:
                    connection.execute("RELEASE part")
            if transaction != "none":
                connection.execute("COMMIT")

        return per_operation(write_some, batches) / size


def row(number: int, writer: int = 1) -> RequestRecord:
    """Return a typical record of the journal."""
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
    """Write records of the journal to one store, or to two of them: sequentially or in parallel."""
    batches = range(max(OPERATIONS // size, LEAST_BATCHES))
    with folder(on_disk=on_disk) as directory, ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        stores = [
            stack.enter_context(closing(SqliteStore(directory / f"{name}.db", synchronous=Synchronous(synchronous))))
            for name in ("first", "second")
        ]
        records = [[row(seed + batch * size + number) for number in range(size)] for batch in range(2 * len(batches))]
        taken = iter(records)

        def write_some(_: int) -> None:
            batch_of_records = next(taken)
            if how == "parallel":
                other = pool.submit(stores[1].write, batch_of_records)
                stores[0].write(batch_of_records)
                other.result()
                return
            stores[0].write(batch_of_records)
            if how == "sequential":
                stores[1].write(batch_of_records)

        cost = per_operation(write_some, batches) / size
        if how == "parallel":
            # A connection has to be closed by the thread that opened it.
            pool.submit(stores[1].close).result()
    return cost
