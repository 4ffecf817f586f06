"""Session affinity: the account that a session prefers, and the changes of its pin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.rotation.affinity.policy import AffinityDecision, PinnedAccount, decide
from litellm_evenkeel.rotation.affinity.rate_limit_wait import longest_wait, rate_limit_ends_at
from litellm_evenkeel.rotation.affinity.session_key import SessionKeyReader
from litellm_evenkeel.rotation.affinity.session_table import SessionTable
from litellm_evenkeel.rotation.model.continuation import continued_response
from litellm_evenkeel.rotation.model.request import PickRequest
from litellm_evenkeel.rotation.state.cooldown import HealthState
from litellm_evenkeel.rotation.state.quota_window import PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.affinity.cache_savings import SessionOutcome
    from litellm_evenkeel.rotation.affinity.replicator import SessionReplicator
    from litellm_evenkeel.rotation.affinity.session_key import SessionKey
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.selection.pick import Pick
    from litellm_evenkeel.rotation.settings import AffinitySettings


@dataclass(slots=True)
class Preference:
    """Preference of one request for an account."""

    request: PickRequest
    """The request, with the accounts that it prefers."""
    key: SessionKey | None = None
    """The session; `None` if the request belongs to none."""
    pinned: str | None = None
    """The account that the session is pinned to; `None` without a pin."""
    decision: AffinityDecision | None = None
    """Whether the request follows the pin, and why; `None` without a pin."""


class SessionAffinity:
    """The sessions of one worker."""

    def __init__(
        self,
        settings: AffinitySettings,
        *,
        clock: Callable[[], float],
        sessions: SessionTable | None = None,
        replicator: SessionReplicator | None = None,
    ) -> None:
        self._settings, self._clock, self._replicator = settings, clock, replicator
        self.sessions = sessions or SessionTable(settings)
        if replicator is not None:
            self.sessions.on_change = replicator.put
        self._keys = SessionKeyReader(settings)

    def use(self, settings: AffinitySettings) -> None:
        """Use other settings from now on. The sources of session keys stay the same."""
        self._settings = settings
        self.sessions.use(settings)

    async def prefer(
        self, candidates: CandidateSet, request: PickRequest, kwargs: Mapping[str, Any], messages: object
    ) -> Preference:
        """Return which account a request prefers. May wait briefly for a pin that another worker wrote."""
        request = _continuing(candidates, request, kwargs)
        key = self._keys.read(candidates.name, kwargs, messages)
        if key is None:
            return Preference(request)
        pinned = self.sessions.account_of(key, self._clock())
        if pinned is None and self._replicator is not None:
            pinned = await self._fetch_remote(key, self._replicator)
        return self._preference(candidates, request, key, pinned)

    def preview(self, candidates: CandidateSet, request: PickRequest, kwargs: Mapping[str, Any]) -> Preference:
        """Return which account a request would prefer, by the pins that this worker knows."""
        key = self._keys.read(candidates.name, kwargs)
        pinned = None if key is None else self.sessions.account_of(key, self._clock())
        return Preference(request) if key is None else self._preference(candidates, request, key, pinned)

    def seconds_to_wait(self, preference: Preference, candidates: CandidateSet, waited: float) -> float:
        """Return for how many seconds a request waits for a rate limit of its session's account; 0 if it does not.

        `waited` is the time that it has waited before. A session with a fallback account, whose cache has the prompt by
        now, does not wait.
        """
        request, key, pinned = preference.request, preference.key, preference.pinned
        left = longest_wait(request.usage, self._settings.prefill_rate) - waited
        if left <= 0 or key is None or pinned is None or request.fallback_account is not None:
            return 0.0
        now, deployments = self._clock(), candidates.deployments_at(pinned)
        ends = [end for each in deployments if (end := rate_limit_ends_at(each, request.usage, now)) is not None]
        if not ends or not 0 < min(ends) - now <= left:
            return 0.0
        # By then it must be usable.
        then = replace(self._state(candidates, key, pinned, frozenset(), now), cooldown_left=0.0)
        return min(ends) - now if decide(then, self._settings).follows else 0.0

    def record(self, preference: Preference, pick: Pick, candidates: CandidateSet) -> SessionOutcome | None:
        """Record which account a session went to. Return `None` if the request belongs to no session."""
        key, decision = preference.key, preference.decision
        if key is None:
            return None
        account, now = pick.deployment.spec.account, self._clock()
        is_fallback = decision is not None and decision.keeps_pin
        if is_fallback and account != preference.pinned and decision is not None and decision.is_temporary:
            is_fallback = not self._is_lasting(preference, candidates, now)
        is_spread = decision is AffinityDecision.OVERLOADED
        return self.sessions.record(key, account, now, is_fallback=is_fallback, is_spread=is_spread)

    def forget_account(self, account: str) -> None:
        """Unpin all sessions of an account."""
        self.sessions.forget_account(account)
        if self._replicator is not None:
            self._replicator.forget_account(account)

    async def close(self) -> None:
        """Write the pins that wait to be written, and close the connections."""
        if self._replicator is not None:
            await self._replicator.close()

    async def _fetch_remote(self, key: SessionKey, replicator: SessionReplicator) -> str | None:
        account = await replicator.fetch(key.text)
        if account is not None:
            self.sessions.merge(key.text, account, self._clock())
        # Another request of the session may have been pinned in the meantime.
        return self.sessions.account_of(key, self._clock())

    def _preference(
        self, candidates: CandidateSet, request: PickRequest, key: SessionKey, pinned: str | None
    ) -> Preference:
        if pinned is None:
            return Preference(request, key)
        now = self._clock()
        decision = self._decide(candidates, key, pinned, request.excluded, now)
        fallback = self.sessions.fallback_of(key, now)
        if fallback is not None and not self._decide(candidates, key, fallback, request.excluded, now).follows:
            fallback = None
        preferred = pinned if decision.follows else request.preferred_account
        if preferred is not None or fallback is not None:
            # `_replace` would take twice as long.
            request = PickRequest(
                request.usage,
                request.excluded,
                preferred,
                fallback,
                request.is_stream,
                request.client,
                request.is_final_try,
                request.ignores_leases,
                request.probes,
            )
        return Preference(request, key, pinned, decision)

    def _decide(
        self, candidates: CandidateSet, key: SessionKey, account: str, excluded: frozenset[str], now: float
    ) -> AffinityDecision:
        return decide(self._state(candidates, key, account, excluded, now), self._settings)

    def _state(
        self, candidates: CandidateSet, key: SessionKey, account: str, excluded: frozenset[str], now: float
    ) -> PinnedAccount:
        deployments = candidates.deployments_at(account)
        if not deployments:
            return PinnedAccount(is_candidate=False)
        first = deployments[0]
        cooldowns = first.account.cooldown, first.model.cooldown
        cooling_down = [cooldown for cooldown in cooldowns if cooldown.kind is not None]
        ends = [cooldown.until for cooldown in cooling_down]
        pause = first.account.pause
        if pause is not None and not pause.is_draining:
            ends.append(pause.until)
        return PinnedAccount(
            is_candidate=not excluded or any(deployment.spec.id not in excluded for deployment in deployments),
            is_quarantined=any(cooldown.state(now) is HealthState.QUARANTINED for cooldown in cooling_down),
            cooldown_left=max(ends, default=now) - now,
            failures=max(cooldowns[0].failures, cooldowns[1].failures),
            latency=first.latency.recent(now),
            median_latency=candidates.median_latency,
            is_overloaded=self.sessions.is_overloaded(key, now, len(candidates.positions_by_account)),
        )

    def _is_lasting(self, preference: Preference, candidates: CandidateSet, now: float) -> bool:
        """Return whether a session was, or will be, away from its account for longer than `move_after`."""
        # A quota window is up to a part longer than its name says.
        longest = self._settings.move_after * (1 + 1 / PARTS)
        if preference.key is not None and self.sessions.away_for(preference.key, now) > longest:
            return True
        usage = preference.request.usage
        blockers = [
            deployment.blocker_while_draining(usage, now)
            if deployment.account.is_draining(now)
            else deployment.blocker(usage, now)
            for deployment in candidates.deployments_at(preference.pinned or "")
        ]
        return bool(blockers) and all(blocker is not None and blocker.until > now + longest for blocker in blockers)


def _continuing(candidates: CandidateSet, request: PickRequest, kwargs: Mapping[str, Any]) -> PickRequest:
    """Return a request that continues a response with the account that made it, if that is the only candidate."""
    accounts = candidates.positions_by_account
    if len(accounts) == 1 and continued_response(kwargs) is not None:
        # Such a request belongs to a session, which a draining account still serves.
        return request._replace(preferred_account=next(iter(accounts)))
    return request
