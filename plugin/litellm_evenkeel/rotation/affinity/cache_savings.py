"""Benefit of session affinity: the prompt tokens that providers read from their caches because of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SessionOutcome(StrEnum):
    """Outcome of a pick for a request with a session."""

    HIT = "hit"
    """The request went to the account of the session's pin."""
    NEW = "new"
    """The session had no pin."""
    FALLBACK = "fallback"
    """The request went to a fallback account; the pin remains."""
    MOVED = "moved"
    """The request went to another account, and the pin moved there."""


@dataclass(frozen=True, slots=True)
class CachedPrompts:
    """Prompt tokens of a number of requests, and how many of them were cached."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0

    @property
    def share(self) -> float | None:
        """Share of the prompt tokens that were cached; `None` without any prompt tokens."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else None


@dataclass(frozen=True, slots=True)
class CacheSavings:
    """Cached prompt tokens of requests that went to their pinned account, and of those that did not."""

    hits: CachedPrompts
    misses: CachedPrompts
    """Mostly first requests of a session, whose own history cannot be in any cache yet."""
    away: CachedPrompts
    """Fallbacks and moves: later requests of a session at another account. They show the share without a pin."""

    @property
    def saved_over_new(self) -> float | None:
        """Cached tokens of hits beyond the share that misses have; negative if pins did harm.

        `None` while one of the two has no prompt tokens. The figure is too favorable, as little of a session's first
        request can be cached in any case.
        """
        return _gained(self.hits, self.misses)

    @property
    def saved_over_moved(self) -> float | None:
        """As `saved_over_new`, compared with `away`: fewer requests, but the fairer comparison."""
        return _gained(self.hits, self.away)


class CacheSavingsCounter:
    """Sums of prompt tokens and cached tokens, by outcome."""

    __slots__ = ("_totals",)

    def __init__(self) -> None:
        self._totals = {outcome: [0, 0, 0] for outcome in SessionOutcome}

    def observe(self, outcome: SessionOutcome, prompt_tokens: int, cached_tokens: int) -> None:
        """Count an answered request: its prompt tokens, and how many of them came from a cache."""
        if prompt_tokens <= 0:
            return
        totals = self._totals[outcome]
        totals[0] += 1
        totals[1] += prompt_tokens
        # Some providers count cached tokens in addition to prompt tokens rather than as a part of them.
        totals[2] += min(max(cached_tokens, 0), prompt_tokens)

    def savings(self) -> CacheSavings:
        """Return the sums."""
        fallbacks, moved = self._totals[SessionOutcome.FALLBACK], self._totals[SessionOutcome.MOVED]
        away = (sum(pair) for pair in zip(fallbacks, moved, strict=True))
        return CacheSavings(
            CachedPrompts(*self._totals[SessionOutcome.HIT]),
            CachedPrompts(*self._totals[SessionOutcome.NEW]),
            CachedPrompts(*away),
        )


def _gained(with_pin: CachedPrompts, without: CachedPrompts) -> float | None:
    if with_pin.share is None or without.share is None:
        return None
    return with_pin.cached_tokens - with_pin.prompt_tokens * without.share
