"""Registry of all scopes, and cooldown updates for scopes that do not exist here yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.state.quota_window import EPSILON

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from litellm_evenkeel.rotation.model.request import Usage
    from litellm_evenkeel.rotation.state.account_scope import AccountScope, ScopeKey
    from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# Bounds the memory that requests for ever new model names can take.
MAX_IDLE_SCOPES = 1000


class IdleScopes:
    """The latest `MAX_IDLE_SCOPES` scopes without a deployment. All times are by the pool's clock, in seconds."""

    def __init__(self) -> None:
        self._scopes: dict[ScopeKey, AccountScope] = {}

    def add(self, scope: AccountScope, now: float) -> list[AccountScope]:
        """Add a scope. Return the scopes that are evicted for it: first those without any state that still counts."""
        self._scopes[scope.scope_key] = scope
        if len(self._scopes) <= MAX_IDLE_SCOPES:
            return []
        expired = self.pop_expired(now)
        excess = len(self._scopes) - MAX_IDLE_SCOPES
        return expired + [self._scopes.pop(next(iter(self._scopes))) for _ in range(excess)]

    def take(self, key: ScopeKey) -> None:
        """Remove a scope that is used again."""
        self._scopes.pop(key, None)

    def pop_expired(self, now: float) -> list[AccountScope]:
        """Remove and return the scopes without any state that still counts."""
        counting = {scope.scope_key for scope in self._scopes.values() if _still_counts(scope, now)}
        # An account is kept as long as any of its models.
        counting |= {(account, None) for account, _ in counting}
        expired = [scope for key, scope in self._scopes.items() if key not in counting]
        for scope in expired:
            del self._scopes[scope.scope_key]
        return expired


def _still_counts(scope: AccountScope, now: float) -> bool:
    is_used = any(window.available_total(now) + EPSILON < window.limit.amount for window in scope.windows)
    return is_used or scope.in_flight > 0 or scope.cooldown.kind is not None


# Bounds the memory that updates of other workers can take.
MAX_PENDING_UPDATES = 10_000


class ScopeRegistry:
    """Scopes of one pool. All times are by the pool's clock, in seconds."""

    def __init__(self, make_scope: Callable[[ScopeKey], AccountScope]) -> None:
        self._make_scope = make_scope
        self.scopes: dict[ScopeKey, AccountScope] = {}
        self._by_account: dict[str, dict[ScopeKey, AccountScope]] = {}
        self._deployments: dict[AccountScope, dict[DeploymentState, None]] = {}
        self._idle = IdleScopes()
        self._pending_updates: dict[ScopeKey, CooldownUpdate] = {}
        """Cooldowns of other workers for scopes, or credentials of scopes, that do not exist here yet."""

    def get_or_create(self, key: ScopeKey) -> AccountScope:
        """Return the scope with this key. Create it if it does not exist."""
        self._idle.take(key)
        scope = self.scopes.get(key)
        if scope is None:
            scope = self.scopes[key] = self._make_scope(key)
            self._by_account.setdefault(key[0], {})[key] = scope
        return scope

    def scopes_of_account(self, account: str) -> list[AccountScope]:
        """Return the scopes of an account and of all its models."""
        return list(self._by_account.get(account, {}).values())

    def add_deployment(self, deployment: DeploymentState, now: float) -> bool:
        """Add a deployment to its account and its model. Return whether the account has a new credential."""
        spec = deployment.spec
        for scope in (deployment.account, deployment.model):
            self._deployments.setdefault(scope, {})[deployment] = None
        deployment.model.add_deployment(spec.model_limits, spec.credential, now)
        return deployment.account.add_deployment(spec.limits, spec.credential, now)

    def remove_deployment(self, deployment: DeploymentState, now: float) -> None:
        """Remove a deployment from its account and its model. Usage still counts."""
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
        """Remove the scopes that have no deployment and no state that still counts."""
        self._drop(self._idle.pop_expired(now), now)

    def remember_update(self, update: CooldownUpdate, now: float) -> None:
        """Store a cooldown for a scope, or a credential, that does not exist here yet."""
        key = (update.account, update.model)
        if len(self._pending_updates) >= MAX_PENDING_UPDATES and key not in self._pending_updates:
            self._pending_updates = {
                pending: stored for pending, stored in self._pending_updates.items() if stored.until > now
            }
        if len(self._pending_updates) >= MAX_PENDING_UPDATES and key not in self._pending_updates:
            # Those of models first: clients may invent names of models, but not accounts.
            oldest = next((key for key in self._pending_updates if key[1] is not None), None)
            del self._pending_updates[oldest or next(iter(self._pending_updates))]
        self._pending_updates[key] = update

    def take_update(self, key: ScopeKey) -> CooldownUpdate | None:
        """Remove and return the stored cooldown of a scope; `None` if there is none."""
        return self._pending_updates.pop(key, None)

    def forget_updates(self, account: str) -> bool:
        """Remove the stored cooldowns of an account. Return whether there were any."""
        keys = [key for key in self._pending_updates if key[0] == account]
        for key in keys:
            del self._pending_updates[key]
        return bool(keys)

    def _drop(self, scopes: Iterable[AccountScope], now: float) -> None:
        for scope in scopes:
            del self.scopes[scope.scope_key]
            account, _ = scope.scope_key
            del self._by_account[account][scope.scope_key]
            if not self._by_account[account]:
                del self._by_account[account]
            if scope.cooldown.kind is not None and scope.cooldown.until > now:
                self.remember_update(scope.cooldown_update(), now)
