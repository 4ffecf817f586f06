"""Where the time of requests went, over a load and over each tenth of it."""

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
    """The requests that were sent in a period, and what became of their time; None where the records do not say."""

    begin: float
    """In seconds since the first was due."""
    end: float
    requests: int
    failed: int
    answered: float
    """So many a second came to their end."""
    in_flight: float
    latency: Spread | None
    """Of those that went well, and can be taken apart where most of them can."""
    wait: Spread | None
    upstream: Spread | None
    proxy: Spread | None
    stream: Spread | None

    @property
    def is_told(self) -> bool:
        """Whether the provider's time is known."""
        return self.upstream is not None

    @property
    def rate(self) -> float:
        """Requests a second that went well, of those that are taken apart."""
        seconds = self.end - self.begin
        return self.latency.count / seconds if self.latency and seconds > 0 else 0.0

    @property
    def inside(self) -> float:
        """How many of them were inside the proxy at once, by Little's law."""
        return self.rate * self.mean("proxy") / MS

    def share(self, part: str) -> float:
        """Return which share of the latency a part is."""
        found: Spread | None = getattr(self, part)
        return found.mean / self.latency.mean if found and self.latency and self.latency.mean > 0 else 0.0

    def mean(self, part: str) -> float:
        """Return what a part takes in the mean, in milliseconds."""
        found: Spread | None = getattr(self, part)
        return found.mean if found else 0.0


def whole(requests: Requests) -> Split:
    """Take a load apart."""
    return _split(requests, np.ones(len(requests), dtype=bool), 0.0, requests.span)


def tenths(requests: Requests) -> tuple[Split, ...]:
    """Take each tenth of a load apart."""
    if requests.span <= 0:
        return ()
    edges = np.linspace(0.0, requests.span, TENTHS + 1)
    # One may have been sent at the very end.
    index = np.minimum(np.searchsorted(edges, requests.sent, side="right") - 1, TENTHS - 1)
    return tuple(
        _split(requests, index == number, float(edges[number]), float(edges[number + 1])) for number in range(TENTHS)
    )


def _split(requests: Requests, among: Flags, begin: float, end: float) -> Split:
    good = among & requests.ok
    known = among & requests.known
    # Which of them can be taken apart is no accident: a minority would say nothing of the rest.
    is_told = bool(known.any()) and 2 * known.sum() >= good.sum()
    chosen = known if is_told else good
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
        spread(requests.upstream[chosen]) if is_told else None,
        spread(requests.proxy[chosen]) if is_told else None,
        spread(requests.stream[chosen]) if has_streams else None,
    )
