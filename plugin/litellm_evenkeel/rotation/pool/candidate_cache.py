"""Cache from the deployment lists of requests to candidate sets.

LiteLLM makes a new list for every request, and since 1.110 new dictionaries as well, although the deployments in it
rarely change. Reading one deployment takes about 20 us, and even reading the ids of a thousand takes longer than a
pick. So a list is recognised by its model, its length and the ids of its first and last deployment. Then a few
deployments, in turn, and the picked one are compared with what was read of them before. If several lists have the same
ends, all ids are compared. The picked deployment always comes from the list of the request. Another deployment within
the list, or a changed one, is noticed when it would be picked, when no candidate is available, or after one request
for every `COMPARED_PER_REQUEST` candidates.

With a few accounts in each model group, the cache makes no measurable difference, however many groups there are. It
exists for groups of a thousand accounts: reading all of them makes a pick 250 times as long, and a proxy more than 5 %
slower. See reports/route_cache.md for the figures.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field
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

MAX_LISTS = 512
# Each request compares this many candidates, besides the picked one, with what was read of them.
COMPARED_PER_REQUEST = 8
# If no candidate is available, all of them are compared, but at most once in this time.
FULL_COMPARISON_SECONDS = 1.0
# A list without a request for this long, up to twice as long, is evicted: its deployments were deleted, or requests no
# longer use it.
IDLE_SECONDS = 600.0
# The clock is read once per this many requests.
REQUESTS_PER_CLOCK_READ = 256
# Maximum number of lists with the same model, length and ends.
MAX_SAME_ENDS = 16


@dataclass(slots=True, eq=False, repr=False)
class CachedCandidates:
    """A deployment list that was read, and its candidate set."""

    candidates: CandidateSet
    sources: list[Deployment]
    """The deployments that the candidates were read from, or newer ones that differ only in other fields."""
    filtered_by: tuple[FilterFields, ...]
    """Filter fields of each candidate."""
    fingerprint: int
    """Hash of all ids, in order."""
    is_used: bool = True
    next_compared: int = 0
    """Position of the candidate that is compared next."""
    compared_at: float = -math.inf
    """Time at which all candidates were compared last, by the pool's clock; `-inf` if never."""
    has_tags: bool = field(init=False)
    has_order: bool = field(init=False)

    def __post_init__(self) -> None:
        """Note whether LiteLLM's later filters apply to any candidate."""
        self.has_tags = any(is_tagged for is_tagged, _ in self.filtered_by)
        self.has_order = any(order is not None for _, order in self.filtered_by)


class CandidateCache:
    """Cache of candidate sets: the `max_lists` that were used last."""

    def __init__(
        self,
        pool: AccountPool,
        read_spec: Callable[[Deployment, str], DeploymentSpec],
        *,
        max_lists: int = MAX_LISTS,
    ) -> None:
        self._pool, self._read_spec, self._max_lists = pool, read_spec, max_lists
        self._by_ends: dict[Ends, list[CachedCandidates]] = {}
        self._ends_by_use: OrderedDict[CachedCandidates, Ends] = OrderedDict()
        """The ends of each list; the least recently used list is first."""
        self.hits = self.misses = 0
        self._next_eviction_at = pool.now() + IDLE_SECONDS

    def lookup(self, model: str, deployments: Sequence[Deployment]) -> CachedCandidates:
        """Return the candidates for a deployment list, which must not be empty."""
        same_ends = self._by_ends.get(_ends(model, deployments), ())
        fingerprint = _fingerprint(deployments) if len(same_ends) > 1 else None
        for cached in same_ends:
            is_other = cached.candidates.is_retired or (fingerprint is not None and fingerprint != cached.fingerprint)
            if not is_other and self._are_next_unchanged(cached, deployments):
                self.hits += 1
                return self._mark_used(cached, self.hits)
        return self.resolve(model, deployments)

    def resolve(self, model: str, deployments: Sequence[Deployment]) -> CachedCandidates:
        """Return the candidates for a deployment list after reading each deployment."""
        self.misses += 1
        ends, fingerprint = _ends(model, deployments), _fingerprint(deployments)
        specs = [self._read_spec(deployment, model) for deployment in deployments]
        filtered_by = tuple([_filter_fields(deployment) for deployment in deployments])
        for cached in self._by_ends.get(ends, ()):
            is_current = not cached.candidates.is_retired and cached.fingerprint == fingerprint
            is_unchanged = is_current and cached.filtered_by == filtered_by
            if is_unchanged and [state.spec for state in cached.candidates.deployments] == specs:
                cached.sources = _shared_sources(cached.candidates, deployments)
                return self._mark_used(cached, self.misses)
        candidates = self._pool.candidate_set(model, specs)
        sources = _shared_sources(candidates, deployments)
        cached = CachedCandidates(candidates, sources, filtered_by, fingerprint)
        same_ends = [
            other
            for other in self._by_ends.get(ends, ())
            if other.fingerprint != fingerprint and not other.candidates.is_retired
        ]
        self._by_ends[ends] = [cached, *same_ends]
        self._ends_by_use[cached] = ends
        if len(same_ends) >= MAX_SAME_ENDS:
            self._drop(same_ends[-1])
        while len(self._ends_by_use) > self._max_lists:
            self._drop(next(iter(self._ends_by_use)))
        self._evict_unused()
        return cached

    def matches_at(
        self, cached: CachedCandidates, deployments: Sequence[Deployment]
    ) -> Callable[[int, DeploymentState], bool]:
        """Return a function that checks whether the candidate at a position is unchanged in this list."""
        return lambda position, _state: self._is_unchanged(cached, position, deployments[position])

    def has_changed(self, cached: CachedCandidates, deployments: Sequence[Deployment]) -> bool:
        """Return whether any candidate has changed since it was read. It is checked before a request is rejected."""
        now = self._pool.now()
        if now - cached.compared_at < FULL_COMPARISON_SECONDS:
            return False
        cached.compared_at = now
        return not all(
            self._is_unchanged(cached, position, deployment) for position, deployment in enumerate(deployments)
        )

    def candidate_sets(self) -> list[CandidateSet]:
        """Return the candidate sets in the cache, without those that have been replaced."""
        return [cached.candidates for cached in self._ends_by_use if not cached.candidates.is_retired]

    def _are_next_unchanged(self, cached: CachedCandidates, deployments: Sequence[Deployment]) -> bool:
        """Compare the next few candidates, in turn, and return whether they are unchanged."""
        count = len(deployments)
        first = cached.next_compared if cached.next_compared < count else 0
        cached.next_compared = end = min(first + COMPARED_PER_REQUEST, count)
        # Two slices are compared in a fraction of the time that the loop takes.
        return cached.sources[first:end] == deployments[first:end] or all(
            self._is_unchanged(cached, position, deployments[position]) for position in range(first, end)
        )

    def _is_unchanged(self, cached: CachedCandidates, position: int, deployment: Deployment) -> bool:
        """Return whether a deployment still has the spec and filter fields that were read; other fields may differ."""
        source = cached.sources[position]
        if source is deployment or source == deployment:
            return True
        state = cached.candidates.deployments[position]
        is_unchanged = self._read_spec(deployment, cached.candidates.name) == state.spec
        if not is_unchanged or _filter_fields(deployment) != cached.filtered_by[position]:
            return False
        cached.sources[position] = _shared_source(state, deployment)
        return True

    def _mark_used(self, cached: CachedCandidates, count: int) -> CachedCandidates:
        """Mark a list as used, and now and then evict those that are not. `count` is the number of such uses."""
        cached.is_used = True
        self._ends_by_use.move_to_end(cached)
        if count % REQUESTS_PER_CLOCK_READ == 0:
            self._evict_unused()
        return cached

    def _evict_unused(self) -> None:
        """Evict the lists that were not used since the last eviction, at most once per `IDLE_SECONDS`."""
        now = self._pool.now()
        if now < self._next_eviction_at:
            return
        self._next_eviction_at = now + IDLE_SECONDS
        for cached in list(self._ends_by_use):
            if not cached.is_used:
                self._drop(cached)
            cached.is_used = False
        self._pool.evict_idle()

    def _drop(self, cached: CachedCandidates) -> None:
        ends = self._ends_by_use.pop(cached)
        remaining = [other for other in self._by_ends.get(ends, ()) if other is not cached]
        if remaining:
            self._by_ends[ends] = remaining
        else:
            self._by_ends.pop(ends, None)
        self._pool.retire(cached.candidates)


def _ids(deployments: Sequence[Deployment]) -> list[object]:
    try:
        return [deployment["model_info"]["id"] for deployment in deployments]
    except (KeyError, TypeError):
        # LiteLLM gives each deployment an id. Those without one are distinguished when their fields are compared.
        return [str((deployment.get("model_info") or {}).get("id") or "") for deployment in deployments]


def _fingerprint(deployments: Sequence[Deployment]) -> int:
    """Return a hash that distinguishes lists by their ids and order."""
    return hash(tuple(_ids(deployments)))


def _ends(model: str, deployments: Sequence[Deployment]) -> Ends:
    return model, len(deployments), *_ids([deployments[0], deployments[-1]])


def _shared_sources(candidates: CandidateSet, deployments: Sequence[Deployment]) -> list[Deployment]:
    """Return the deployments that the candidates were read from, shared with other lists."""
    return [_shared_source(*pair) for pair in zip(candidates.deployments, deployments, strict=True)]


def _shared_source(state: DeploymentState, deployment: Deployment) -> Deployment:
    """Return one object for equal deployments: LiteLLM may copy all of them for each request."""
    if state.litellm_deployment != deployment:
        state.litellm_deployment = deployment
    return state.litellm_deployment


def _filter_fields(deployment: Deployment) -> FilterFields:
    """Return whether a deployment has tags, and its `order`. LiteLLM filters by both after its plugins have run."""
    params, info = deployment.get("litellm_params") or {}, deployment.get("model_info") or {}
    is_tagged = bool(params.get("tags") or params.get("tag_regex") or info.get("enable_tag_filtering"))
    return is_tagged, params.get("order")
