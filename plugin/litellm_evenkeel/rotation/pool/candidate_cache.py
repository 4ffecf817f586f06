"""The candidate lists of requests, recognised by the ids of their deployments.

LiteLLM makes a new list for every request, and since 1.110 new dictionaries as well, while the deployments in it are
the same again and again. Reading one deployment takes some 20 us, and even looking at the ids of a thousand takes
longer than a pick. So a list is recognised by its model, its length and the ids of its ends; then a few deployments,
in turn, and the chosen one are compared with what was read of them. Where two lists have the same ends, all ids are
compared. What is returned is always of the very list; another deployment in its midst, or a changed one, is noticed
when it would be chosen, when none could be chosen, or after a request for every `IN_TURN` candidates.

With a few accounts in each group, however many groups, nobody would notice if it were gone. It is here for groups of
a thousand accounts, where looking through all of them makes a pick 250 times as long, and a proxy slower by more than
a twentieth: reports/route_cache.md has the figures.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

    Deployment = Mapping[str, Any]
    Ends = tuple[object, ...]
    FilterFields = tuple[bool, object]

MOST = 512
# How many candidates each request compares, beside the chosen one, with what was read of them.
IN_TURN = 8
# Where none can be chosen, all are compared, but not more often than once in so many seconds.
COMPARED_EVERY_SECONDS = 1.0
# A list that nobody has asked for in so many seconds, or in twice that, is none any more: what stood only there was
# deleted, or is asked for no more.
IDLE_SECONDS = 600.0
# After so many requests, the clock is looked at.
EACH = 256
# So many of them may have the same ends.
MOST_ALIKE = 16


class CachedCandidates:
    """A list of candidates that was read, and the group that it is."""

    __slots__ = (
        "candidates",
        "compared_at",
        "filtered_by",
        "fingerprint",
        "has_order",
        "has_tags",
        "is_used",
        "next_compared",
    )

    def __init__(self, candidates: CandidateSet, filtered_by: Sequence[FilterFields], fingerprint: int) -> None:
        self.candidates = candidates
        self.fingerprint = fingerprint
        """Of all its ids."""
        self.filtered_by = tuple(filtered_by)
        """What was read of each candidate when this list was read: another list with the same one may be newer."""
        self.has_tags = any(is_tagged for is_tagged, _ in filtered_by)
        self.has_order = any(order is not None for _, order in filtered_by)
        self.is_used = True
        self.next_compared = 0
        """The candidate that is compared next with what was read of it."""
        self.compared_at = -math.inf
        """When all of them were compared last, by the pool's clock."""


class CandidateCache:
    """The groups that are known: the latest `most` of them.

    With `is_cached` off nothing is believed of a list that was seen before: each is looked through, deployment by
    deployment, to learn that it still is that group.
    """

    def __init__(
        self,
        pool: AccountPool,
        seat: Callable[[Deployment, str], DeploymentSpec],
        *,
        is_cached: bool = True,
        most: int = MOST,
    ) -> None:
        self._pool, self._seat, self._most, self._is_cached = pool, seat, most, is_cached
        self._by_ends: dict[Ends, list[CachedCandidates]] = {}
        self._latest: OrderedDict[CachedCandidates, Ends] = OrderedDict()
        self.hits = self.misses = 0
        self._sweeps_at = pool.now() + IDLE_SECONDS

    def lookup(self, model: str, deployments: Sequence[Deployment]) -> CachedCandidates:
        """Return what is known of a list of candidates that is not empty."""
        alike = self._by_ends.get(_ends(model, deployments), ()) if self._is_cached else ()
        fingerprint = _fingerprint(deployments) if len(alike) > 1 else None
        for cached in alike:
            is_other = cached.candidates.is_retired or (fingerprint is not None and fingerprint != cached.fingerprint)
            if not is_other and self._are_next_unchanged(cached, deployments):
                self.hits += 1
                return self._mark_used(cached, self.hits)
        return self.resolve(model, deployments)

    def resolve(self, model: str, deployments: Sequence[Deployment]) -> CachedCandidates:
        """Return the same after reading each of them."""
        self.misses += 1
        ends, fingerprint = _ends(model, deployments), _fingerprint(deployments)
        specs = [self._seat(one, model) for one in deployments]
        filtered_by = [_filter_fields(one) for one in deployments]
        for cached in self._by_ends.get(ends, ()):
            is_same = not cached.candidates.is_retired and cached.fingerprint == fingerprint
            if is_same and _is_equal(cached, specs, filtered_by):
                _remember_sources(cached.candidates, deployments, filtered_by)
                return self._mark_used(cached, self.misses)
        candidates = self._pool.candidate_set(model, specs)
        _remember_sources(candidates, deployments, filtered_by)
        cached = CachedCandidates(candidates, filtered_by, fingerprint)
        alike = [
            one
            for one in self._by_ends.get(ends, ())
            if one.fingerprint != fingerprint and not one.candidates.is_retired
        ]
        self._by_ends[ends] = [cached, *alike]
        self._latest[cached] = ends
        if len(alike) >= MOST_ALIKE:
            self._drop(alike[-1])
        while len(self._latest) > self._most:
            self._drop(next(iter(self._latest)))
        self._evict_unused()
        return cached

    def matches_at(
        self, cached: CachedCandidates, deployments: Sequence[Deployment]
    ) -> Callable[[int, DeploymentState], bool]:
        """Return what tells whether the candidate at a position is, in this list, still as it was read."""
        return lambda position, _place: self._is_unchanged(cached, position, deployments[position])

    def has_changed(self, cached: CachedCandidates, deployments: Sequence[Deployment]) -> bool:
        """Return whether any candidate is not as it was read: looked for before a request is refused."""
        now = self._pool.now()
        if now - cached.compared_at < COMPARED_EVERY_SECONDS:
            return False
        cached.compared_at = now
        return not all(self._is_unchanged(cached, position, one) for position, one in enumerate(deployments))

    def candidate_sets(self) -> list[CandidateSet]:
        """Return all groups that are known."""
        return [cached.candidates for cached in self._latest]

    def _are_next_unchanged(self, cached: CachedCandidates, deployments: Sequence[Deployment]) -> bool:
        number = len(deployments)
        first = cached.next_compared if cached.next_compared < number else 0
        cached.next_compared = last = min(first + IN_TURN, number)
        return all(self._is_unchanged(cached, position, deployments[position]) for position in range(first, last))

    def _is_unchanged(self, cached: CachedCandidates, position: int, deployment: Deployment) -> bool:
        """Return whether a deployment says what was read of it, perhaps in other words."""
        state = cached.candidates.deployments[position]
        source = state.litellm_deployment
        if source is not deployment and source != deployment:
            if source is None or self._seat(deployment, cached.candidates.name) != state.spec:
                return False
            state.litellm_deployment, state.filter_fields = deployment, _filter_fields(deployment)
        return state.filter_fields == cached.filtered_by[position]

    def _mark_used(self, cached: CachedCandidates, count: int) -> CachedCandidates:
        """Keep one that was asked for again, and at each so many of these let others go."""
        cached.is_used = True
        self._latest.move_to_end(cached)
        if count % EACH == 0:
            self._evict_unused()
        return cached

    def _evict_unused(self) -> None:
        """Let go what nobody has asked for since the last time."""
        now = self._pool.now()
        if now < self._sweeps_at:
            return
        self._sweeps_at = now + IDLE_SECONDS
        for cached in list(self._latest):
            if not cached.is_used:
                self._drop(cached)
            cached.is_used = False
        self._pool.evict_idle()

    def _drop(self, cached: CachedCandidates) -> None:
        ends = self._latest.pop(cached)
        alike = [one for one in self._by_ends.get(ends, ()) if one is not cached]
        if alike:
            self._by_ends[ends] = alike
        else:
            self._by_ends.pop(ends, None)
        self._pool.retire(cached.candidates)


def _ids(deployments: Sequence[Deployment]) -> list[object]:
    try:
        return [one["model_info"]["id"] for one in deployments]
    except (KeyError, TypeError):
        # LiteLLM gives each an id; what has none is told apart by what it says.
        return [str((one.get("model_info") or {}).get("id") or "") for one in deployments]


def _fingerprint(deployments: Sequence[Deployment]) -> int:
    """Return what tells lists of other ids, or of another order, apart."""
    return hash(tuple(_ids(deployments)))


def _ends(model: str, deployments: Sequence[Deployment]) -> Ends:
    return model, len(deployments), *_ids([deployments[0], deployments[-1]])


def _is_equal(cached: CachedCandidates, specs: Sequence[DeploymentSpec], filtered_by: Sequence[FilterFields]) -> bool:
    """Return whether a list that was read anew says what is known of it, perhaps in other words."""
    return [deployment.spec for deployment in cached.candidates.deployments] == specs and cached.filtered_by == tuple(
        filtered_by
    )


def _remember_sources(
    candidates: CandidateSet, deployments: Sequence[Deployment], filtered_by: Sequence[FilterFields]
) -> None:
    """Keep of each candidate what was read of it."""
    for state, deployment, by in zip(candidates.deployments, deployments, filtered_by, strict=True):
        if state.litellm_deployment != deployment:
            state.litellm_deployment = deployment
        state.filter_fields = by


def _filter_fields(deployment: Deployment) -> FilterFields:
    """Return whether a deployment has tags, and its order: by these LiteLLM filters after its plugins."""
    params, info = deployment.get("litellm_params") or {}, deployment.get("model_info") or {}
    is_tagged = bool(params.get("tags") or params.get("tag_regex") or info.get("enable_tag_filtering"))
    return is_tagged, params.get("order")
