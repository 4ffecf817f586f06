"""Requests of a load, with the parts of their latency: client, provider, proxy and stream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]
    Names = npt.NDArray[np.object_]

NS_PER_MS = 1e6
TIMES = ("intended_ns", "sent_ns", "first_token_ns", "end_ns", "mock_received_ns", "mock_sent_ns")
COLUMNS = ("step", *TIMES, "error", "retries", "user", "model_id")
# Maximum difference of the clocks that two processes of one machine read at the same time.
CLOCK_MS = 0.5
# If a larger share of the provider's times lies outside of their requests, the provider has another clock.
MAX_OUTSIDE = 0.05


@dataclass(frozen=True, eq=False)
class Requests:
    """Requests in the order in which they were due. Times are milliseconds since the first was due, NaN if unknown."""

    start_ns: int
    due: Numbers
    sent: Numbers
    first_token: Numbers
    end: Numbers
    received: Numbers
    """When the provider received the last attempt; `answered` is when it began to answer, both by the mock's clock."""
    answered: Numbers
    error: Names
    retries: Numbers
    user: Names
    deployment: Names

    @classmethod
    def of(cls, records: pa.Table) -> Requests:
        """Return the requests of the records of one step."""
        records = records.sort_by("intended_ns")
        start = int(records["intended_ns"][0].as_py()) if len(records) else 0

        def since(name: str) -> Numbers:
            # Subtract integers, because a float is too coarse for nanoseconds since 1970.
            return _floats(pc.subtract(records[name], pa.scalar(start, pa.int64()))) / NS_PER_MS

        return cls(
            start_ns=start,
            due=since("intended_ns"),
            sent=since("sent_ns"),
            first_token=since("first_token_ns"),
            end=since("end_ns"),
            received=since("mock_received_ns"),
            answered=since("mock_sent_ns"),
            error=records["error"].to_numpy(),
            retries=np.nan_to_num(_floats(records["retries"])),
            user=records["user"].to_numpy(),
            deployment=records["model_id"].to_numpy(),
        )

    def __len__(self) -> int:
        return len(self.due)

    @cached_property
    def ok(self) -> Flags:
        """Mask of the requests that succeeded."""
        return is_none(self.error)

    @property
    def latency(self) -> Numbers:
        """Time from when a request was due to its end."""
        return self.end - self.due

    @property
    def wait(self) -> Numbers:
        """Time that a request waited in the client."""
        return self.sent - self.due

    @cached_property
    def arrived(self) -> Numbers:
        """When the answer, or the first token of a stream, arrived."""
        return np.where(np.isnan(self.first_token), self.end, self.first_token)

    @property
    def upstream(self) -> Numbers:
        """Time until the provider sent its answer or its first chunk."""
        return self.answered - self.received

    @cached_property
    def proxy(self) -> Numbers:
        """Time between client and provider, in both directions."""
        return self.arrived - self.sent - self.upstream

    @property
    def stream(self) -> Numbers:
        """Time from a stream's first token to its end. The provider or the proxy may be what limits its speed."""
        return self.end - self.arrived

    @cached_property
    def known(self) -> Flags:
        """Mask of successful requests with known parts. Cached answers carry the times of another request."""
        return self.ok & (self.upstream >= 0) & (self.proxy >= -CLOCK_MS)

    @cached_property
    def one_clock(self) -> bool:
        """Whether provider and client share a clock."""
        early = self.received < self.sent - CLOCK_MS
        late = self.answered > self.arrived + CLOCK_MS
        known = self.known
        return bool(known.any()) and float((early | late)[known].mean()) <= MAX_OUTSIDE

    @property
    def span(self) -> float:
        """Time from the first request that was due to the last answer."""
        return float(self.end.max()) if len(self) else 0.0


def is_none(names: Names) -> Flags:
    """Return which names are `None`."""
    return np.fromiter((name is None for name in names), dtype=bool, count=len(names))


def _floats(column: Any) -> Numbers:
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
