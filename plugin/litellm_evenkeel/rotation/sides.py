"""All accounts and models at them that are known, and what was heard of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.idle import IdleScopes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from litellm_evenkeel.rotation.held import CooldownUpdate
    from litellm_evenkeel.rotation.side import AccountScope, ScopeKey

# Of accounts that nobody has asked for here, so many are remembered.
MOST_HEARD = 10_000


class ScopeRegistry:
    """Those of one pool. All times are the same clock's, in seconds."""

    def __init__(self, make: Callable[[ScopeKey], AccountScope]) -> None:
        self._make_scope = make
        self.scopes: dict[ScopeKey, AccountScope] = {}
        self._by_account: dict[str, dict[ScopeKey, AccountScope]] = {}
        self._idle = IdleScopes()
        self._pending_updates: dict[ScopeKey, CooldownUpdate] = {}
        """Of accounts, or of keys of theirs, that nobody has asked for here yet."""

    def get_or_create(self, key: ScopeKey) -> AccountScope:
        """Return one that is asked for."""
        self._idle.take(key)
        scope = self.scopes.get(key)
        if scope is None:
            scope = self.scopes[key] = self._make_scope(key)
            self._by_account.setdefault(key[0], {})[key] = scope
        return scope

    def scopes_of_account(self, account: str) -> list[AccountScope]:
        """Return an account and all its models."""
        return list(self._by_account.get(account, {}).values())

    def note_if_idle(self, scope: AccountScope, now: float) -> None:
        """Know that one may have no deployment any more."""
        if not scope.deployments:
            self._drop(self._idle.add(scope, now), now)

    def evict_idle(self, now: float) -> None:
        """Let those go that have no deployment, and of which nothing counts any more."""
        self._drop(self._idle.pop_expired(now), now)

    def remember_update(self, update: CooldownUpdate, now: float) -> None:
        """Remember what was heard of one that nobody has asked for."""
        key = (update.account, update.model)
        if len(self._pending_updates) >= MOST_HEARD and key not in self._pending_updates:
            self._pending_updates = {key: one for key, one in self._pending_updates.items() if one.until > now}
        if len(self._pending_updates) < MOST_HEARD or key in self._pending_updates:
            self._pending_updates[key] = update

    def take_update(self, key: ScopeKey) -> CooldownUpdate | None:
        """Return what was heard, and remember it no longer."""
        return self._pending_updates.pop(key, None)

    def forget_updates(self, account: str) -> bool:
        """Forget what was heard of an account; return whether there was anything."""
        heard = [key for key in self._pending_updates if key[0] == account]
        for key in heard:
            del self._pending_updates[key]
        return bool(heard)

    def _drop(self, scopes: Iterable[AccountScope], now: float) -> None:
        for scope in scopes:
            del self.scopes[scope.scope_key]
            account, _ = scope.scope_key
            del self._by_account[account][scope.scope_key]
            if not self._by_account[account]:
                del self._by_account[account]
            if scope.cooldown.kind is not None and scope.cooldown.until > now:
                self.remember_update(scope.cooldown_update(), now)
