"""Event about a pick on the span of its request, where LiteLLM traces requests with OpenTelemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litellm_evenkeel.rotation.selection.pick import Pick

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litellm_evenkeel.rotation.selection.pick import NoCapacity

EVENT = "evenkeel.pick"
# LiteLLM's name for the span, and the mappings of a request that may contain it. Since 1.110, it is not handed over.
SPAN, METADATA = "litellm_parent_otel_span", ("litellm_metadata", "metadata")


def span_of(request: Mapping[str, Any], handed_over: Any) -> Any:
    """Return the span of a request; `None` if it is not traced."""
    if handed_over is not None:
        return handed_over
    for name in METADATA:
        metadata = request.get(name)
        span = metadata.get(SPAN) if isinstance(metadata, dict) else None
        # A client may send a field of this name.
        if hasattr(span, "add_event"):
            return span
    return None


def add_event(span: Any, model: str, result: Pick | NoCapacity, seconds: float) -> None:
    """Add what was picked to a span, and the time that the pick took, including time in the queue."""
    attributes: dict[str, str | float] = {"evenkeel.model": model, "evenkeel.seconds": seconds}
    if isinstance(result, Pick):
        attributes |= {"evenkeel.account": result.deployment.spec.account, "evenkeel.reason": str(result.reason)}
    elif result.blocker is not None:
        attributes["evenkeel.blocker"] = str(result.blocker.reason)
    span.add_event(EVENT, attributes)
