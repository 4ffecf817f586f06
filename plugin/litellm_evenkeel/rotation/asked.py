"""A request, as far as it matters for the choice of an account."""

from __future__ import annotations

from typing import NamedTuple

from litellm_evenkeel.rotation.need import ONE, Need


class Asked(NamedTuple):
    """What is asked for."""

    need: Need = ONE
    tried: frozenset[str] = frozenset()
    """The deployments at which this very request has failed."""
    prefer: str | None = None
    """The account at which the session is pinned."""
    is_stream: bool = False
    client: str = ""
    """Whose request it is."""
    presses: bool = False
    """Whether it has waited, and would be refused otherwise."""
