"""The part of a request that matters for the pick."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Usage(NamedTuple):
    """Usage in each unit, in the order of `limits.COUNTED`."""

    requests: float = 1.0
    tokens: float = 0.0
    dollars: float = 0.0


TYPICAL_USAGE = Usage(1.0, 1000.0)
"""Usage of one request of typical size, with which deployments are compared."""
SINGLE_REQUEST = Usage()
"""Usage of one request of unknown size."""
NO_USAGE = Usage(0.0, 0.0, 0.0)


class Probes(IntEnum):
    """Which probes a request may be. A probe may fail, and uses one of the request's attempts."""

    NONE = 0
    """None: it gets an account that works."""
    AFTER_COOLDOWN = 1
    """The probe of an account whose cooldown is over."""
    ANY = 2
    """Also the probe of an account whose cooldown is only an estimate."""


class PickRequest(NamedTuple):
    """Request for a pick."""

    usage: Usage = SINGLE_REQUEST
    excluded: frozenset[str] = frozenset()
    """Ids of the deployments at which this request has failed before."""
    preferred_account: str | None = None
    """Account that the session is pinned to; `None` without a pin, or if the request does not follow it."""
    fallback_account: str | None = None
    """Account that the session uses while its own is unavailable; `None` without one."""
    is_stream: bool = False
    client: str = ""
    """Client that sent the request; empty if unknown."""
    is_final_try: bool = False
    """Whether the queue timeout is over, so that the request is rejected if nothing is picked."""
    ignores_leases: bool = False
    """Whether leases count as granted: an explanation looks at what is left for all workers."""
    probes: Probes = Probes.ANY
    """Which probes it may be. A final try may be any."""
