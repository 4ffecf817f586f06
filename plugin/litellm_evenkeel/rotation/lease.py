"""What a request that is under way has reserved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.need import Need
    from litellm_evenkeel.rotation.place import Place


class Lease:
    """One attempt at one place, until it is settled, has failed or was forgotten."""

    __slots__ = ("answered", "began", "client", "is_open", "is_stream", "is_taught", "kept", "need", "place", "until")

    def __init__(
        self, place: Place, need: Need, began: float, until: float, client: str = "", *, is_stream: bool
    ) -> None:
        self.client = client
        """Whose request it is."""
        self.place, self.need, self.began, self.until, self.is_stream = place, need, began, until, is_stream
        self.is_open = True
        self.answered: float | None = None
        """When its stream began."""
        self.is_taught = False
        """Whether its stream's beginning has told of the limits."""
        self.kept: Need | None = None
        """What still counts of it after nothing was heard of it for too long; None if its end is known."""
