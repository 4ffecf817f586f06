"""Status of all accounts, as immutable values for routes, commands and metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from litellm_evenkeel.rotation.state.cooldown import HealthState
from litellm_evenkeel.support.formatting import finite

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence

    from litellm_evenkeel.providers.failure import FailureKind
    from litellm_evenkeel.rotation.affinity.session_table import SessionCounts
    from litellm_evenkeel.rotation.inspection.metrics import PickCounts
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.state.account_scope import AccountScope
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState
    from litellm_evenkeel.rotation.state.quota_window import QuotaWindow

# The event loop may run other tasks after this number of accounts.
ACCOUNTS_PER_SLICE = 16
# From full traffic to none.
BY_SEVERITY = (
    HealthState.HEALTHY,
    HealthState.RAMPING_UP,
    HealthState.PROBING,
    HealthState.COOLING_DOWN,
    HealthState.QUARANTINED,
)


@dataclass(frozen=True, slots=True)
class WindowStatus:
    """Status of one limit."""

    name: str
    limit: float
    remaining: float
    used_share: float
    resets_in_seconds: float
    rate_per_second: float
    """Recent usage."""
    exhausted_in_seconds: float | None
    """Time until the limit is used up at this rate; `None` if it resets before."""


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """Status of one scope: an account, or one model at it."""

    model: str | None
    """`None` for the account itself."""
    state: HealthState
    traffic_share: float
    """Share of its traffic that it takes: 0 during a cooldown, below 1 during its ramp-up."""
    cooldown_seconds: float | None
    """Seconds until its cooldown ends; `None` without one, or in quarantine."""
    failure: FailureKind | None
    """Kind of the failure that caused the cooldown; `None` without one."""
    reason: str
    """Rule that the failure matched, never a text of a provider or a user; empty without a cooldown."""
    provider_stated: bool
    """Whether the provider stated the length of the cooldown; otherwise it is an estimate."""
    in_flight: int
    concurrent: int | None
    windows: tuple[WindowStatus, ...]
    latency_seconds: float | None
    """Recent latency of its slowest deployment; `None` if unknown."""
    deployments: tuple[str, ...]
    priorities: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AccountStatus:
    """Status of one account."""

    account: str
    state: HealthState
    """The state of the account, or of its best model if that is worse."""
    account_scope: ScopeStatus
    models: tuple[ScopeStatus, ...]
    pins: int
    picks: Mapping[str, int]
    """By reason, since the start of this worker."""
    failures: Mapping[str, int]
    """By kind, since the start of this worker."""

    def as_json(self) -> dict[str, Any]:
        """Return the document of the route: the fields, with those of the account's own scope among them."""
        document = to_jsonable_python(self, inf_nan_mode="null")
        scope = document.pop("account_scope")
        del scope["model"]
        return {**document, **scope, "state": self.state}


def account_statuses(
    pool: AccountPool,
    now: float,
    pick_counts: PickCounts,
    session_counts: SessionCounts | None = None,
    *,
    only: Sequence[str] | None = None,
) -> Generator[None, None, tuple[AccountStatus, ...]]:
    """Return the status of all accounts, or of those in `only`, by name. Yield where other tasks may run."""
    by_account = scopes_by_account(pool)
    picks, failures = pick_counts.by_account()
    pins = session_counts.accounts if session_counts else {}
    wanted = by_account if only is None else [name for name in dict.fromkeys(only) if name in by_account]
    statuses = []
    for number, name in enumerate(sorted(wanted), 1):
        if number % ACCOUNTS_PER_SLICE == 0:
            yield
        own, *models = [scope_status(scope, pool.deployments_of(scope), now) for scope in by_account[name]]
        best = min((BY_SEVERITY.index(model.state) for model in models), default=0)
        state = BY_SEVERITY[max(BY_SEVERITY.index(own.state), best)]
        counts = pins.get(name, 0), picks.get(name, {}), failures.get(name, {})
        statuses.append(AccountStatus(name, state, own, tuple(models), *counts))
    return tuple(statuses)


def scopes_by_account(pool: AccountPool) -> dict[str, list[AccountScope]]:
    """Return all scopes by account, each account's own scope first."""
    by_account: dict[str, list[AccountScope]] = {}
    for (account, model), scope in pool.scopes.items():
        scopes = by_account.setdefault(account, [])
        scopes.insert(0 if model is None else len(scopes), scope)
    return by_account


def scope_status(scope: AccountScope, deployments: Collection[DeploymentState], now: float) -> ScopeStatus:
    """Return the status of one scope with its deployments."""
    cooldown = scope.cooldown
    state = cooldown.state(now)
    has_cooldown = cooldown.kind is not None
    return ScopeStatus(
        model=scope.scope_key[1],
        state=state,
        traffic_share=cooldown.traffic_share(now),
        cooldown_seconds=cooldown.until - now if state is HealthState.COOLING_DOWN else None,
        failure=cooldown.kind,
        reason=cooldown.reason if has_cooldown else "",
        provider_stated=has_cooldown and cooldown.is_provider_stated,
        in_flight=scope.in_flight,
        concurrent=scope.concurrent,
        windows=tuple([_window_status(window, now) for window in scope.windows]),
        latency_seconds=max((deployment.latency.current(now) for deployment in deployments), default=0.0) or None,
        deployments=tuple([deployment.spec.id for deployment in deployments]),
        priorities=_distinct(deployments, "priority"),
        weights=_distinct(deployments, "weight"),
    )


def _distinct(deployments: Collection[DeploymentState], field: str) -> tuple[Any, ...]:
    return tuple(sorted({getattr(deployment.spec, field) for deployment in deployments}))


def _window_status(window: QuotaWindow, now: float) -> WindowStatus:
    limit = window.limit
    # `available` would be only what is leased to this worker.
    remaining = min(max(window.available_total(now), 0.0), limit.amount)
    return WindowStatus(
        name=limit.name,
        limit=limit.amount,
        remaining=remaining,
        used_share=1 - remaining / limit.amount,
        resets_in_seconds=window.resets_in(now),
        rate_per_second=window.rate(now),
        exhausted_in_seconds=finite(window.exhausted_in(now)),
    )
