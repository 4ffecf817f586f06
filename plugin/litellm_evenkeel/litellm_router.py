"""Access to LiteLLM's router in the running proxy: its settings, deployments, usage and cooldowns.

LiteLLM 1.109 added entry points to the router (`registry`, `settings`, `health`, `apply`) and deprecated the attributes
that were read before. Each function here uses the entry point if the router has it, and the attribute otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from litellm_evenkeel import proxy_process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class RouterSettings(NamedTuple):
    """Settings that decide which of LiteLLM's own filters run after the filters of callbacks."""

    pre_call_checks: bool
    tag_filtering: bool


def running_router() -> Any:
    """Return the proxy's router, or `None` outside of a proxy."""
    return getattr(proxy_process.server(), "llm_router", None)


def settings_of(router: Any) -> RouterSettings:
    """Return the router's settings. This is cheap: a router returns the same snapshot until a setting changes."""
    current = router.settings() if _has_entry_points(router) else router
    return RouterSettings(
        pre_call_checks=bool(getattr(current, "enable_pre_call_checks", False)),
        tag_filtering=bool(getattr(current, "enable_tag_filtering", False)),
    )


def has_routing_plugins(router: Any) -> bool:
    """Return whether `router_settings.plugins` names any routing plugin."""
    if _has_entry_points(router):
        return bool(router.registry().plugins("routing"))
    return bool(getattr(router, "routing_plugins", None))


def deployments_of(router: Any, model_group: str | None) -> Sequence[Mapping[str, Any]]:
    """Return the deployments of a model group; of all groups with `None`."""
    if _has_entry_points(router):
        return router.registry().deployments(model_group) or ()
    return router.get_model_list(model_name=model_group) or ()


def disable_cooldowns(router: Any) -> None:
    """Disable LiteLLM's own cooldowns of deployments."""
    if _has_entry_points(router):
        from litellm.router_api import ChangeSet  # noqa: PLC0415 - not there in an older LiteLLM

        router.apply(ChangeSet(assign={"disable_cooldowns": True}))
    else:
        router.disable_cooldowns = True


async def remaining_usage(router: Any, model_group: str) -> Mapping[str, Any] | None:
    """Return what is left of a model group's limits, by the names of the rate-limit headers."""
    if _has_entry_points(router):
        usage: Mapping[str, Any] | None = await router.health().usage(model_group, kind="remaining")
    else:
        usage = await router.get_remaining_model_group_usage(model_group)
    return usage


def routing_context(router: Any) -> Any:
    """Return the object that LiteLLM passes to its own filters, or `None` if that is the router itself."""
    if not _has_entry_points(router):
        return None
    from litellm.router_api import RoutingContext  # noqa: PLC0415 - not there in an older LiteLLM

    return RoutingContext(router)


def _has_entry_points(router: Any) -> bool:
    return hasattr(router, "registry")
