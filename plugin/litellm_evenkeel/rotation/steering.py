"""The way of a request through the rotation, without LiteLLM: chosen, waited for, answered or failed, learned from."""

from __future__ import annotations

import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.attempts import Attempt, Attempts
from litellm_evenkeel.rotation.call import Call
from litellm_evenkeel.rotation.candidates import Candidates
from litellm_evenkeel.rotation.choosing import coming, preferred
from litellm_evenkeel.rotation.escapes import Advice, Sight, advise
from litellm_evenkeel.rotation.estimate import Estimates
from litellm_evenkeel.rotation.holds import State
from litellm_evenkeel.rotation.kinds import Kind
from litellm_evenkeel.rotation.limit_headers import readings
from litellm_evenkeel.rotation.need import Need
from litellm_evenkeel.rotation.picks import Full, Pick
from litellm_evenkeel.rotation.pool import Pool
from litellm_evenkeel.rotation.refreshing import Refreshing
from litellm_evenkeel.rotation.session_key import SessionKeys
from litellm_evenkeel.rotation.sticky import Sticky
from litellm_evenkeel.rotation.waiting import Waiting
from litellm_evenkeel.rotation.windows import PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.rotation.affinity import Outcome
    from litellm_evenkeel.rotation.answers import Answer
    from litellm_evenkeel.rotation.attempts import Run
    from litellm_evenkeel.rotation.candidates import Deployment, Known
    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.held import Held
    from litellm_evenkeel.rotation.limits import Limit
    from litellm_evenkeel.rotation.observer import Observer
    from litellm_evenkeel.rotation.pins.remote import Remote
    from litellm_evenkeel.rotation.seat import Seat
    from litellm_evenkeel.rotation.session_key import SessionKey
    from litellm_evenkeel.rotation.side import Key, Side
    from litellm_evenkeel.rotation.signals import Signal
    from litellm_evenkeel.rotation.terms import RotationTerms
    from litellm_evenkeel.rotation.windows import Window

NOTHING = Need(0.0, 0.0, 0.0)
HASH_DIGITS = 64
# So long a request waits where only a part of the limits is used up, or only a guess is being tried out; then it goes.
PART_SECONDS = 1.0
# Whoever opens so soon is waited for, however short the patience.
GRACE_SECONDS = 0.25
CLIENT_DIGITS = 16
# Candidates may change so often while a request waits.
MOST_LOOKS = 4


class Shares(Protocol):
    """What workers share."""

    def tell(self, held: Held) -> None:
        """Tell the others of a hold."""

    def window(self, key: Key, limit: Limit) -> Window:
        """Return a limit that all of them use up together."""

    def slots(self, side: Side) -> None:
        """Have the requests under way at a side bounded for all of them together."""


class Steering:
    """The rotation of one event loop."""

    def __init__(
        self,
        terms: RotationTerms,
        *,
        clock: Callable[[], float],
        random: Callable[[], float],
        seat: Callable[[Deployment, str], Seat],
        observer: Observer,
        shared: Shares | None = None,
        sticky: Sticky | None = None,
        remote: Remote | None = None,
        errors: Callable[[str, Exception], None] = lambda _where, _error: None,
    ) -> None:
        self.terms, self._clock, self._observer, self._remote = terms, clock, observer, remote
        refreshing = Refreshing(clock, observer.rebuilt)
        self.pool = Pool(
            terms,
            clock=clock,
            random=random,
            refresh=refreshing,
            opened=self._opened,
            tell=shared.tell if shared else None,
            window=shared.window if shared else None,
            slots=shared.slots if shared else None,
        )
        refreshing.serve(self.pool)
        self.waiting = Waiting(self.pool, errors)
        self.candidates = Candidates(self.pool, seat, is_cached=terms.route_cache)
        self.attempts = Attempts(self, errors)
        self.sticky = sticky or Sticky(terms.sticky)
        if remote is not None:
            self.sticky.tell = remote.put
        self.estimates = Estimates(terms.expected_output)
        self._keys = SessionKeys(terms.sticky)

    async def choose(
        self,
        model: str,
        deployments: Sequence[Deployment],
        messages: object,
        request: Mapping[str, Any],
        known: Known | None = None,
    ) -> Pick | Full:
        """Return which of the candidates a request gets, or why none; `known` is what they were recognised as."""
        began = time.perf_counter()
        call = Call.of(request)
        run = self.attempts.run(call)
        if run.current is not None:
            self.attempts.end_last(run)
        known = known or self.candidates.of(model, deployments)
        key = self._keys.of(model, request, messages)
        now = self._clock()
        pinned = None if key is None else self.sticky.pinned(key, now)
        if key is not None and pinned is None and self._remote is not None:
            pinned = await self._pinned_elsewhere(key, self._remote)
            now = self._clock()
        skipped = request.get("_retry_skipped_deployment_ids")
        tried = run.tried.union(skipped) if skipped else run.tried
        advice = None if key is None or pinned is None else self._advice(known.group, key, pinned, tried, now)
        asked = Asked(
            self.estimates.of(model, request, messages),
            tried,
            pinned if advice is not None and advice.follows else None,
            is_stream=bool(request.get("stream")),
            client=_client(request),
        )
        if key is not None and advice is not None:
            asked = self.following(known.group, key, asked, now)
        found = self._at_once(known, deployments, asked)
        if not isinstance(found, Pick) and self.candidates.has_changed(known, deployments):
            # A new key, or a higher limit, of one that was not compared yet.
            known = self.candidates.anew(model, deployments)
            found = self._at_once(known, deployments, asked)
        if not isinstance(found, Pick):
            found = await self._in_time(known, deployments, asked, run, found)
            if isinstance(found, Full):
                self._observer.refused(model, found)
                return found
        outcome = None if key is None else self._chosen(known.group, key, asked, found, pinned, advice)
        run.current = Attempt(found, model, call, outcome)
        call.sent(found.place.seat.account, found.reason)
        self._observer.picked(found, model, time.perf_counter() - began)
        return found

    def failed(self, deployment: str, signal: Signal, headers: object, wall: float) -> None:
        """Know that the attempt that the current task makes at a deployment has failed."""
        attempt = self.attempts.failed(deployment)
        if attempt is not None:
            self._failed(attempt, signal, headers, wall)

    def stream_ended(self, call: Call, deployment: str | None, answer: Answer) -> None:
        """Know of the event at the end of a stream; other answers have been told before theirs."""
        attempt = self.attempts.stream_ended(call, deployment)
        if attempt is not None:
            self.answered(attempt, answer)

    def stream_failed(self, call: Call, signal: Signal, headers: object, wall: float) -> None:
        """Know of the event after a stream that broke off."""
        attempt = self.attempts.stream_broke(call)
        if attempt is not None:
            self._failed(attempt, signal, headers, wall)

    def answered(self, attempt: Attempt, answer: Answer) -> None:
        """Learn from an answer."""
        try:
            self._answered(attempt, answer)
        finally:
            self.gave_up(attempt)

    def streaming(self, attempt: Attempt, headers: Mapping[str, Any] | None) -> None:
        """Know that an answer has begun, and learn from its headers."""
        self.pool.began(attempt.pick.lease, readings(headers, now=time.time()) if headers else ())

    def vanished(self, attempt: Attempt) -> None:
        """Give back what was reserved for an attempt of whose end nobody tells."""
        self.pool.release(attempt.pick.lease)
        self._observer.vanished(attempt)

    def gave_up(self, attempt: Attempt) -> None:
        """Give back what was reserved for an attempt if it still is: nothing that goes wrong may keep it."""
        self.pool.release(attempt.pick.lease)

    def _answered(self, attempt: Attempt, answer: Answer) -> None:
        lease = attempt.pick.lease
        if answer.is_from_cache:
            self.pool.settle(lease, NOTHING, is_success=False)
            return
        used = Need(1.0, answer.total_tokens, answer.dollars) if answer.is_known else lease.need
        told = readings(answer.headers, now=time.time()) if answer.headers else ()
        # Streams take as long as they are long: of them, what counts is how soon they began.
        ended = self._clock() if lease.answered is None else lease.answered
        self.pool.settle(lease, used, latency=ended - lease.began, readings=told)
        if answer.is_known:
            self.estimates.learn(attempt.group, answer.output_tokens, answer.total_tokens, answer.dollars)
            if attempt.outcome is not None:
                self.sticky.settled(attempt.outcome, int(answer.prompt_tokens), int(answer.cached_tokens))
        self._observer.answered(attempt, answer)

    def _failed(self, attempt: Attempt, signal: Signal, headers: object, wall: float) -> None:
        try:
            told = readings(headers, now=wall) if headers else ()
            signal = self.pool.fail(attempt.pick.lease, signal, told)
        finally:
            self.gave_up(attempt)
        if attempt.pick.place.account.hold.kind is Kind.PERMANENT:
            self.forget_pins(attempt.pick.place.seat.account)
        self._observer.failed(attempt, signal)

    def pin(self, group: Group, request: Mapping[str, Any], asked: Asked) -> tuple[str, Advice, Asked] | None:
        """Return where a request's session is pinned as far as is known here, whether it would go there, and it all."""
        key = self._keys.of(group.name, request)
        now = self._clock()
        pinned = None if key is None else self.sticky.pinned(key, now)
        if key is None or pinned is None:
            return None
        advice = self._advice(group, key, pinned, asked.tried, now)
        asked = asked._replace(prefer=pinned if advice.follows else None)
        return pinned, advice, self.following(group, key, asked, now)

    def following(self, group: Group, key: SessionKey, asked: Asked, now: float) -> Asked:
        """Return what is asked for, at the account to which the session goes while its own cannot be used."""
        meanwhile = self.sticky.meanwhile(key, now)
        # On its way back it may be used, or not: then the session stays where it is.
        if meanwhile is None or preferred(group, asked, now, _never) is not None or coming(group, asked, now):
            return asked
        is_well = self._advice(group, key, meanwhile, asked.tried, now).follows
        return asked._replace(prefer=meanwhile) if is_well else asked

    def forget_pins(self, account: str) -> None:
        """Let the sessions of an account go elsewhere for good."""
        self.sticky.drop(account)
        if self._remote is not None:
            self._remote.drop(account)

    def _at_once(self, known: Known, deployments: Sequence[Deployment], asked: Asked) -> Pick | Full | None:
        """Return what there is without a wait; None where others come first."""
        group, now = known.group, self._clock()
        if group.fairness.asks(asked.client, now) > 0:
            # Nobody may be left who makes a pick, and with it a newer snapshot.
            self.pool.keep_fresh(group, now)
            return None
        if self.waiting.is_line(group):
            return None
        found = self._picked(known, deployments, asked)
        if isinstance(found, Pick):
            group.fairness.used(asked.client, now)
        return found

    async def _in_time(
        self, known: Known, deployments: Sequence[Deployment], asked: Asked, run: Run, full: Full | None
    ) -> Pick | Full:
        """Return what there is as soon as the terms allow to wait, after there was nothing at once."""
        found = await self._waited_for(known, deployments, asked, run, full)
        if isinstance(found, Full) and found.bar is not None and found.bar.is_coming:
            # What had only to be granted was not: then another tier serves, or another account than the session's.
            asked = asked._replace(presses=True)
            pressing = self._at_once(known, deployments, asked)
            if isinstance(pressing, Pick):
                return pressing
            found = await self._waited_for(known, deployments, asked, run, pressing)
        return found

    async def _waited_for(
        self, known: Known, deployments: Sequence[Deployment], asked: Asked, run: Run, full: Full | None
    ) -> Pick | Full:
        group, now = known.group, self._clock()
        is_held = full is None and group.fairness.waits(asked.client, now) > 0
        full = full or self.pool.known_full(group, asked)
        patience = self._patience(run, full, is_pressing=asked.presses)
        if patience is None:
            assert full is not None
            return full
        if patience > 0:
            found = await self._waited(known, deployments, asked, patience)
            passed = self._clock() - now
            run.waited += passed
            self._observer.waited(group.name, passed, is_served=isinstance(found, Pick))
            if isinstance(found, Pick):
                return found
            full = found
        if full is not None and full.bar is not None and full.bar.yields:
            return self._picked(known, deployments, asked._replace(presses=True))
        if full is None and not is_held:
            # Nobody is refused without a look, unless for what others need.
            return self._picked(known, deployments, asked)
        return full or Full(1.0, group.full)

    async def _waited(
        self, known: Known, deployments: Sequence[Deployment], asked: Asked, patience: float
    ) -> Pick | Full:
        """Wait for so long, however often the candidates change meanwhile."""
        ends = self._clock() + patience
        for _ in range(MOST_LOOKS):
            is_there = self.candidates.is_there(known, deployments)
            waited = await self.waiting.wait(known.group, asked, asked.client, patience, is_there)
            found = waited or self._picked(known, deployments, asked)
            patience = ends - self._clock()
            if waited is not None or isinstance(found, Pick) or patience <= 0:
                break
            known = self.candidates.anew(known.group.name, deployments)
        return found

    def _patience(self, run: Run, full: Full | None, *, is_pressing: bool) -> float | None:
        """Return for how many seconds a request waits; None if that would be in vain."""
        patience = self.terms.wait - run.waited
        if full is None or full.bar is None:
            return patience
        if full.bar.yields:
            return min(patience, PART_SECONDS)
        if full.bar.is_coming and not is_pressing:
            return max(min(patience, PART_SECONDS), GRACE_SECONDS)
        if full.opens_in <= GRACE_SECONDS:
            # A moment, such as workers need to hear of each other, is no refusal.
            return max(patience, GRACE_SECONDS)
        return None if full.opens_in > patience and not full.bar.may_open else patience

    def _picked(self, known: Known, deployments: Sequence[Deployment], asked: Asked) -> Pick | Full:
        found = self.pool.pick(known.group, asked, self.candidates.is_there(known, deployments))
        if found is None:
            # They say the same, and are others.
            known = self.candidates.anew(known.group.name, deployments)
            found = self.pool.pick(known.group, asked, self.candidates.is_there(known, deployments))
        return found or Full(0.0, None)

    async def _pinned_elsewhere(self, key: SessionKey, remote: Remote) -> str | None:
        elsewhere = await remote.fetch(key.text)
        if elsewhere is not None:
            self.sticky.adopt(key.text, elsewhere, self._clock())
        # Another request of the session may have been chosen for meanwhile.
        return self.sticky.pinned(key, self._clock())

    def _advice(self, group: Group, key: SessionKey, pinned: str, tried: frozenset[str], now: float) -> Advice:
        places = [group.places[position] for position in group.at_account.get(pinned, ())]
        if not places:
            return advise(Sight(is_offered=False), self.terms.sticky)
        place = places[0]
        holds = place.account.hold, place.model.hold
        return advise(
            Sight(
                is_offered=any(each.seat.id not in tried for each in places),
                is_quarantined=any(hold.state(now) is State.QUARANTINED for hold in holds),
                held_for=max(0.0, *(hold.until - now for hold in holds if hold.kind is not None), 0.0),
                failures=max(hold.failures for hold in holds),
                latency=place.latency.fresh(now),
                median=group.median_latency,
                is_hot=self.sticky.is_hot(key, now, len(group.at_account)),
            ),
            self.terms.sticky,
        )

    def _chosen(
        self, group: Group, key: SessionKey, asked: Asked, pick: Pick, pinned: str | None, advice: Advice | None
    ) -> Outcome:
        account, now = pick.place.seat.account, self._clock()
        is_fallback = advice is not None and advice.keeps_pin
        if is_fallback and account != pinned and advice is not None and advice.only_waits:
            is_fallback = not self._lasts(group, key, asked.need, pinned, now)
        return self.sticky.chosen(key, account, now, is_fallback=is_fallback, is_spread=advice is Advice.HOT)

    def _lasts(self, group: Group, key: SessionKey, need: Need, pinned: str | None, now: float) -> bool:
        """Return whether a session has been kept from its account, or will be, for longer than its pin waits."""
        # A window is a part longer than it is called.
        longest = self.terms.sticky.repin_after * (1 + 1 / PARTS)
        if self.sticky.away_for(key, now) > longest:
            return True
        places = [group.places[position] for position in group.at_account.get(pinned or "", ())]
        bars = [place.bar(need, now) for place in places]
        return bool(bars) and all(bar is not None and bar.opens_at > now + longest for bar in bars)

    def _opened(self, group: Group) -> None:
        self.waiting.woken(group)


def _never() -> float:
    return 1.0


def _client(request: Mapping[str, Any]) -> str:
    """Return whose request it is; clients without a key of their own are one.

    Some kinds of authentication leave the very key there, so only what it hashes to is kept.
    """
    for name in ("litellm_metadata", "metadata"):
        metadata = request.get(name)
        if metadata and isinstance(metadata, dict):
            found = metadata.get("user_api_key_hash") or metadata.get("user_api_key")
            if isinstance(found, str):
                if len(found) == HASH_DIGITS:
                    # LiteLLM's own hash.
                    return found
                return sha256(found.encode(errors="surrogatepass")).hexdigest()[:CLIENT_DIGITS]
    return ""
