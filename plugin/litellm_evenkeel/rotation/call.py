"""By what a client's request is known again, in whatever task or event it comes back.

The call id is what a client says it is. What no client can choose is LiteLLM's logging object of the request: a proxy
makes one for all attempts at it, and hands what it holds to the events. So we leave an object of our own there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from litellm_evenkeel.picked import REQUEST_KEY, RoutingDecision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litellm_evenkeel.rotation.attempts import Attempt


class ClientRequest:
    """One request of a client, with all its attempts."""

    __slots__ = ("broken", "name", "picked", "streams")

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        """What tells it from others where no logging object does: outside of a proxy."""
        self.picked: RoutingDecision | None = None
        """Where it was sent last."""
        self.streams: tuple[Attempt, ...] = ()
        """Those of its streams that are open, the oldest first."""
        self.broken: frozenset[str] = frozenset()
        """The deployments whose streams have broken off."""

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> ClientRequest:
        """Return the call that a request is an attempt of."""
        details = getattr(request.get("litellm_logging_obj"), "model_call_details", None)
        if details is None:
            return cls(str(request.get("litellm_call_id") or request.get("litellm_trace_id") or ""))
        found = cls.from_event(details)
        if found is None:
            found = details[REQUEST_KEY] = cls()
        return found

    def record_pick(self, account: str, reason: str) -> None:
        """Know of another attempt."""
        self.picked = RoutingDecision(account, reason, 1 if self.picked is None else self.picked.attempt + 1)

    @staticmethod
    def from_event(details: Mapping[str, Any]) -> ClientRequest | None:
        """Return the call that an event tells of."""
        found = details.get(REQUEST_KEY)
        return found if isinstance(found, ClientRequest) else None

    def attach_to(self, logging_object: object) -> None:
        """Have it told by the events of a logging object that was made later, for one attempt."""
        details = getattr(logging_object, "model_call_details", None)
        if details is not None:
            details.setdefault(REQUEST_KEY, self)

    def is_same(self, other: ClientRequest) -> bool:
        """Return whether it is the same request."""
        return self is other or (self.name is not None and self.name == other.name)

    def __deepcopy__(self, _: object) -> Self:
        """Stay what it is: LiteLLM copies what it logs."""
        return self
