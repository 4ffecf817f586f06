"""What sticking to accounts is worth: the prompt tokens that providers found in their caches because of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SessionOutcome(StrEnum):
    """What became of a request of a session."""

    HIT = "hit"
    """It went where its session is pinned."""
    NEW = "miss"
    """Its session was pinned to nobody."""
    FALLBACK = "escape"
    """It went elsewhere, and its session will come back."""
    MOVED = "repin"
    """It went elsewhere, and its session with it."""


@dataclass(frozen=True, slots=True)
class CachedPrompts:
    """How much of some requests' prompts was found in a cache."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0

    @property
    def share(self) -> float | None:
        """Which share of their tokens it was; None if there were none."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else None


@dataclass(frozen=True, slots=True)
class CacheSavings:
    """What was found in caches by requests that went to their pinned account, and by those that did not."""

    hits: CachedPrompts
    misses: CachedPrompts
    """First requests of a session, for the most part: of their own history nothing can be in any cache."""
    away: CachedPrompts
    """Escapes and re-pins: sessions under way that went elsewhere. What hits would have found without a pin."""

    @property
    def gained_over_misses(self) -> float | None:
        """Tokens that hits found and that as many tokens of misses would not have; below zero if pins did harm.

        None while nothing is known of one of the two. It flatters: a session's first request finds little anyway.
        """
        return _gained(self.hits, self.misses)

    @property
    def gained_over_away(self) -> float | None:
        """The same, against sessions under way that went elsewhere: fewer requests, and the fairer comparison."""
        return _gained(self.hits, self.away)


class CacheSavingsCounter:
    """Adds up what requests found in caches."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told = {outcome: [0, 0, 0] for outcome in SessionOutcome}

    def observe(self, outcome: SessionOutcome, prompt_tokens: int, cached_tokens: int) -> None:
        """Count an answered request: what its provider read, and how much of that came from a cache."""
        if prompt_tokens <= 0:
            return
        told = self._told[outcome]
        told[0] += 1
        told[1] += prompt_tokens
        # Some providers count cached tokens beside the others instead of among them.
        told[2] += min(max(cached_tokens, 0), prompt_tokens)

    def savings(self) -> CacheSavings:
        """Return what it has come to."""
        escapes, repins = self._told[SessionOutcome.FALLBACK], self._told[SessionOutcome.MOVED]
        away = (one + other for one, other in zip(escapes, repins, strict=True))
        return CacheSavings(
            CachedPrompts(*self._told[SessionOutcome.HIT]),
            CachedPrompts(*self._told[SessionOutcome.NEW]),
            CachedPrompts(*away),
        )


def _gained(with_pin: CachedPrompts, without: CachedPrompts) -> float | None:
    if with_pin.share is None or without.share is None:
        return None
    return with_pin.cached_tokens - with_pin.prompt_tokens * without.share
