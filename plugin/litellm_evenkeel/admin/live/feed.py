"""Stream of server-sent events with the state of all accounts. After the first event, only what has changed is sent.

A state is read once for all viewers, and in slices between which requests are served. The status of an account is
computed when something happened to it, and otherwise now and then. Without a viewer, nothing is read.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from typing import TYPE_CHECKING, Any, Protocol

from litellm_evenkeel.errors import AdminRequestError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Hashable, Iterable, Mapping, Sequence

    Document = dict[str, Any]

INTERVAL_SECONDS = 1.0
# Each account is read again after this number of intervals at the latest: rates and latencies decay.
INTERVALS_PER_ROUND = 10
# Other tasks run between slices, and few documents are in memory at a time.
ACCOUNTS_PER_SLICE = 64
# A viewer's key may be withdrawn, so it is checked again after this time: the page connects anew.
MAX_STREAM_SECONDS = 300.0
# How often a stream looks whether the proxy is shutting down.
POLL_SECONDS = 0.25
MAX_VIEWERS = 16
UNAVAILABLE = 503
PROXY = "proxy"


class LiveSource(Protocol):
    """Source of the state of a worker's accounts."""

    def fingerprints(self) -> Mapping[str, Hashable]:
        """Return a value for each account that changes when something happens to the account."""

    async def account_documents(self, names: Sequence[str]) -> list[Document]:
        """Return the status of accounts."""

    def summary(self) -> Document:
        """Return the state of the worker without its accounts."""


class LiveFeed:
    """Events for the viewers of one worker."""

    def __init__(
        self,
        source: LiveSource,
        parts: Callable[[], Mapping[str, Callable[[], Document]]],
        *,
        is_shutting_down: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
        interval: float = INTERVAL_SECONDS,
    ) -> None:
        """Initialize the feed. `parts` returns functions that return the states of other parts, by their names."""
        self._source, self._parts, self._is_shutting_down = source, parts, is_shutting_down
        self._clock, self._interval = clock, interval
        self._fingerprints: Mapping[str, Hashable] = {}
        self._accounts: dict[str, str] = {}
        self._turn = 0
        self._state: dict[str, str] = {}
        self._read_at = -math.inf
        self._lock = asyncio.Lock()
        self.viewers = 0

    async def stream(self) -> AsyncGenerator[str, None]:
        """Yield events until the proxy shuts down, or until the viewer's key has to be checked again."""
        if self.viewers >= MAX_VIEWERS:
            raise AdminRequestError(
                f"This worker has {MAX_VIEWERS} viewers of its live page already.", "Close one of them.", UNAVAILABLE
            )
        self.viewers += 1
        try:
            sent: dict[str, str] = {}
            ends_at = self._clock() + MAX_STREAM_SECONDS
            while self._clock() < ends_at and not self._is_shutting_down():
                state = await self._current()
                yield _event(sent, state)
                sent = state
                await self._pause()
        finally:
            self.viewers -= 1

    async def _pause(self) -> None:
        until = self._clock() + self._interval
        while (seconds := until - self._clock()) > 0 and not self._is_shutting_down():
            await asyncio.sleep(min(seconds, POLL_SECONDS))

    async def _current(self) -> dict[str, str]:
        """Return a state that is no older than the interval: the proxy and each account as JSON."""
        async with self._lock:
            if self._clock() - self._read_at < self._interval:
                return self._state
            fingerprints = self._source.fingerprints()
            changed = [name for name, value in fingerprints.items() if self._fingerprints.get(name) != value]
            names = list(dict.fromkeys([*changed, *self._next_in_turn(list(fingerprints))]))
            for first in range(0, len(names), ACCOUNTS_PER_SLICE):
                for document in await self._source.account_documents(names[first : first + ACCOUNTS_PER_SLICE]):
                    self._accounts[document["account"]] = json.dumps(_rounded(document), allow_nan=False)
                await asyncio.sleep(0)
            self._fingerprints = fingerprints
            self._accounts = {name: self._accounts[name] for name in fingerprints if name in self._accounts}
            parts = {name: _part(read) for name, read in self._parts().items()}
            self._state = {
                PROXY: json.dumps({**_rounded(self._source.summary()), **parts}, allow_nan=False),
                **{f"account {name}": text for name, text in self._accounts.items()},
            }
            self._read_at = self._clock()
            return self._state

    def _next_in_turn(self, names: Sequence[str]) -> Iterable[str]:
        """Return the accounts whose turn it is to be read again, although nothing happened to them."""
        size = math.ceil(len(names) / INTERVALS_PER_ROUND)
        first = self._turn if self._turn < len(names) else 0
        self._turn = first + size
        return names[first : first + size]


def _part(read: Callable[[], Document]) -> Document | None:
    """Return the state of a part; `None` if it cannot be read. The others are shown nevertheless."""
    try:
        document = read()
        json.dumps(document, allow_nan=False)
    except Exception:  # noqa: BLE001 - errors of a part are its own, and its health route shows them
        return None
    return document


def _event(sent: Mapping[str, str], state: Mapping[str, str]) -> str:
    """Return the event that brings a viewer from the state that was sent last to the present one."""
    changed = ", ".join(text for key, text in state.items() if key != PROXY and sent.get(key) != text)
    gone = json.dumps([key.removeprefix("account ") for key in sent if key not in state])
    proxy = state[PROXY] if sent.get(PROXY) != state[PROXY] else "null"
    return f'data: {{"proxy": {proxy}, "accounts": [{changed}], "gone": {gone}}}\n\n'


def _rounded(value: Any) -> Any:
    """Return a document whose numbers have no more digits than the page shows: fewer accounts differ then."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
