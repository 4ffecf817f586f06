"""Credentials of an account, by fingerprint, and the HTTP 403 errors that may mean that one is invalid."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

# Number of consecutive 403 errors that prove a credential invalid. Each request began after the error before it.
MIN_FORBIDDEN = 3
# If they all come from one client, they must also span this long: the client may simply repeat a forbidden request.
SINGLE_CLIENT_SECONDS = 600.0


@dataclass(slots=True, eq=False)
class ForbiddenStreak:
    """HTTP 403 errors of an account since its last success. All times are by the pool's clock, in seconds."""

    _count: int = 0
    _client: str = ""
    _is_shared: bool = False
    """Whether requests of several clients failed."""
    _first_at: float = -math.inf
    _last_at: float = -math.inf

    def record_forbidden(self, client: str, began: float, now: float) -> bool:
        """Record an error of a request that began at `began`. Return whether the credential is now proven invalid."""
        if began < self._last_at:
            return False
        if not self._count:
            self._client, self._first_at = client, now
        self._count += 1
        self._last_at = now
        self._is_shared = self._is_shared or client != self._client
        return self._count >= MIN_FORBIDDEN and (self._is_shared or now >= self._first_at + SINGLE_CLIENT_SECONDS)

    def clear(self) -> None:
        """Forget all errors, after a success or for an operator."""
        self._count, self._is_shared, self._last_at = 0, False, -math.inf


@dataclass(slots=True, eq=False)
class CredentialTracker:
    """Credentials of one scope. All times are by the pool's clock, in seconds."""

    _in_use: Counter[str] = field(default_factory=Counter)
    """Number of deployments by credential."""
    _newest: str = ""
    _newest_since: float = -math.inf

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
        """Return whether a request with `credential` that began at `began` says nothing of those in use now."""
        return credential not in self._in_use or (credential != self._newest and began < self._newest_since)
