"""Credentials of an account, by fingerprint, and refusals (HTTP 403) that may mean that one is invalid."""

from __future__ import annotations

import math
from collections import Counter

# Refusals in a row, each of a request that began after the one before, that prove a credential invalid.
MIN_FORBIDDEN = 3
# If all of them are of one client, they must also span this long: the client may simply repeat a forbidden request.
SINGLE_CLIENT_SECONDS = 600.0


class ForbiddenStreak:
    """Refusals of an account since its last success. All times are by the pool's clock, in seconds."""

    __slots__ = ("_client", "_count", "_first_at", "_is_shared", "_last_at")

    def __init__(self) -> None:
        self._count, self._client, self._is_shared = 0, "", False
        self._first_at = self._last_at = -math.inf

    def record_forbidden(self, client: str, began: float, now: float) -> bool:
        """Record a refusal of a request that began at `began`. Return whether the credential is now proven invalid."""
        if began < self._last_at:
            return False
        if not self._count:
            self._client, self._first_at = client, now
        self._count += 1
        self._last_at = now
        self._is_shared = self._is_shared or client != self._client
        return self._count >= MIN_FORBIDDEN and (self._is_shared or now >= self._first_at + SINGLE_CLIENT_SECONDS)

    def clear(self) -> None:
        """Forget all refusals, after a success or for an operator."""
        self._count, self._is_shared, self._last_at = 0, False, -math.inf


class CredentialTracker:
    """Credentials of one scope. All times are by the pool's clock, in seconds."""

    __slots__ = ("_in_use", "_newest", "_newest_since")

    def __init__(self) -> None:
        self._in_use: Counter[str] = Counter()
        """Number of deployments by credential."""
        self._newest, self._newest_since = "", -math.inf

    def add(self, credential: str, now: float) -> bool:
        """Add the credential of a deployment. Return whether it came after others, which it may have replaced."""
        is_new = bool(self._in_use) and credential not in self._in_use
        self._in_use[credential] += 1
        if is_new:
            self._newest, self._newest_since = credential, now
        return is_new

    def remove(self, credential: str) -> None:
        """Remove the credential of a deployment that was removed."""
        self._in_use[credential] -= 1
        if self._in_use[credential] <= 0:
            del self._in_use[credential]

    def has(self, credential: str) -> bool:
        """Return whether a deployment uses `credential`. An unknown one (empty) may be in use."""
        return not credential or credential in self._in_use

    def is_outdated(self, credential: str, began: float) -> bool:
        """Return whether the result of a request says nothing about the credentials in use now.

        The request used `credential` and began at `began`.
        """
        return credential not in self._in_use or (credential != self._newest and began < self._newest_since)
