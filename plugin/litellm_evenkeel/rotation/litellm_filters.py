"""LiteLLM's own filters of deployments, applied before the pick.

LiteLLM applies them after its plugins, when the one picked deployment must not be removed any more. The same functions
of the running LiteLLM are called, each only if the router has it enabled. Its filters that prefer a deployment for a
session or a key are not: the rotation has its own session affinity. A request whose filters cannot be applied
before the pick is left to LiteLLM altogether.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import litellm
import litellm.utils
from litellm.integrations.custom_logger import CustomLogger
from litellm.responses.utils import ResponsesAPIRequestUtils
from litellm.router_strategy import tag_based_routing
from litellm.types.videos import utils as videos

from litellm_evenkeel.litellm_router import has_routing_plugins, routing_context, settings_of
from litellm_evenkeel.rotation.model.continuation import continued_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.pool.candidate_cache import CachedCandidates

Deployments = list[dict[str, Any]]
# In LiteLLM up to 1.101, the function has a private name.
_BY_ORDER = "get_order_filtered_deployments"
_by_order = getattr(litellm.utils, _BY_ORDER, None) or getattr(litellm.utils, f"_{_BY_ORDER}")
# Calls that concern an existing video. LiteLLM up to 1.107 sends them to any deployment.
_VIDEO_CALL_TYPES: frozenset[str] = getattr(videos, "VIDEO_ID_CALL_TYPES", frozenset())
# LiteLLM's callbacks without which a request would go to an account that cannot serve it: its provider's budget is used
# up, or it has neither the file nor the encrypted reasoning that the request refers to. They are recognised by name,
# because not every installation has their modules.
REQUIRED_CALLBACKS = frozenset(
    {
        "RouterBudgetLimiting",
        "EncryptedContentAffinityCheck",
        "_PROXY_LiteLLMManagedFiles",
        "_PROXY_LiteLLMManagedVectorStores",
    }
)
# Metadata field in which LiteLLM's routing plugins put the provider models that a request may use.
ALLOWED_MODELS = "_routing_plugin_candidate_models"


async def apply_litellm_filters(
    router: Any, cached: CachedCandidates, deployments: Deployments, messages: object, request: dict[str, Any]
) -> Deployments:
    """Return the deployments that LiteLLM's filters keep, in their order; the same list object if they keep all."""
    settings, model = settings_of(router), cached.candidates.name
    deployments = await _apply_required_callbacks(model, deployments, messages, request)
    has_input = messages is not None or request.get("input") is not None
    if settings.pre_call_checks and has_input:
        deployments = await _apply_pre_call_checks(router, model, deployments, messages, request)
    if cached.has_tags or settings.tag_filtering or request.get("enable_tag_filtering"):
        deployments = await _call_supported(
            tag_based_routing.get_deployments_for_tag,
            llm_router_instance=router,
            ctx=routing_context(router),
            model=model,
            request_kwargs=request,
            request_deployments=deployments,
            healthy_deployments=deployments,
            metadata_variable_name=_metadata_name(request),
        )
    deployments = _apply_routing_plugins(router, deployments, request)
    if cached.has_order:
        deployments = _by_order(deployments, target_order=request.get("_target_order"))
    excluded = request.get("_excluded_deployment_ids")
    if excluded:
        deployments = [
            deployment for deployment in deployments if (deployment.get("model_info") or {}).get("id") not in excluded
        ]
    if "video_id" in request or "previous_response_id" in request:
        deployments = _keep_owner(deployments, request)
    return deployments


async def _apply_required_callbacks(
    model: str, deployments: Deployments, messages: Any, request: dict[str, Any]
) -> Deployments:
    for callback in litellm.callbacks:
        if isinstance(callback, CustomLogger) and type(callback).__name__ in REQUIRED_CALLBACKS:
            kept: Deployments = await callback.async_filter_deployments(
                model=model,
                healthy_deployments=deployments,
                messages=messages,
                request_kwargs=request,
                parent_otel_span=None,
            )
            # Some return a new list even if they keep all.
            deployments = kept if len(kept) < len(deployments) else deployments
    return deployments


async def _apply_pre_call_checks(
    router: Any, model: str, deployments: Deployments, messages: object, request: dict[str, Any]
) -> Deployments:
    """Return the deployments that pass LiteLLM's pre-call checks. Tokens are counted outside the event loop."""
    arguments: dict[str, Any] = {"messages": messages, "input": request.get("input"), "request_kwargs": request}
    context = routing_context(router)
    count = getattr(router, "_acount_pre_call_check_tokens", None)
    if context is not None and count is None:
        return list(await asyncio.to_thread(context.pre_call_checks, model, deployments, **arguments))
    check = router._pre_call_checks  # noqa: SLF001 - the router itself calls this method next
    arguments |= {"model": model, "healthy_deployments": deployments}
    if count is not None:
        arguments |= {"input_token_count": await _call_supported(count, **arguments), "skip_inline_token_count": True}
    return _call_supported(check, **arguments)  # type: ignore[no-any-return]


def _apply_routing_plugins(router: Any, deployments: Deployments, request: dict[str, Any]) -> Deployments:
    """Return the deployments whose provider model is allowed by the routing plugins; raise `ValueError` if none is."""
    metadata = request.get(_metadata_name(request))
    allowed = metadata.get(ALLOWED_MODELS) if isinstance(metadata, dict) else None
    # Without routing plugins, the field is ignored, as a client may have set it.
    if allowed is None or not has_routing_plugins(router):
        return deployments
    kept = [
        deployment for deployment in deployments if (deployment.get("litellm_params") or {}).get("model") in allowed
    ]
    if not kept:
        raise ValueError(f"The routing plugins in router_settings.plugins removed all {len(deployments)} deployments.")
    return kept


def _keep_owner(deployments: Deployments, request: dict[str, Any]) -> Deployments:
    """Keep only the deployment that made what the request refers to, if present, as no other account has it."""
    owner = _video_owner(request) or _response_owner(request)
    if owner is None:
        return deployments
    return [
        deployment for deployment in deployments if (deployment.get("model_info") or {}).get("id") == owner
    ] or deployments


def _video_owner(request: dict[str, Any]) -> str | None:
    video_id, call_type = request.get("video_id"), getattr(request.get("litellm_logging_obj"), "call_type", None)
    if call_type not in _VIDEO_CALL_TYPES or not isinstance(video_id, str):
        return None
    owner: str | None = videos.decode_video_id_with_provider(video_id).get("deployment_id")
    return owner


def _response_owner(request: dict[str, Any]) -> str | None:
    owner: str | None = ResponsesAPIRequestUtils.get_model_id_from_response_id(continued_response(request))
    return owner


def _metadata_name(request: dict[str, Any]) -> str:
    return "litellm_metadata" if "litellm_metadata" in request else "metadata"


def _call_supported(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call `function` with those arguments that it has in this version of LiteLLM."""
    supported = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in supported})
