"""All accounts and models at them that are known, and what was heard of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.state.quota_window import EPSILON

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from litellm_evenkeel.rotation.model.request import Usage
    from litellm_evenkeel.rotation.state.account_scope import AccountScope, ScopeKey
    from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

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


# Of accounts that nobody has asked for here, so many are remembered.
MOST_HEARD = 10_000


class ScopeRegistry:
    """Those of one pool. All times are the same clock's, in seconds."""

    def __init__(self, make: Callable[[ScopeKey], AccountScope]) -> None:
        self._make_scope = make
        self.scopes: dict[ScopeKey, AccountScope] = {}
        self._by_account: dict[str, dict[ScopeKey, AccountScope]] = {}
        self._deployments: dict[AccountScope, dict[DeploymentState, None]] = {}
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

    def add_deployment(self, deployment: DeploymentState, now: float) -> bool:
        """Add a deployment to its account and its model. Return whether the account has a new credential."""
        spec = deployment.spec
        for scope in (deployment.account, deployment.model):
            self._deployments.setdefault(scope, {})[deployment] = None
        deployment.model.add_deployment(spec.model_limits, spec.credential, now)
        return deployment.account.add_deployment(spec.limits, spec.credential, now)

    def remove_deployment(self, deployment: DeploymentState, now: float) -> None:
        """Remove a deployment from its account and its model. What was used still counts."""
        spec = deployment.spec
        for scope, limits in ((deployment.model, spec.model_limits), (deployment.account, spec.limits)):
            deployments = self._deployments.get(scope, {})
            if deployment in deployments:
                del deployments[deployment]
                scope.remove_deployment(limits, spec.credential)
            if not deployments:
                self._deployments.pop(scope, None)
                self._drop(self._idle.add(scope, now), now)

    def deployments_of(self, scope: AccountScope) -> Collection[DeploymentState]:
        """Return the deployments of an account, or of a model at it."""
        return self._deployments.get(scope, {})

    def usage_since(self, scope: AccountScope, moment: float) -> list[Usage]:
        """Return the usage that requests in flight have reserved since `moment`."""
        return [
            reservation.usage
            for deployment in self.deployments_of(scope)
            for reservation in deployment.reservations
            if reservation.started_at > moment
        ]

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
