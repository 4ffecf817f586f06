"""What a request takes of an account's limits: reckoned before it is sent, known when it has been answered."""

from __future__ import annotations

from typing import NamedTuple


class Usage(NamedTuple):
    """So much of each unit, in the order of `limits.COUNTED`."""

    requests: float = 1.0
    tokens: float = 0.0
    dollars: float = 0.0


SINGLE_REQUEST = Usage()
"""One request of which nothing is known."""
