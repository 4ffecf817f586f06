"""Memory-mapped file that the worker processes of one mock share.

    head      version of the configuration, and who has joined
    config    the configuration as JSON; a worker reads it anew when its version has changed
    accounts  a slot for each account: the digest of its identity, its numbers, a column of requests in flight for each
              worker
    counters  what each worker has answered, by endpoint and status
    prefixes  the prompt cache: a direct-mapped table of prefix digests and when they expire
    rings     the journal: a ring of records for each worker

Only what must be exact across workers takes a lock (`locked`): a byte range of the file for each account, which the
system releases when a worker dies. Everything else has a single writer, or does not mind losing to another.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import mmap
import os
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.quotas.limits import MOST_NAME_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAGE = 4096
WORD = 8
# Words of the head.
VERSION_AT, PIDS_AT, USED_AT = 0, 1, 256
MAX_WORKERS = USED_AT - PIDS_AT
DIGEST_BYTES = 16
SLOT_HEAD = DIGEST_BYTES + MOST_NAME_BYTES
CONFIG_BYTES = 1 << 20
ACCOUNT_NUMBERS = 48
COUNTERS = 512
PREFIX_WORDS = 1 << 18
RECORD_BYTES = 128
NO_SLOT = -1


@dataclass(frozen=True)
class Layout:
    """Where everything lies, as a function of how much of it there is."""

    workers: int = 1
    accounts: int = 4096
    records: int = 65_536
    """Capacity of each worker's journal ring, in records."""

    @property
    def slot_bytes(self) -> int:
        """The size of an account's slot."""
        return SLOT_HEAD + WORD * (ACCOUNT_NUMBERS + self.workers)

    @property
    def accounts_at(self) -> int:
        """Where the accounts begin."""
        return PAGE + CONFIG_BYTES

    @property
    def counters_at(self) -> int:
        """Where the counters begin."""
        # One slot more than can be given out, for the keys that come after.
        return _aligned(self.accounts_at + (self.accounts + 1) * self.slot_bytes)

    @property
    def prefixes_at(self) -> int:
        """Where the prompt cache begins."""
        return _aligned(self.counters_at + self.workers * COUNTERS * WORD)

    @property
    def rings_at(self) -> int:
        """Where the journal begins: first a counter for each worker, then the rings."""
        return _aligned(self.prefixes_at + PREFIX_WORDS * WORD)

    def ring_at(self, worker: int) -> int:
        """Where the ring of a worker begins."""
        return self.rings_at + PAGE + worker * self.records * RECORD_BYTES

    @property
    def size(self) -> int:
        """The size of the whole file, most of which is never touched and so takes no room."""
        return _aligned(self.ring_at(self.workers))


def _aligned(offset: int) -> int:
    return -(-offset // PAGE) * PAGE


class Board:
    """The mapped file, as one process sees it."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self.layout = layout
        self.folder = path.parent
        """Where it lies, with room for whatever else the workers share."""
        self._file = os.open(path, os.O_RDWR)
        self.memory = mmap.mmap(self._file, layout.size)
        self.words = memoryview(self.memory).cast("q")

    @classmethod
    def create(cls, path: Path, layout: Layout) -> Board:
        """Make an empty one."""
        with path.open("wb") as file:
            file.truncate(layout.size)
        path.chmod(0o600)
        return cls(path, layout)

    def close(self) -> None:
        """Unmap and close the file."""
        self.words.release()
        self.memory.close()
        os.close(self._file)

    @contextlib.contextmanager
    def locked(self, what: int = 0) -> Iterator[None]:
        """Hold the lock of one account, or with 0 the one of the table and the configuration."""
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, what)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, what)

    @property
    def config_version(self) -> int:
        """Changes whenever the configuration does."""
        return self.words[VERSION_AT]

    def read_config(self) -> bytes:
        """Return the configuration."""
        with self.locked():
            return self._config()

    def write_config(self, change: Callable[[bytes], bytes]) -> None:
        """Replace the configuration of all workers by `change(configuration)`, under the lock."""
        with self.locked():
            text = change(self._config())
            if len(text) > CONFIG_BYTES - WORD:
                raise MockConfigError("The configuration is larger than 1 MiB.", hint="List fewer accounts or faults.")
            struct.pack_into("<q", self.memory, PAGE, len(text))
            self.memory[PAGE + WORD : PAGE + WORD + len(text)] = text
            self.words[VERSION_AT] += 1

    def join(self) -> int:
        """Take the number of a worker: the first that is free, so that a restarted worker gets its own again."""
        with self.locked():
            for worker in range(self.layout.workers):
                pid = self.words[PIDS_AT + worker]
                if not pid or not _runs(pid):
                    self.words[PIDS_AT + worker] = os.getpid()
                    self._forget_in_flight(worker)
                    return worker
        raise MockConfigError("More workers than there is room for.", hint="Start the mock anew.")

    def slot(self, identity: str, name: str) -> int:
        """Return the slot of an account, a new one if need be; NO_SLOT if the table is full."""
        digest = hashlib.blake2b(identity.encode(), digest_size=DIGEST_BYTES).digest()
        size, start = self.layout.slot_bytes, self.layout.accounts_at
        with self.locked():
            used = self.used_slots()
            for slot in range(used):
                at = start + slot * size
                if self.memory[at : at + DIGEST_BYTES] == digest:
                    break
            else:
                if used == self.layout.accounts:
                    return NO_SLOT
                slot, at = used, start + used * size
                self.memory[at : at + DIGEST_BYTES] = digest
                self.words[USED_AT] = used + 1
            self.memory[at + DIGEST_BYTES : at + SLOT_HEAD] = name.encode().ljust(MOST_NAME_BYTES, b"\0")
        return slot

    def name(self, slot: int) -> str:
        """Return the name of the account in a slot."""
        at = self.layout.accounts_at + slot * self.layout.slot_bytes + DIGEST_BYTES
        return self.memory[at : at + MOST_NAME_BYTES].rstrip(b"\0").decode(errors="replace")

    def account(self, slot: int) -> memoryview:
        """Return the numbers of an account, to be read and written in place."""
        start = (self.layout.accounts_at + slot * self.layout.slot_bytes + SLOT_HEAD) // WORD
        return self.words[start : start + ACCOUNT_NUMBERS]

    def in_flight(self, slot: int) -> memoryview:
        """Return the requests in flight of an account, a column for each worker."""
        start = (self.layout.accounts_at + slot * self.layout.slot_bytes + SLOT_HEAD) // WORD + ACCOUNT_NUMBERS
        return self.words[start : start + self.layout.workers]

    def counters(self, worker: int) -> memoryview:
        """Return the counters of a worker."""
        start = self.layout.counters_at // WORD + worker * COUNTERS
        return self.words[start : start + COUNTERS]

    def prefixes(self) -> memoryview:
        """Return the table of the prompt cache."""
        start = self.layout.prefixes_at // WORD
        return self.words[start : start + PREFIX_WORDS]

    def used_slots(self) -> int:
        """Return how many accounts have been seen. Slots are given out in order."""
        return self.words[USED_AT]

    def wipe(self) -> None:
        """Forget all accounts' numbers, counters, cached prefixes and the journal; keep the configuration."""
        start, end = self.layout.accounts_at, self.layout.rings_at + PAGE
        for slot in range(self.used_slots()):
            at = start + slot * self.layout.slot_bytes + SLOT_HEAD
            with self.locked(slot + 1):
                self.memory[at : at + ACCOUNT_NUMBERS * WORD] = bytes(ACCOUNT_NUMBERS * WORD)
        self.memory[self.layout.counters_at : end] = bytes(end - self.layout.counters_at)

    def refill(self, slot: int, first: int) -> None:
        """Open an account's windows anew: whatever lies from its `first` number on is unused again."""
        numbers = self.account(slot)
        with self.locked(slot + 1):
            for at in range(first, ACCOUNT_NUMBERS):
                numbers[at] = 0

    def _config(self) -> bytes:
        (length,) = struct.unpack_from("<q", self.memory, PAGE)
        return self.memory[PAGE + WORD : PAGE + WORD + length]

    def _forget_in_flight(self, worker: int) -> None:
        for slot in range(self.used_slots()):
            self.in_flight(slot)[worker] = 0


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
