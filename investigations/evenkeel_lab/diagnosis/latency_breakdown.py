"""Latency of requests split into its parts, for a load and for each tenth of its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.diagnosis.concurrency import in_flight
from evenkeel_load.analysis.statistics import Spread, spread

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.requests import Flags, Requests

TENTHS = 10
MS = 1000.0


@dataclass(frozen=True)
class Split:
    """Requests sent in a period and the parts of their latency. A part is `None` if the records do not tell it."""

    begin: float
    """Seconds since the first request was due."""
    end: float
    requests: int
    failed: int
    answered: float
    """Ended requests per second."""
    in_flight: float
    latency: Spread | None
    """Latency of successful requests; only of those with known parts if these are the majority."""
    wait: Spread | None
    upstream: Spread | None
    proxy: Spread | None
    stream: Spread | None

    @property
    def is_upstream_known(self) -> bool:
        """Whether the provider's part is known."""
        return self.upstream is not None

    @property
    def rate(self) -> float:
        """Requests per second among those counted in `latency`."""
        seconds = self.end - self.begin
        return self.latency.count / seconds if self.latency and seconds > 0 else 0.0

    @property
    def inside(self) -> float:
        """Mean number of these requests inside the proxy, by Little's law."""
        return self.rate * self.mean("proxy") / MS

    def share(self, part: str) -> float:
        """Return the share of a part in the latency; 0 if unknown."""
        spread: Spread | None = getattr(self, part)
        return spread.mean / self.latency.mean if spread and self.latency and self.latency.mean > 0 else 0.0

    def mean(self, part: str) -> float:
        """Return the mean of a part in milliseconds; 0 if unknown."""
        spread: Spread | None = getattr(self, part)
        return spread.mean if spread else 0.0


def split_of(requests: Requests) -> Split:
    """Split the latency of all requests."""
    return _split(requests, np.ones(len(requests), dtype=bool), 0.0, requests.span)


def tenths(requests: Requests) -> tuple[Split, ...]:
    """Split the latency of each tenth of a load's time."""
    if requests.span <= 0:
        return ()
    edges = np.linspace(0.0, requests.span, TENTHS + 1)
    # A request that was sent at the very end belongs to the last tenth.
    index = np.minimum(np.searchsorted(edges, requests.sent, side="right") - 1, TENTHS - 1)
    return tuple(
        _split(requests, index == number, float(edges[number]), float(edges[number + 1])) for number in range(TENTHS)
    )


def _split(requests: Requests, among: Flags, begin: float, end: float) -> Split:
    good = among & requests.ok
    known = among & requests.known
    # A minority with known parts does not represent the others.
    is_upstream_known = bool(known.any()) and 2 * known.sum() >= good.sum()
    chosen = known if is_upstream_known else good
    ended = (requests.end > begin) & (requests.end <= end)
    seconds = (end - begin) / MS
    inside = in_flight(requests.due, requests.end, np.array([begin, end])) if end > begin else np.zeros(1)
    has_streams = bool((~np.isnan(requests.first_token[chosen])).any())
    return Split(
        begin / MS,
        end / MS,
        int(among.sum()),
        int((among & ~requests.ok).sum()),
        float(ended.sum()) / seconds if seconds else 0.0,
        float(inside[0]),
        spread(requests.latency[chosen]),
        spread(requests.wait[chosen]),
        spread(requests.upstream[chosen]) if is_upstream_known else None,
        spread(requests.proxy[chosen]) if is_upstream_known else None,
        spread(requests.stream[chosen]) if has_streams else None,
    )
