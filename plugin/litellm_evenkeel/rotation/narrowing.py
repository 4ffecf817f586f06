"""What LiteLLM filters after its plugins, done before: of the one account that is returned, nothing may be filtered.

The same functions of the running LiteLLM are used, each only where the router has it switched on. What cannot be done
before the choice makes the whole request LiteLLM's.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import litellm.utils
from litellm.router_strategy import tag_based_routing

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.candidates import Known

Deployments = list[dict[str, Any]]


async def narrowed(
    router: Any, known: Known, model: str, deployments: Deployments, messages: object, request: dict[str, Any]
) -> Deployments:
    """Return those that LiteLLM would leave, in their order; the very list that was given if it would leave all."""
    checks = getattr(router, "enable_pre_call_checks", False)
    asked = messages if messages is not None else request.get("input")
    if checks and asked is not None:
        deployments = _called(
            router._pre_call_checks,  # noqa: SLF001 - what the router itself calls a moment later
            model=model,
            healthy_deployments=deployments,
            messages=messages,
            input=request.get("input"),
            request_kwargs=request,
            **await _counted(router, model, deployments, messages, request),
        )
    if known.has_tags or _filters_tags(router, request):
        name = "litellm_metadata" if "litellm_metadata" in request else "metadata"
        deployments = await _called(
            tag_based_routing.get_deployments_for_tag,
            llm_router_instance=router,
            ctx=getattr(router, "_core_ctx", None),
            model=model,
            request_kwargs=request,
            request_deployments=deployments,
            healthy_deployments=deployments,
            metadata_variable_name=name,
        )
    if getattr(router, "routing_plugins", None):
        by_plugins = router._filter_by_routing_plugin_candidates  # noqa: SLF001 - see above
        deployments = _called(by_plugins, healthy_deployments=deployments, request_kwargs=request)
    if known.has_order:
        deployments = litellm.utils.get_order_filtered_deployments(
            deployments, target_order=request.get("_target_order")
        )
    excluded = request.get("_excluded_deployment_ids")
    if excluded:
        deployments = [one for one in deployments if (one.get("model_info") or {}).get("id") not in excluded]
    return deployments


async def _counted(
    router: Any, model: str, deployments: Deployments, messages: object, request: dict[str, Any]
) -> dict[str, Any]:
    """Return how many tokens it has, counted beside the loop, where this version of LiteLLM knows how to."""
    count = getattr(router, "_acount_pre_call_check_tokens", None)
    if count is None:
        return {}
    tokens = await _called(
        count,
        model=model,
        healthy_deployments=deployments,
        messages=messages,
        input=request.get("input"),
        request_kwargs=request,
    )
    return {"input_token_count": tokens, "skip_inline_token_count": True}


def _filters_tags(router: Any, request: dict[str, Any]) -> bool:
    return bool(getattr(router, "enable_tag_filtering", False) or request.get("enable_tag_filtering"))


def _called(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call it with those of the arguments that this version of LiteLLM knows."""
    known = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in known})
