"""Durations and lengths of answers, drawn from the seed and the request key alone."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import NamedTuple

from evenkeel_mock.parsing import fields
from evenkeel_mock.timing.distribution_syntax import Read, parse as parse_distribution, read_file
from evenkeel_mock.timing.distributions import Constant, Distribution
from evenkeel_mock.timing.draws import uniform, uniforms

SECONDS = 0.001
AT_ONCE = Constant(0)
DEFAULT_LENGTH = Constant(8)
# A provider's prompt cache saves most of the prefill, which is most of the wait for the first token.
DEFAULT_SAVING = 0.8
# What a draw without an upper end may come to.
MOST_TOKENS = 100_000
SETTINGS = ("ttft_ms", "gap_ms", "length", "cache_saving", "servers")


class Plan(NamedTuple):
    """One answer's times, in seconds, and its length."""

    ttft: float
    gaps: tuple[float, ...] | float
    """The wait before each token, 0 before the first; or the one wait before each but the first."""
    tokens: int
    cut: bool
    """Whether the answer would have been longer than the request allows."""

    def waits(self, count: int) -> tuple[float, ...] | float:
        """Return the gaps of an answer of that many pieces.

        It may have more than were drawn, because it says what it has to: then they come round again.
        """
        gaps = self.gaps
        if isinstance(gaps, float) or len(gaps) == count:
            return gaps
        return _again(gaps, count)

    def duration(self, count: int) -> float:
        """Return the time from the start to the last of that many pieces."""
        gaps = self.gaps
        if isinstance(gaps, float):
            return self.ttft + gaps * (count - 1) if count > 1 else self.ttft
        return self.ttft + sum(gaps if len(gaps) == count else _again(gaps, count))


def _again(gaps: tuple[float, ...], count: int) -> tuple[float, ...]:
    return (0.0, *islice(cycle(gaps[1:] or (0.0,)), max(0, count - 1)))


@dataclass(frozen=True)
class Latency:
    """Distributions of the times and lengths of answers."""

    ttft_ms: Distribution = AT_ONCE
    gap_ms: Distribution = AT_ONCE
    length: Distribution = DEFAULT_LENGTH
    cache_saving: float = DEFAULT_SAVING
    """The share of the time to first token that a prompt wholly in the cache saves."""
    servers: int = 0
    """Concurrent answers of each worker process; 0 if unlimited. See `Queue`."""
    # The constants among them: a draw of which nothing depends is not made.
    _ttft: float | None = field(init=False, repr=False, compare=False)
    _gap: float | None = field(init=False, repr=False, compare=False)
    _length: float | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, distribution in (("_ttft", self.ttft_ms), ("_gap", self.gap_ms), ("_length", self.length)):
            object.__setattr__(self, name, distribution.value if isinstance(distribution, Constant) else None)

    def plan(self, seed: int, key: bytes, max_tokens: int | None = None, cached_share: float = 0.0) -> Plan:
        """Return the times of the answer to the request with that key.

        A cached prompt and a limit of tokens change nothing but what they are about: the draws stay the same.
        """
        ttft = self._ttft
        if ttft is None:
            ttft = self.ttft_ms.at(uniform(seed, key, b"ttft"))
        ttft *= SECONDS * (1 - self.cache_saving * cached_share)
        length = self._length
        if length is None:
            length = self.length.at(uniform(seed, key, b"length"))
        tokens = min(int(length + 0.5), MOST_TOKENS) or 1
        cut = max_tokens is not None and tokens > max_tokens
        if cut and max_tokens is not None:
            tokens = max_tokens
        gap = self._gap
        if gap is not None:
            return Plan(ttft, gap * SECONDS, tokens, cut)
        at = self.gap_ms.at
        waits = [at(u) * SECONDS for u in uniforms(seed, key, b"gap", tokens - 1)]
        return Plan(ttft, (0.0, *waits), tokens, cut)


class Queue:
    """N servers and one line in front of them: how long a request waits because others came before it.

    Since an answer's duration is known from the start, so is when each server will be free again: a request takes the
    one that is free first. First come, first served, exact for the requests of one worker process; W workers have W
    queues of N servers each. A client that leaves early keeps its server until its answer would have ended.
    """

    def __init__(self, servers: int) -> None:
        self._free_at = [0.0] * servers

    def enter(self, now: float, duration: float) -> float:
        """Take a server for that long, and return how long to wait until it is free."""
        free_at = self._free_at
        if not free_at:
            return 0.0
        start = max(now, free_at[0])
        heapq.heapreplace(free_at, start + duration)
        return start - now


def parse(value: object, where: str = "latency", *, read: Read = read_file) -> Latency:
    """Return the latency model that a mapping of the settings describes."""
    given = dict(fields.mapping(value, SETTINGS, where))
    saving = fields.number(given.pop("cache_saving", DEFAULT_SAVING), f"{where}: cache_saving", most=1)
    servers = fields.integer(given.pop("servers", 0), f"{where}: servers", least=0, most=1_000_000)
    drawn = {name: parse_distribution(text, f"{where}: {name}", read=read) for name, text in given.items()}
    return Latency(**drawn, cache_saving=saving, servers=servers)
