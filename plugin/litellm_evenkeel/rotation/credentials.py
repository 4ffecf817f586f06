"""The keys with which an account is used, by fingerprint: which there are, and which came last."""

from __future__ import annotations

import math
from collections import Counter


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
