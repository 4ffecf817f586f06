"""What LiteLLM filters after its plugins, done before: of the one account that is returned, nothing may be filtered.

The same functions of the running LiteLLM are used, each only where the router has it switched on. What cannot be done
before the choice makes the whole request LiteLLM's.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import litellm.utils
from litellm.router_strategy import tag_based_routing
from litellm.types.videos import utils as videos

from litellm_evenkeel.litellm_router import has_routing_plugins, routing_context, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.pool.candidate_cache import CachedCandidates

Deployments = list[dict[str, Any]]
# LiteLLM up to 1.101 has it under a private name.
_BY_ORDER = "get_order_filtered_deployments"
_by_order = getattr(litellm.utils, _BY_ORDER, None) or getattr(litellm.utils, f"_{_BY_ORDER}")
# The calls on a video that is there already. LiteLLM up to 1.107 sends them to any deployment.
_CALLS_ON_A_VIDEO: frozenset[str] = getattr(videos, "VIDEO_ID_CALL_TYPES", frozenset())
# Where LiteLLM's routing plugins leave the provider models that a request may use, in its metadata.
ALLOWED_MODELS = "_routing_plugin_candidate_models"


async def apply_litellm_filters(
    router: Any, cached: CachedCandidates, deployments: Deployments, messages: object, request: dict[str, Any]
) -> Deployments:
    """Return those that LiteLLM would leave, in their order; the very list that was given if it would leave all."""
    settings, model = settings_of(router), cached.candidates.name
    has_input = messages is not None or request.get("input") is not None
    if settings.pre_call_checks and has_input:
        deployments = await _after_pre_call_checks(router, model, deployments, messages, request)
    if cached.has_tags or settings.tag_filtering or request.get("enable_tag_filtering"):
        deployments = await _called(
            tag_based_routing.get_deployments_for_tag,
            llm_router_instance=router,
            ctx=routing_context(router),
            model=model,
            request_kwargs=request,
            request_deployments=deployments,
            healthy_deployments=deployments,
            metadata_variable_name=_metadata_name(request),
        )
    deployments = _after_routing_plugins(router, deployments, request)
    if "video_id" in request:
        deployments = _after_video(deployments, request)
    if cached.has_order:
        deployments = _by_order(deployments, target_order=request.get("_target_order"))
    excluded = request.get("_excluded_deployment_ids")
    if excluded:
        deployments = [one for one in deployments if (one.get("model_info") or {}).get("id") not in excluded]
    return deployments


async def _after_pre_call_checks(
    router: Any, model: str, deployments: Deployments, messages: object, request: dict[str, Any]
) -> Deployments:
    """Return those that pass LiteLLM's pre-call checks. Tokens are counted outside of the event loop."""
    asked = {"messages": messages, "input": request.get("input"), "request_kwargs": request}
    context = routing_context(router)
    count = getattr(router, "_acount_pre_call_check_tokens", None)
    if context is not None and count is None:
        return list(await asyncio.to_thread(context.pre_call_checks, model, deployments, **asked))
    check = router._pre_call_checks  # noqa: SLF001 - what the router itself calls a moment later
    asked |= {"model": model, "healthy_deployments": deployments}
    if count is not None:
        asked |= {"input_token_count": await _called(count, **asked), "skip_inline_token_count": True}
    return _called(check, **asked)  # type: ignore[no-any-return]


def _after_routing_plugins(router: Any, deployments: Deployments, request: dict[str, Any]) -> Deployments:
    """Return those whose provider model the plugins of `router_settings.plugins` allow; raise ValueError if none is."""
    metadata = request.get(_metadata_name(request))
    allowed = metadata.get(ALLOWED_MODELS) if isinstance(metadata, dict) else None
    # A client may write into the metadata, too.
    if allowed is None or not has_routing_plugins(router):
        return deployments
    left = [one for one in deployments if (one.get("litellm_params") or {}).get("model") in allowed]
    if not left:
        raise ValueError(f"The routing plugins of router_settings.plugins left no deployment of {len(deployments)}.")
    return left


def _after_video(deployments: Deployments, request: dict[str, Any]) -> Deployments:
    """Return only the deployment that made the video of a call on it, if it is among them: no other account has it."""
    video_id = request["video_id"]
    call_type = getattr(request.get("litellm_logging_obj"), "call_type", None)
    if call_type not in _CALLS_ON_A_VIDEO or not isinstance(video_id, str):
        return deployments
    maker = videos.decode_video_id_with_provider(video_id).get("deployment_id")
    return [one for one in deployments if (one.get("model_info") or {}).get("id") == maker] or deployments


def _metadata_name(request: dict[str, Any]) -> str:
    return "litellm_metadata" if "litellm_metadata" in request else "metadata"


def _called(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call it with those of the arguments that this version of LiteLLM knows."""
    known = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in known})
