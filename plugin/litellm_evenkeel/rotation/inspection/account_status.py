"""Status of all accounts, as immutable values for routes, commands and metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from litellm_evenkeel.rotation.model.control import Traffic
from litellm_evenkeel.rotation.state.cooldown import HealthState
from litellm_evenkeel.support.formatting import finite

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Hashable, Mapping, Sequence

    from litellm_evenkeel.providers.failure import FailureKind
    from litellm_evenkeel.rotation.affinity.session_table import SessionCounts
    from litellm_evenkeel.rotation.inspection.metrics import PickCounts
    from litellm_evenkeel.rotation.model.control import Control
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.state.account_scope import AccountScope
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState
    from litellm_evenkeel.rotation.state.quota_window import QuotaWindow

# The event loop may run other tasks after this number of accounts.
ACCOUNTS_PER_SLICE = 16


class AccountState(StrEnum):
    """State of an account, from full traffic to none: that of its cooldown, or of an operator's control."""

    HEALTHY = HealthState.HEALTHY
    RAMPING_UP = HealthState.RAMPING_UP
    PROBING = HealthState.PROBING
    DRAINING = Traffic.DRAINING
    COOLING_DOWN = HealthState.COOLING_DOWN
    QUARANTINED = HealthState.QUARANTINED
    PAUSED = Traffic.PAUSED


SEVERITY = {state: number for number, state in enumerate(AccountState)}


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
class ControlStatus:
    """Status of one control of an operator."""

    kind: str
    value: str | float
    ends_in_seconds: float | None
    """`None` without an end."""
    by: str
    """The operator's key, by its name."""
    reason: str


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """Status of one scope: an account, or one model at it."""

    model: str | None
    """`None` for the account itself."""
    state: AccountState
    traffic_share: float
    """Share of its traffic that it takes: 0 while paused and during a cooldown, below 1 during its ramp-up."""
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
    state: AccountState
    """The state of the account, or of its best model if that is worse."""
    account_scope: ScopeStatus
    models: tuple[ScopeStatus, ...]
    controls: tuple[ControlStatus, ...]
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
    controls_of: Callable[[str], Sequence[Control]] = lambda _: (),
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
        best = min((model.state for model in models), key=SEVERITY.__getitem__, default=own.state)
        state = max(own.state, best, key=SEVERITY.__getitem__)
        controls = tuple([control_status(control, now) for control in controls_of(name)])
        counts = pins.get(name, 0), picks.get(name, {}), failures.get(name, {})
        statuses.append(AccountStatus(name, state, own, tuple(models), controls, *counts))
    return tuple(statuses)


def fingerprints(pool: AccountPool, controls_of: Callable[[str], Hashable], now: float) -> dict[str, Hashable]:
    """Return a value for each account that changes when something happens to the account. Decay does not change it."""
    by_account: dict[str, list[Hashable]] = {}
    for (account, _), scope in pool.scopes.items():
        cooldown = scope.cooldown
        by_account.setdefault(account, []).append(
            (scope.freed_count, scope.used_count, scope.in_flight, scope.pause, cooldown.until, cooldown.state(now))
        )
    return {account: (tuple(values), controls_of(account)) for account, values in by_account.items()}


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
    state = AccountState(cooldown.state(now))
    traffic_share = cooldown.traffic_share(now)
    cooldown_seconds = cooldown.until - now if state is AccountState.COOLING_DOWN else None
    if scope.pause is not None and now < scope.pause.until:
        controlled = AccountState.DRAINING if scope.pause.is_draining else AccountState.PAUSED
        state = max(state, controlled, key=SEVERITY.__getitem__)
        traffic_share = traffic_share if scope.pause.is_draining else 0.0
    has_cooldown = cooldown.kind is not None
    return ScopeStatus(
        model=scope.scope_key[1],
        state=state,
        traffic_share=traffic_share,
        cooldown_seconds=cooldown_seconds,
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


def control_status(control: Control, now: float) -> ControlStatus:
    """Return the status of one control."""
    ends_in = control.ends_at() - now
    return ControlStatus(
        control.kind, control.value, None if ends_in == math.inf else max(ends_in, 0.0), control.by, control.reason
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
