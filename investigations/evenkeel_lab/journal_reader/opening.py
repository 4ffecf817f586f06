"""Opening of a journal by its address, with one sentence for each way in which an address can be wrong."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.journal_reader.named_store import NamedStore
from litellm_evenkeel.journal.postgres import PostgresStore
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.settings_schema.types import POSTGRES_SCHEMES
from litellm_evenkeel.support.postgres import database_fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.store import RecordStore

# Text that is meant as a URL, even if it is malformed: a driver in its scheme, quotes around it, a missing slash, no
# scheme before user and password, or libpq's `key=value` form. It may hold a password, so it is never quoted.
URL_LIKE = re.compile(r"://|^\W*postgres\w*(\+\w*)?:|^[^/]*:[^/]*@|\bpassword\s*=", re.IGNORECASE)
# As in LiteLLM's configuration. A password on the command line is visible to all users who may list processes.
FROM_ENVIRONMENT = "os.environ/"
FINGERPRINT_DIGITS = 16
URL_HINT = "Write postgresql://user:password@host:5432/name, without quotes, and encode special characters (@ as %40)."
# Counting a large table takes minutes.
TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a journal, as a user wrote it."""

    text: str = field(repr=False)
    """Path or URL; may hold a password."""
    origin: str
    """Name of the command-line argument or the environment variable that holds the address."""
    is_secret: bool
    """Whether the address comes from the environment. Nothing of it is quoted then."""

    @property
    def label(self) -> str:
        """Name of the address in messages, if it is the path of a file."""
        return self.origin if self.is_secret else self.text


@dataclass(frozen=True, slots=True)
class Journal:
    """An open journal."""

    store: RecordStore
    label: str
    """Address without a password."""
    identity: str
    """Fingerprint by which another store recognises this one as the source of a back-fill."""
    path: str = ""
    """Path of a file; empty for Postgres."""

    def is_same(self, other: Journal) -> bool:
        """Whether `other` is this journal, possibly under another name."""
        # The functions of `os.path`, because those of `Path` raise if the name is too long.
        both_exist = all(os.path.exists(path) for path in (self.path, other.path))  # noqa: PTH110
        return self.identity == other.identity or (both_exist and os.path.samefile(self.path, other.path))  # noqa: PTH121


@contextlib.contextmanager
def open_journal(address: Address, *, create: bool = False) -> Iterator[Journal]:
    """Open a journal and close it at the end. If `create`, the first call of the store creates a missing journal."""
    address = _expand(address)
    journal = (_open_postgres if URL_LIKE.search(address.text) else _open_sqlite)(address, create=create)
    try:
        yield journal
    finally:
        journal.store.close()


def _expand(address: Address) -> Address:
    """Return the address that an environment variable holds if `address` names one, else `address`."""
    if not address.text.startswith(FROM_ENVIRONMENT):
        return address
    name = address.text.removeprefix(FROM_ENVIRONMENT)
    if not name.isidentifier():
        raise WrongUse(
            f"{address.origin}: expected the name of a variable after {FROM_ENVIRONMENT}, got something else.",
            hint="Write for example os.environ/JOURNAL_URL.",
        )
    text = os.environ.get(name)
    if not text:
        raise WrongUse(
            f"{FROM_ENVIRONMENT}{name}: there is no {name} in the environment.", hint=f"export {name}=postgresql://..."
        )
    return Address(text, f"{FROM_ENVIRONMENT}{name}", is_secret=True)


def _open_sqlite(address: Address, *, create: bool) -> Journal:
    path, label = Path(address.text), address.label
    # The functions of `os.path`, because those of `Path` raise if the name is too long, and quote it.
    if not os.path.isdir(path.parent):  # noqa: PTH112
        raise WrongUse(f"There is no folder for {label}.", hint="Create it, or name a file in another folder.")
    if create and os.path.isdir(path):  # noqa: PTH112
        raise WrongUse(f"{label or address.origin} is a folder.", hint="Name a file in it.")
    if not create and not os.path.isfile(path):  # noqa: PTH113
        raise WrongUse(
            f"There is no journal at {label}.",
            hint="Name the file of `evenkeel.journal.path`, by its path on this machine.",
        )
    fingerprint = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:FINGERPRINT_DIGITS]
    store = NamedStore(SqliteStore(path, create=create), label)
    return Journal(store, label, f"sqlite {fingerprint}", str(path))


def _open_postgres(address: Address, *, create: bool) -> Journal:
    url = address.text
    if not url.lower().startswith(POSTGRES_SCHEMES):
        raise WrongUse(
            f"{address.origin}: expected a Postgres URL, got another kind of address.",
            hint=f"{URL_HINT} Or name a file.",
        )
    unreadable = WrongUse(f"{address.origin}: expected a Postgres URL, got one that cannot be parsed.", hint=URL_HINT)
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError as error:
        raise unreadable from error
    if _may_hold_password(parts):
        raise unreadable
    label = address.origin if address.is_secret else f"postgresql://{parts.hostname or ''}{port}{parts.path}"
    store = NamedStore(PostgresStore(lambda: url, create=create, timeout=TIMEOUT_SECONDS), label)
    return Journal(store, label, f"postgres {database_fingerprint(url)}")


def _may_hold_password(parts: SplitResult) -> bool:
    """Whether a part after the host may hold half a password: one with `/`, `?` or `#` splits the URL too early."""
    return "@" in parts.path + parts.query + parts.fragment
