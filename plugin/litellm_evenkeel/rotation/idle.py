"""Accounts, and models at them, without any deployment: what was used of them still counts if one comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.windows import EPSILON

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.side import AccountScope, ScopeKey

# Whoever asks for models that nobody has heard of cannot fill our memory with them.
MOST = 1000


class IdleScopes:
    """The latest of them. All times are the same clock's, in seconds."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._scopes: dict[ScopeKey, AccountScope] = {}

    def add(self, scope: AccountScope, now: float) -> list[AccountScope]:
        """Keep one, and return those for which there is no more room: first those of which nothing counts."""
        self._scopes[scope.scope_key] = scope
        if len(self._scopes) <= self._most:
            return []
        found = self.pop_expired(now)
        return found + [self._scopes.pop(next(iter(self._scopes))) for _ in range(len(self._scopes) - self._most)]

    def take(self, key: ScopeKey) -> None:
        """Know that one is used again."""
        self._scopes.pop(key, None)

    def pop_expired(self, now: float) -> list[AccountScope]:
        """Let those go of which nothing counts any more, and return them."""
        counting = {scope.scope_key for scope in self._scopes.values() if _still_counts(scope, now)}
        # An account goes after all its models.
        counting |= {(account, None) for account, _ in counting}
        found = [scope for key, scope in self._scopes.items() if key not in counting]
        for scope in found:
            del self._scopes[scope.scope_key]
        return found


def _still_counts(scope: AccountScope, now: float) -> bool:
    is_used = any(window.available_total(now) + EPSILON < window.limit.amount for window in scope.windows)
    return is_used or scope.in_flight > 0 or scope.cooldown.kind is not None
