"""What a request that is under way has reserved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.need import Usage
    from litellm_evenkeel.rotation.place import DeploymentState


class Reservation:
    """One attempt at one place, until it is settled, has failed or was forgotten."""

    __slots__ = (
        "client",
        "counted_after_expiry",
        "deployment",
        "expires_at",
        "has_readings",
        "is_open",
        "is_stream",
        "started_at",
        "stream_started_at",
        "usage",
    )

    def __init__(
        self,
        deployment: DeploymentState,
        usage: Usage,
        began: float,
        until: float,
        client: str = "",
        *,
        is_stream: bool,
    ) -> None:
        self.client = client
        """Whose request it is."""
        self.deployment, self.usage, self.started_at, self.expires_at, self.is_stream = (
            deployment,
            usage,
            began,
            until,
            is_stream,
        )
        self.is_open = True
        self.stream_started_at: float | None = None
        """When its stream began."""
        self.has_readings = False
        """Whether its stream's beginning has told of the limits."""
        self.counted_after_expiry: Usage | None = None
        """What still counts of it after nothing was heard of it for too long; None if its end is known."""
