"""Requests that continue a response of the Responses API, which only the account that made it can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

RESPONSES_CALL_TYPES = frozenset({"aresponses", "responses"})


def continued_response(request: Mapping[str, Any]) -> str | None:
    """Return the id of the response that a request continues, or `None`. Other kinds of requests ignore the field."""
    response_id = request.get("previous_response_id")
    if not response_id or not isinstance(response_id, str):
        return None
    call_type = getattr(request.get("litellm_logging_obj"), "call_type", None)
    return response_id if call_type is None or call_type in RESPONSES_CALL_TYPES else None
