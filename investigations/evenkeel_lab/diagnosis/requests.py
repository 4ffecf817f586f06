"""Every request of a load, taken apart: waiting in the client, at the provider, in the proxy, and as a stream."""

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
# What two processes of one machine may read at the same moment.
CLOCK_MS = 0.5
# How many of the provider's times may lie outside of their requests before its clock is another one.
MOST_OUTSIDE = 0.05


@dataclass(frozen=True, eq=False)
class Requests:
    """All of them, in the order in which they were due; milliseconds since the first was, NaN for what never came."""

    start_ns: int
    due: Numbers
    sent: Numbers
    first_token: Numbers
    end: Numbers
    received: Numbers
    """By the provider; with `answered`, the mock's own times, of its last attempt."""
    answered: Numbers
    error: Names
    retries: Numbers
    user: Names
    deployment: Names

    @classmethod
    def of(cls, records: pa.Table) -> Requests:
        """Take in the records of one step."""
        records = records.sort_by("intended_ns")
        start = int(records["intended_ns"][0].as_py()) if len(records) else 0

        def since(name: str) -> Numbers:
            # Subtracted while they are whole numbers: a float cannot tell today's nanoseconds apart.
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
        """Which went well."""
        return is_none(self.error)

    @property
    def latency(self) -> Numbers:
        """From when it was due."""
        return self.end - self.due

    @property
    def wait(self) -> Numbers:
        """What it waited in the client."""
        return self.sent - self.due

    @cached_property
    def arrived(self) -> Numbers:
        """When the answer was there, or a stream's first token."""
        return np.where(np.isnan(self.first_token), self.end, self.first_token)

    @property
    def upstream(self) -> Numbers:
        """What the provider took, until its answer, or its first chunk, was sent."""
        return self.answered - self.received

    @cached_property
    def proxy(self) -> Numbers:
        """What lies between client and provider."""
        return self.arrived - self.sent - self.upstream

    @property
    def stream(self) -> Numbers:
        """From a stream's first token to its end: at the provider's pace, or at that of a proxy that passes it on."""
        return self.end - self.arrived

    @cached_property
    def known(self) -> Flags:
        """Which of those that went well can be taken apart: an answer out of a cache tells of another request."""
        return self.ok & (self.upstream >= 0) & (self.proxy >= -CLOCK_MS)

    @cached_property
    def one_clock(self) -> bool:
        """Whether the provider's clock is the client's."""
        early = self.received < self.sent - CLOCK_MS
        late = self.answered > self.arrived + CLOCK_MS
        known = self.known
        return bool(known.any()) and float((early | late)[known].mean()) <= MOST_OUTSIDE

    @property
    def span(self) -> float:
        """From the first that was due to the last answer."""
        return float(self.end.max()) if len(self) else 0.0


def is_none(names: Names) -> Flags:
    """Say which of some names are missing."""
    return np.fromiter((name is None for name in names), dtype=bool, count=len(names))


def _floats(column: Any) -> Numbers:
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
