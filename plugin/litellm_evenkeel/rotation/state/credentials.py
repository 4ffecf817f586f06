"""The keys with which an account is used, by fingerprint: which there are, and which came last."""

from __future__ import annotations

import math
from collections import Counter

# So many in a row, none of which had begun before the last was known.
PROOF = 3
# Of one client alone, over so many seconds at least: it may ask for what is forbidden to it, again and again.
ALONE_SECONDS = 600.0


class ForbiddenStreak:
    """What has been refused at one account since its last success. All times are the same clock's, in seconds."""

    __slots__ = ("_client", "_first", "_is_shared", "_last", "_number")

    def __init__(self) -> None:
        self._number, self._client, self._is_shared = 0, "", False
        self._first = self._last = -math.inf

    def record_forbidden(self, client: str, began: float, now: float) -> bool:
        """Know of one more, and return whether they are proof: of several clients, or of one for long enough."""
        if began < self._last:
            return False
        if not self._number:
            self._client, self._first = client, now
        self._number += 1
        self._last = now
        self._is_shared = self._is_shared or client != self._client
        return self._number >= PROOF and (self._is_shared or now >= self._first + ALONE_SECONDS)

    def clear(self) -> None:
        """Know of a success, or of an operator's word."""
        self._number, self._is_shared, self._last = 0, False, -math.inf


class CredentialTracker:
    """Those of one account, or of one model at it. All times are the same clock's, in seconds."""

    __slots__ = ("_in_use", "_newest", "_since")

    def __init__(self) -> None:
        self._in_use: Counter[str] = Counter()
        """How many deployments use each."""
        self._newest, self._since = "", -math.inf

    def add(self, credential: str, now: float) -> bool:
        """Know of a deployment's; return whether it came after others: it may have replaced them."""
        is_new = bool(self._in_use) and credential not in self._in_use
        self._in_use[credential] += 1
        if is_new:
            self._newest, self._since = credential, now
        return is_new

    def remove(self, credential: str) -> None:
        """Know that a deployment is no more."""
        self._in_use[credential] -= 1
        if self._in_use[credential] <= 0:
            del self._in_use[credential]

    def has(self, credential: str) -> bool:
        """Return whether one is in use; one that nobody knows may be."""
        return not credential or credential in self._in_use

    def is_outdated(self, credential: str, began: float) -> bool:
        """Return whether the end of a request that began with one then says nothing of those in use now."""
        return credential not in self._in_use or (credential != self._newest and began < self._since)
