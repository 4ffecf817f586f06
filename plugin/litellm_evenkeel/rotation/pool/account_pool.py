"""Account pool: the live state of all accounts, picks, and the effects of the results of requests.

It uses no I/O, no LiteLLM and no threads; the clock and the random numbers are parameters. Rebuilding a snapshot takes
longer than a pick, so the `refresh` parameter may do it later. Without one, snapshots are rebuilt when they are needed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from litellm_evenkeel.providers.classifier import Failure, clamp_retry_after
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.model.blocker import BlockReason
from litellm_evenkeel.rotation.model.request import NO_USAGE, PickRequest
from litellm_evenkeel.rotation.pool.candidate_set_index import CandidateSetIndex
from litellm_evenkeel.rotation.pool.reservation_ledger import ReservationLedger
from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick, PickReason
from litellm_evenkeel.rotation.selection.selector import select
from litellm_evenkeel.rotation.selection.strategies import STRATEGIES
from litellm_evenkeel.rotation.state.account_scope import AccountScope
from litellm_evenkeel.rotation.state.cooldown import Cooldown, CooldownUpdate
from litellm_evenkeel.rotation.state.deployment_state import DeploymentState
from litellm_evenkeel.rotation.state.quota_window import QuotaWindow
from litellm_evenkeel.rotation.state.registry import ScopeRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litellm_evenkeel.providers.limit_headers import LimitReading
    from litellm_evenkeel.rotation.model.control import Pause
    from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
    from litellm_evenkeel.rotation.model.request import Usage
    from litellm_evenkeel.rotation.selection.selector import Selection
    from litellm_evenkeel.rotation.settings import RotationSettings, StrategyName
    from litellm_evenkeel.rotation.state.account_scope import MakeWindow, ScopeKey, ShareSlots
    from litellm_evenkeel.rotation.state.deployment_state import Reservation


class AccountPool:
    """Owner of all mutable state of the rotation."""

    def __init__(
        self,
        settings: RotationSettings,
        *,
        clock: Callable[[], float],
        random: Callable[[], float],
        refresh: Callable[[CandidateSet], None] | None = None,
        broadcast: Callable[[CooldownUpdate], None] | None = None,
        make_window: MakeWindow | None = None,
        on_capacity: Callable[[CandidateSet], None] | None = None,
        share_slots: ShareSlots | None = None,
        pause_of: Callable[[str], Pause | None] | None = None,
    ) -> None:
        self.settings = settings
        self.now, self._random = clock, random
        self._refresh = refresh or self.refresh
        self._broadcast = broadcast or (lambda _: None)
        self._on_capacity = on_capacity or (lambda _: None)
        self._make_window = make_window or (lambda _key, limit: QuotaWindow(limit))
        self._share_slots = share_slots or (lambda _: None)
        self._pause_of = pause_of or (lambda _: None)
        self._registry = ScopeRegistry(self._make_scope)
        self.scopes, self.deployments_of = self._registry.scopes, self._registry.deployments_of
        self.deployments: dict[tuple[str, str], DeploymentState] = {}
        self.candidate_sets = CandidateSetIndex()
        self._sets_of = self.candidate_sets.by_deployment
        self._reservations = ReservationLedger(clock, self.capacity_freed)

    def deployment(self, spec: DeploymentSpec) -> DeploymentState:
        """Return the state of a deployment. A changed spec gets a new state, but the usage of its account is kept."""
        key = (spec.id, spec.model)
        deployment = self.deployments.get(key)
        if deployment is not None and deployment.spec == spec:
            return deployment
        former, now = deployment, self.now()
        account = self._registry.get_or_create((spec.account, None))
        model = self._registry.get_or_create((spec.account, spec.model))
        deployment = self.deployments[key] = DeploymentState(spec, account, model)
        is_new_credential = self._registry.add_deployment(deployment, now)
        if former is not None:
            self._detach(former)
        for scope in self._registry.scopes_of_account(spec.account) if is_new_credential else (account, model):
            if scope.is_credential_replaced(spec.credential if is_new_credential else None):
                self._reset_scope(scope)
        for scope in (account, model):
            update = self._registry.take_update(scope.scope_key)
            if update is not None:
                self.apply_cooldown_update(update)
        return deployment

    def candidate_set(self, name: str, specs: Sequence[DeploymentSpec]) -> CandidateSet:
        """Create a candidate set; `name` is its model group."""
        deployments = tuple([self.deployment(spec) for spec in specs])
        candidates = CandidateSet(name, deployments, STRATEGIES[self.strategy_of(name)](deployments), self.now())
        self.candidate_sets.add(candidates)
        return candidates

    def strategy_of(self, model_group: str) -> StrategyName:
        """Return the name of a model group's strategy."""
        return self.settings.strategies.get(model_group, self.settings.strategy)

    def remove_deployment(self, deployment: DeploymentState) -> None:
        """Remove a deployment. The usage and the cooldown of its account still count."""
        self._detach(deployment)
        del self.deployments[deployment.spec.id, deployment.spec.model]

    def retire(self, candidates: CandidateSet) -> None:
        """Retire a candidate set. Deployments that another set still uses are kept."""
        self.candidate_sets.retire(candidates)
        self._on_capacity(candidates)
        self._remove_unused()

    def evict_idle(self) -> None:
        """Remove the accounts that have no deployment and no state that still counts."""
        self._remove_unused()
        self._registry.evict_idle(self.now())

    def pick(
        self,
        candidates: CandidateSet,
        request: PickRequest,
        matches: Callable[[int, DeploymentState], bool] = lambda _position, _state: True,
    ) -> Pick | NoCapacity | None:
        """Pick a deployment and reserve the usage of `request`.

        Return `None` if the candidate set is out of date: it is retired, or `matches` is false for the selected one.
        """
        if candidates.is_retired:
            return None
        now = self.now()
        self.expire_reservations(now)
        self.ensure_fresh(candidates, now)
        selection = select(candidates, request, now, self._random)
        self._apply(selection, candidates, request, now)
        if isinstance(selection.result, NoCapacity):
            return selection.result
        position = selection.result.position
        if not matches(position, candidates.deployments[position]):
            return None
        return self._take(candidates, position, request, now, selection.result.reason)

    def preview(self, candidates: CandidateSet, matches: Callable[[int, DeploymentState], bool]) -> int | None:
        """Return the position of the candidate that a request would get now; `None` if it would get none.

        Nothing is reserved.
        """
        if candidates.is_retired:
            return None
        now = self.now()
        self.expire_reservations(now)
        self.ensure_fresh(candidates, now)
        result = select(candidates, PickRequest(), now, self._random).result
        if isinstance(result, NoCapacity) or not matches(result.position, candidates.deployments[result.position]):
            return None
        return result.position

    def cached_no_capacity(self, candidates: CandidateSet, request: PickRequest) -> NoCapacity | None:
        """Return the blocker of a saturated candidate set, or `None` if the candidates must be looked at."""
        saturation, now = candidates.saturation, self.now()
        is_known = saturation.blocker is not None and now < saturation.until and not saturation.freed
        if not is_known or request.usage.tokens < saturation.tokens:
            return None
        return NoCapacity(saturation.until - now, saturation.blocker)

    def available_in(self, deployment: DeploymentState) -> float:
        """Return the seconds until a candidate beside or at `deployment` may be available; 0 if there is one now."""
        now, seconds = self.now(), math.inf
        for candidates, _ in self._sets_of.get(deployment, ()):
            snapshot = candidates.snapshot
            seconds = min(seconds, 0.0 if snapshot.levels else max(snapshot.next_reopening - now, 0.0))
        return seconds

    def is_saturated(self, candidates: CandidateSet, usage: Usage) -> bool:
        """Return whether no candidate is available for a request of any client. Nothing is reserved."""
        request, now = PickRequest(usage), self.now()
        selection = select(candidates, request, now, self._random)
        self._apply(selection, candidates, request, now)
        return isinstance(selection.result, NoCapacity)

    def settle(
        self,
        reservation: Reservation,
        used: Usage,
        *,
        latency: float | None = None,
        readings: tuple[LimitReading, ...] = (),
        is_success: bool = True,
    ) -> None:
        """Record the end of an attempt: its actual usage replaces the reserved one, even if the reservation expired."""
        if not self._reservations.close_or_amend(reservation, used):
            return
        now = self.now()
        deployment = reservation.deployment
        if latency is not None:
            deployment.latency.observe(now, latency)
        if not reservation.has_readings:
            self._apply_readings(reservation, readings, now)
        # A stream has succeeded when it began.
        if is_success and reservation.stream_started_at is None:
            self._on_success(reservation, now)
        self._mark_if_changed(deployment, now)

    def on_stream_start(self, reservation: Reservation, readings: tuple[LimitReading, ...] = ()) -> None:
        """Record that the response stream of an attempt began, with the limit readings in its headers."""
        now = self.now()
        reservation.stream_started_at = now
        # They are out of date when the stream ends, so they are not applied again then.
        reservation.has_readings = bool(readings)
        self._apply_readings(reservation, readings, now)
        self._on_success(reservation, now)

    def release(self, reservation: Reservation) -> None:
        """Record the end of an attempt without a known result: it counts as a request without tokens."""
        reservation.counted_after_expiry = None
        if self._reservations.close(reservation, reservation.usage_without_result()):
            self._on_no_result(reservation)

    def cancel(self, reservation: Reservation) -> None:
        """Record that nothing was sent to the account after all: nothing counts."""
        was_open = reservation.is_open
        self._reservations.close_or_amend(reservation, NO_USAGE)
        if was_open:
            self._on_no_result(reservation)

    def fail(self, reservation: Reservation, failure: Failure, readings: tuple[LimitReading, ...] = ()) -> Failure:
        """Record a failed attempt. Return the failure as it was applied, which may be weaker than the given one."""
        now = self.now()
        self.release(reservation)
        reservation.counted_after_expiry = None
        account, model = reservation.deployment.account, reservation.deployment.model
        self._apply_readings(reservation, readings, now)
        credential, began = reservation.deployment.spec.credential, reservation.started_at
        if failure.kind is FailureKind.PERMANENT and account.credentials.is_outdated(credential, began):
            # The attempt used a credential that has been replaced since.
            return failure
        if not failure.is_certain and not account.forbidden_streak.record_forbidden(reservation.client, began, now):
            failure = Failure(FailureKind.TRANSIENT, FailureScope.ACCOUNT_MODEL, None, failure.reason)
        failure = self._clamped(failure)
        scope = {FailureScope.ACCOUNT: account, FailureScope.ACCOUNT_MODEL: model}.get(failure.scope)
        if scope is not None and scope.cooldown.apply_failure(failure, now, began, credential):
            self._cooldown_changed(scope)
            self._broadcast(scope.cooldown_update())
        return failure

    def apply_cooldown_update(self, update: CooldownUpdate) -> None:
        """Apply a cooldown of another worker. It is not broadcast again."""
        if update.kind is None and update.model is None:
            self._release(update.account)
            return
        scope = self.scopes.get((update.account, update.model))
        if scope is None or not scope.credentials.has(update.credential):
            self._registry.remember_update(update, self.now())
            return
        if scope.cooldown.merge_update(update, self.now()):
            self._cooldown_changed(scope)

    def release_account(self, account: str) -> bool:
        """End the cooldowns of an account and its models for an operator. Return whether the account is known."""
        if not self._release(account):
            return False
        for scope in self._registry.scopes_of_account(account):
            for window in scope.provider_limits.operator_windows:
                window.forget_shared_reading(self.now())
        self._broadcast(CooldownUpdate(account, None, None, "", self.now(), is_provider_stated=True))
        return True

    def apply_pause(self, account: str) -> None:
        """Apply the changed pause of an account."""
        scope = self.scopes.get((account, None))
        if scope is not None:
            scope.pause = self._pause_of(account)
            self._cooldown_changed(scope)

    def retire_sets_of(self, account: str) -> None:
        """Retire the candidate sets of an account whose specs have changed: requests look their candidates up again."""
        scope = self.scopes.get((account, None))
        deployments = () if scope is None else self.deployments_of(scope)
        self._renew([candidates for each in deployments for candidates in self.candidate_sets.sets_of(each)])

    def serves_drained_session(self, candidates: CandidateSet, request: PickRequest) -> bool:
        """Return whether a draining account can serve a request of its session at once: no other request may."""
        now = self.now()
        return request.preferred_account is not None and any(
            deployment.account.is_draining(now)
            and deployment.spec.id not in request.excluded
            and deployment.blocker_while_draining(request.usage, now) is None
            for deployment in candidates.deployments_at(request.preferred_account)
        )

    def use(self, settings: RotationSettings) -> None:
        """Use other settings from now on. Requests look their candidates up again."""
        self.settings = settings
        for scope in self.scopes.values():
            scope.cooldown.use(settings.cooldown)
        # They expire in their order, so none may expire later than those that begin from now on.
        self._reservations.expire_before(self.now() + settings.reservation_ttl)
        self._renew([candidates for sets in self._sets_of.values() for candidates, _ in sets])

    def expire_reservations(self, now: float) -> int:
        """Release the reservations that have expired, and return their number."""
        count = 0
        while (reservation := self._reservations.first_expired(now)) is not None:
            self.release(reservation)
            reservation.counted_after_expiry = reservation.usage_without_result()
            count += 1
        return count

    def refresh(self, candidates: CandidateSet) -> None:
        """Refresh the snapshot of a candidate set now: rebuild it if it is too old, else patch it."""
        now = self.now()
        if now >= candidates.snapshot.taken + candidates.snapshot_ttl(self.settings.snapshot_ttl):
            candidates.rebuild(now)
        else:
            candidates.refresh_dirty(now)

    def ensure_fresh(self, candidates: CandidateSet, now: float) -> None:
        """Refresh the snapshot of a candidate set if it is out of date. A rebuild also updates the fair shares."""
        snapshot, ttl = candidates.snapshot, self.settings.snapshot_ttl
        if candidates.is_low:
            ttl = candidates.snapshot_ttl(ttl)
        if now >= snapshot.taken + ttl or candidates.dirty or now >= snapshot.next_reopening:
            self._refresh(candidates)

    def _apply(self, selection: Selection, candidates: CandidateSet, request: PickRequest, now: float) -> None:
        """Apply what a selection observed: blocked candidates, leases that they lack, a saturated set."""
        for position, blocker in selection.blocked.items():
            if blocker.reason is BlockReason.ESTIMATE_PROBE:
                # It blocks this request only, which may not be a probe.
                continue
            candidates.deployments[position].request_leases(request.usage, now)
            candidates.note_blocked(position, blocker, request.usage, now)
        if selection.is_saturated:
            candidates.saturation.note_saturated(tuple(selection.blocked.values()), request.usage, now)
        elif selection.is_too_little_freed:
            candidates.saturation.note_too_little_freed(request.usage)

    def _take(
        self, candidates: CandidateSet, position: int, request: PickRequest, now: float, reason: PickReason
    ) -> Pick:
        deployment = candidates.deployments[position]
        expires_at = now + self.settings.reservation_ttl
        reservation = self._reservations.open(deployment, request, now, expires_at)
        candidates.strategy.on_pick(position)
        return Pick(deployment, position, reservation, reason)

    def _apply_readings(self, reservation: Reservation, readings: tuple[LimitReading, ...], now: float) -> None:
        if readings:
            deployment, began = reservation.deployment, reservation.started_at
            deployment.apply_readings(readings, began, now, lambda scope: self._registry.usage_since(scope, began))
            self.capacity_freed(deployment.account)
            self.capacity_freed(deployment.model)

    def _on_no_result(self, reservation: Reservation) -> None:
        now = self.now()
        for scope in (reservation.deployment.account, reservation.deployment.model):
            if scope.cooldown.on_no_result(now, reservation.started_at):
                self._cooldown_changed(scope)

    def _on_success(self, reservation: Reservation, now: float) -> None:
        reservation.deployment.account.forbidden_streak.clear()
        for scope in (reservation.deployment.account, reservation.deployment.model):
            if scope.cooldown.on_success(now, reservation.started_at):
                self._cooldown_changed(scope)
                self.capacity_freed(scope)

    def capacity_freed(self, scope: AccountScope) -> None:
        """Record that capacity of a scope was freed, and notify its candidate sets."""
        now = self.now()
        scope.freed_count += 1
        for deployment in self.deployments_of(scope):
            for candidates, position in self._sets_of.get(deployment, ()):
                candidates.saturation.note_freed(position, now)
                self._on_capacity(candidates)

    def _mark_if_changed(self, deployment: DeploymentState, now: float) -> None:
        for candidates, position in self._sets_of.get(deployment, ()):
            if candidates.has_changed(position, now):
                candidates.dirty.add(position)

    def _cooldown_changed(self, scope: AccountScope) -> None:
        for deployment in self.deployments_of(scope):
            deployment.clear_cache()
            for candidates, position in self._sets_of.get(deployment, ()):
                candidates.dirty.add(position)
                candidates.saturation.reopen()
                self._refresh(candidates)
                self._on_capacity(candidates)

    def _clamped(self, failure: Failure) -> Failure:
        limits = self.settings.cooldown
        seconds = clamp_retry_after(
            failure.retry_after, failure.kind, rate_limit=limits.max_rate_limit, quota=limits.max_quota
        )
        return failure if seconds == failure.retry_after else replace(failure, retry_after=seconds)

    def _release(self, account: str) -> bool:
        had_updates = self._registry.forget_updates(account)
        scopes = self._registry.scopes_of_account(account)
        for scope in scopes:
            self._reset_scope(scope)
        return had_updates or bool(scopes)

    def _renew(self, outdated: Sequence[CandidateSet]) -> None:
        """Retire candidate sets. The next request looks its candidates up again, and replaces what has changed."""
        for candidates in dict.fromkeys(outdated):
            self.candidate_sets.replace(candidates)
            self._on_capacity(candidates)

    def _reset_scope(self, scope: AccountScope) -> None:
        scope.release(self.now())
        self._cooldown_changed(scope)

    def _make_scope(self, key: ScopeKey) -> AccountScope:
        cooldown, pause = Cooldown(self.settings.cooldown, self._random), None
        if key[1] is None:
            pause = self._pause_of(key[0])
        return AccountScope(key, cooldown, self._make_window, self._share_slots, pause)

    def _detach(self, deployment: DeploymentState) -> None:
        self._registry.remove_deployment(deployment, self.now())
        self.candidate_sets.retire_sets_of(deployment)

    def _remove_unused(self) -> None:
        for deployment in self.candidate_sets.pop_unused(self.deployments):
            self.remove_deployment(deployment)
