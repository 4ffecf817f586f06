"""Rare fields of deployments, for which LiteLLM looks with each request only if a deployment has them.

For each request, LiteLLM goes through the deployments of its model to find those that stand for one of its own routing
strategies, are reserved for a team at times, or set default limits for keys. Few proxies have such deployments.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from litellm.proxy.auth import auth_utils
from litellm.proxy.guardrails import auto_router_compression

from litellm_evenkeel.lean.deployments.remembered import Remembered
from litellm_evenkeel.lean.deployments.router_class import router_class
from litellm_evenkeel.litellm_router import deployments_of, running_router

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litellm_evenkeel.lean.deployments.router_class import RouterClass

# Fields of `model_info` by which a deployment is reserved for teams.
RESERVATIONS = ("access_windows", "ptu_shares")
AUTO_ROUTER = "auto_router/"


def look_for_used_fields_only() -> None:
    """Make LiteLLM look for a rare field only while a deployment has it."""
    answers: Remembered[Any] = Remembered()
    router = router_class()
    default_limit = remembered_limit(auth_utils._get_deployment_default_limit, answers)  # noqa: SLF001 - nothing else reads the limits
    policy = unless_none_compresses(auto_router_compression.policy_for_model, answers)
    router.when_changed(lambda _: answers.forget())
    auth_utils._get_deployment_default_limit = default_limit  # noqa: SLF001
    auto_router_compression.policy_for_model = policy
    if not router.is_rust:
        _filter_if_any(router, answers)


def remembered_limit(
    original: Callable[[str, str], int | None], answers: Remembered[Any]
) -> Callable[[str, str], int | None]:
    """Return a function that remembers the default limit of a key for a model."""

    @wraps(original)
    def default_limit(model_name: str, field: str) -> int | None:
        key = id(running_router()), model_name, field
        limit: int | None = answers.get(key, lambda: original(model_name, field))
        return limit

    return default_limit


def unless_none_compresses(original: Callable[..., Any], answers: Remembered[Any]) -> Callable[..., Any]:
    """Return a function that looks for the compression policy of an auto router only if there is an auto router."""

    @wraps(original)
    def policy_for_model(llm_router: Any, *positional: Any, **named: Any) -> Any:
        if llm_router is None or not answers.get(
            (id(llm_router), _is_auto_router), lambda: any(map(_is_auto_router, deployments_of(llm_router, None)))
        ):
            return None
        return original(llm_router, *positional, **named)

    return policy_for_model


def _filter_if_any(router: RouterClass, answers: Remembered[Any]) -> None:
    """Make the router's filters return all deployments unless there are some that they could remove."""
    owner = router.owner
    drop_markers, filter_reserved = owner._drop_strategy_markers, owner._filter_reserved_deployments  # noqa: SLF001
    is_marker = owner._is_strategy_marker_deployment  # noqa: SLF001

    def has_any(self: Any, is_rare: Callable[[Any], bool]) -> bool:
        is_used: bool = answers.get((id(self), is_rare), lambda: any(map(is_rare, router.deployments(self))))
        return is_used

    @wraps(drop_markers)
    def drop_strategy_markers(self: Any, model: str, deployments: Sequence[Any]) -> list[Any]:
        kept: list[Any] = drop_markers(self, model, deployments) if has_any(self, is_marker) else list(deployments)
        return kept

    @wraps(filter_reserved)
    def filter_reserved_deployments(
        self: Any, model: str, healthy_deployments: Sequence[Any], request_team_id: str | None
    ) -> tuple[Any, ...]:
        if has_any(self, _is_reserved):
            kept: tuple[Any, ...] = filter_reserved(self, model, healthy_deployments, request_team_id)
            return kept
        return tuple(self._drop_strategy_markers(model, healthy_deployments))

    owner._drop_strategy_markers = drop_strategy_markers  # noqa: SLF001
    owner._filter_reserved_deployments = filter_reserved_deployments  # noqa: SLF001


def _is_reserved(deployment: Any) -> bool:
    info = deployment.get("model_info") or {}
    return any(info.get(name) is not None for name in RESERVATIONS)


def _is_auto_router(deployment: Any) -> bool:
    return str((deployment.get("litellm_params") or {}).get("model", "")).startswith(AUTO_ROUTER)
