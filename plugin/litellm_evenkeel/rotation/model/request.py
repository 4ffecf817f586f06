"""A request, as far as it matters for the choice of an account."""

from __future__ import annotations

from typing import NamedTuple


class Usage(NamedTuple):
    """So much of each unit, in the order of `limits.COUNTED`."""

    requests: float = 1.0
    tokens: float = 0.0
    dollars: float = 0.0


TYPICAL_USAGE = Usage(1.0, 1000.0)
"""What deployments are compared with: one request of a usual size."""
SINGLE_REQUEST = Usage()
"""One request of which nothing is known."""


class PickRequest(NamedTuple):
    """What is asked for."""

    usage: Usage = SINGLE_REQUEST
    excluded: frozenset[str] = frozenset()
    """The deployments at which this very request has failed."""
    preferred_account: str | None = None
    """The account at which the session is pinned."""
    is_stream: bool = False
    client: str = ""
    """Whose request it is."""
    is_final_try: bool = False
    """Whether it has waited, and would be refused otherwise."""
    ignores_leases: bool = False
    """Whether leases count as granted: an explanation looks at what is left for all workers."""
