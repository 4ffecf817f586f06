"""How all accounts stand, as frozen values for routes, commands and metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

# After so many accounts, others get the thread.
SLICE = 16
# The further from full traffic, the later; an account is as far as the worst of it.
GRAVITY = (
    HealthState.HEALTHY,
    HealthState.RAMPING_UP,
    HealthState.PROBING,
    HealthState.COOLING_DOWN,
    HealthState.QUARANTINED,
)


@dataclass(frozen=True, slots=True)
class WindowStatus:
    """One limit."""

    name: str
    amount: float
    left: float
    used_share: float
    resets_in: float
    """Seconds."""
    rate: float
    """So much of it is used in a second, lately."""
    runs_out_in: float | None
    """Seconds until it is used up, as things go now; None if it resets before."""


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """An account as a whole, or one model at it."""

    model: str | None
    """None for the account as a whole."""
    state: HealthState
    traffic_share: float
    """Which share of its traffic it may have."""
    cooldown_seconds: float | None
    """Seconds until its hold ends; None if nothing holds it, or only an operator ends it."""
    failure_kind: FailureKind | None
    """What kind of failure holds it."""
    reason: str
    """Which rule the failure matched; nothing that a provider or a user wrote."""
    is_provider_stated: bool
    """Whether its provider said for how long; else it is a guess."""
    in_flight: int
    concurrent: int | None
    windows: tuple[WindowStatus, ...]
    latency: float | None
    """Seconds, of late, of the slowest of its deployments; None if nobody knows."""
    deployments: tuple[str, ...]
    priorities: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AccountStatus:
    """One account."""

    account: str
    state: HealthState
    """The gravest: of the account, or of all its models if none of them is any better."""
    account_scope: ScopeStatus
    models: tuple[ScopeStatus, ...]
    pins: int
    picks: Mapping[str, int]
    """By reason, since this worker began."""
    failures: Mapping[str, int]
    """By kind, since this worker began."""

    def as_json(self) -> dict[str, Any]:
        """Return it for a program; what is infinite or unknown is null."""
        return {
            "account": self.account,
            "state": self.state,
            **_plain(self.account_scope),
            "pins": self.pins,
            "picks": dict(self.picks),
            "failures": dict(self.failures),
            "models": [{"model": one.model, "state": one.state, **_plain(one)} for one in self.models],
        }


def account_statuses(
    pool: AccountPool,
    now: float,
    pick_counts: PickCounts,
    session_counts: SessionCounts | None = None,
    *,
    only: Sequence[str] | None = None,
) -> Generator[None, None, tuple[AccountStatus, ...]]:
    """Look at all accounts, or some, by name; yields at times, so that others can have the thread."""
    by_account = scopes_by_account(pool)
    picks, failures = pick_counts.by_account()
    pins = session_counts.accounts if session_counts else {}
    wanted = by_account if only is None else [name for name in dict.fromkeys(only) if name in by_account]
    found = []
    for number, name in enumerate(sorted(wanted), 1):
        if number % SLICE == 0:
            yield
        found.append(
            account_status(
                name,
                [scope_status(scope, pool.deployments_of(scope), now) for scope in by_account[name]],
                pins.get(name, 0),
                picks.get(name, {}),
                failures.get(name, {}),
            )
        )
    return tuple(found)


def scopes_by_account(pool: AccountPool) -> dict[str, list[AccountScope]]:
    """Return all sides by account; each account as a whole comes before its models."""
    found: dict[str, list[AccountScope]] = {}
    for (account, model), scope in pool.scopes.items():
        several = found.setdefault(account, [])
        several.insert(0 if model is None else len(several), scope)
    return found


def account_status(
    name: str, scopes: Sequence[ScopeStatus], pins: int, picks: Mapping[str, int], failures: Mapping[str, int]
) -> AccountStatus:
    """Return the status of one account. The first of `scopes` is the account as a whole, the others its models."""
    whole, *models = scopes
    best = min((GRAVITY.index(one.state) for one in models), default=0)
    state = GRAVITY[max(GRAVITY.index(whole.state), best)]
    return AccountStatus(name, state, whole, tuple(models), pins, picks, failures)


def scope_status(scope: AccountScope, deployments: Collection[DeploymentState], now: float) -> ScopeStatus:
    """Return the status of an account as a whole, or of one model at it, with its deployments."""
    cooldown = scope.cooldown
    state = cooldown.state(now)
    is_held = cooldown.kind is not None
    return ScopeStatus(
        model=scope.scope_key[1],
        state=state,
        traffic_share=cooldown.traffic_share(now),
        cooldown_seconds=cooldown.until - now if state is HealthState.COOLING_DOWN else None,
        failure_kind=cooldown.kind,
        reason=cooldown.reason if is_held else "",
        is_provider_stated=is_held and cooldown.is_provider_stated,
        in_flight=scope.in_flight,
        concurrent=scope.concurrent,
        windows=tuple([_window(window, now) for window in scope.windows]),
        latency=max((deployment.latency.current(now) for deployment in deployments), default=0.0) or None,
        deployments=tuple([deployment.spec.id for deployment in deployments]),
        priorities=_several(deployments, "priority"),
        weights=_several(deployments, "weight"),
    )


def _several(deployments: Collection[DeploymentState], field: str) -> tuple[Any, ...]:
    return tuple(sorted({getattr(deployment.spec, field) for deployment in deployments}))


def _window(window: QuotaWindow, now: float) -> WindowStatus:
    limit = window.limit
    # What this worker was granted of it is not what is left.
    left = min(max(window.available_total(now), 0.0), limit.amount)
    return WindowStatus(
        name=limit.name,
        amount=limit.amount,
        left=left,
        used_share=1 - left / limit.amount,
        resets_in=window.resets_in(now),
        rate=window.rate(now),
        runs_out_in=finite(window.exhausted_in(now)),
    )


def _plain(one: ScopeStatus) -> dict[str, Any]:
    return {
        "share": finite(one.traffic_share),
        "held_for_seconds": finite(one.cooldown_seconds),
        "kind": one.failure_kind,
        "why": one.reason,
        "is_told": one.is_provider_stated,
        "in_flight": one.in_flight,
        "concurrent": one.concurrent,
        "latency_seconds": finite(one.latency),
        "deployments": list(one.deployments),
        "tiers": list(one.priorities),
        "weights": list(one.weights),
        "windows": [
            {
                "name": window.name,
                "limit": finite(window.amount),
                "left": finite(window.left),
                "used_share": finite(window.used_share),
                "resets_in_seconds": finite(window.resets_in),
                "rate_per_second": finite(window.rate),
                "runs_out_in_seconds": finite(window.runs_out_in),
            }
            for window in one.windows
        ],
    }
