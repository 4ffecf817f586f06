"""A journal by its address, and what can be wrong with that in a sentence."""

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
from evenkeel_lab.journal_reader.named_store import Telling
from litellm_evenkeel.journal.postgres import PostgresStore
from litellm_evenkeel.journal.sqlite import SqliteStore
from litellm_evenkeel.settings_schema.types import POSTGRES_SCHEMES
from litellm_evenkeel.support.postgres import database_fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.store import RecordStore

# What is meant as an address, even if it is none: a driver in its scheme, quotes around it, a slash too few, no scheme
# at all before user and password, or libpq's own way.
LIKE_AN_ADDRESS = re.compile(r"://|^\W*postgres\w*(\+\w*)?:|^[^/]*:[^/]*@|\bpassword\s*=", re.IGNORECASE)
# As LiteLLM's configuration has it: an address with a password in it is seen by all who may list processes.
FROM_ENVIRONMENT = "os.environ/"
DIGITS = 16
URL_HINT = "Write postgresql://user:password@host:5432/name, without quotes, and encode special characters (@ as %40)."
# To count a large table takes its time.
PATIENCE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where a journal is said to be."""

    text: str = field(repr=False)
    """May hold a password."""
    by: str
    """What says so: an argument of the command line, or a variable."""
    is_secret: bool
    """Whether it comes from the environment, of which nothing is quoted."""

    @property
    def shown(self) -> str:
        """What messages call it, if it is the path of a file."""
        return self.by if self.is_secret else self.text


@dataclass(frozen=True, slots=True)
class Opened:
    """A journal."""

    store: RecordStore
    shown: str
    """Where it is, without a password."""
    known_as: str
    """By what another store knows it again."""
    path: str = ""
    """Of a file, where it is."""

    def is_same(self, other: Opened) -> bool:
        """Whether another one is this, under whatever name."""
        # Not the paths' own methods, which raise for a name that is too long.
        are_there = all(os.path.exists(one) for one in (self.path, other.path))  # noqa: PTH110
        return self.known_as == other.known_as or (are_there and os.path.samefile(self.path, other.path))  # noqa: PTH121


@contextlib.contextmanager
def opened(address: Address, *, makes: bool = False) -> Iterator[Opened]:
    """Let a journal be used, and close it; `makes` says whether one is made where there is none, when it is used."""
    told = _told(address)
    found = _postgres(told, makes=makes) if LIKE_AN_ADDRESS.search(told.text) else _sqlite(told, makes=makes)
    try:
        yield found
    finally:
        found.store.close()


def _told(address: Address) -> Address:
    """Return what an address stands for."""
    if not address.text.startswith(FROM_ENVIRONMENT):
        return address
    name = address.text.removeprefix(FROM_ENVIRONMENT)
    if not name.isidentifier():
        raise WrongUse(
            f"{address.by}: no name of a variable stands behind {FROM_ENVIRONMENT}.", hint="Write such as os.environ/X."
        )
    found = os.environ.get(name)
    if not found:
        raise WrongUse(
            f"{FROM_ENVIRONMENT}{name}: there is no {name} in the environment.", hint=f"export {name}=postgresql://..."
        )
    return Address(found, f"{FROM_ENVIRONMENT}{name}", is_secret=True)


def _sqlite(told: Address, *, makes: bool) -> Opened:
    path = Path(told.text)
    # Not the path's own methods, which raise for a name that is too long, and quote it.
    if not os.path.isdir(path.parent):  # noqa: PTH112
        raise WrongUse(f"There is no folder for {told.shown}.", hint="Make it, or name a file elsewhere.")
    if makes and os.path.isdir(path):  # noqa: PTH112
        raise WrongUse(f"{told.shown or told.by} is a folder.", hint="Name a file in it.")
    if not makes and not os.path.isfile(path):  # noqa: PTH113
        raise WrongUse(
            f"There is no journal at {told.shown}.",
            hint="Name the file that evenkeel.journal.path names, as a path of here.",
        )
    known_as = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:DIGITS]
    return Opened(Telling(SqliteStore(path, create=makes), told.shown), told.shown, f"sqlite {known_as}", str(path))


def _postgres(told: Address, *, makes: bool) -> Opened:
    url = told.text
    if not url.lower().startswith(POSTGRES_SCHEMES):
        raise WrongUse(f"{told.by} is an address, but none of a Postgres.", hint=f"{URL_HINT} Or name a file.")
    try:
        address = urlsplit(url)
        shown = f"postgresql://{address.hostname or ''}{f':{address.port}' if address.port else ''}{address.path}"
    except ValueError as error:
        raise WrongUse(f"{told.by} is no address of a Postgres that can be read.", hint=URL_HINT) from error
    if _is_torn(address):
        raise WrongUse(f"{told.by} is no address of a Postgres that can be read.", hint=URL_HINT)
    shown = told.by if told.is_secret else shown
    store = PostgresStore(lambda: url, create=makes, timeout=PATIENCE_SECONDS)
    return Opened(Telling(store, shown), shown, f"postgres {database_fingerprint(url)}")


def _is_torn(address: SplitResult) -> bool:
    """Whether a password has a `/`, `?` or `#` in it: what looks like a host may then be half of it."""
    return "@" in address.path + address.query + address.fragment
