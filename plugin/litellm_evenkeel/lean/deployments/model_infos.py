"""Prices and limits of a deployment, which are looked up once in a second.

LiteLLM counts the usage of a deployment twice for each request: with the response, and once more in the background.
Each time it looks for limits of the deployment, and copies all that is known of its model for that.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.lean.deployments.remembered import Remembered
from litellm_evenkeel.lean.deployments.router_class import router_class

if TYPE_CHECKING:
    from collections.abc import Callable


def remember_model_infos() -> None:
    """Make LiteLLM's router remember what is known of the model of a deployment."""
    infos: Remembered[Any] = Remembered()
    router = router_class()
    router.when_changed(lambda _: infos.forget())
    name = f"{router.prefix}get_router_model_info"
    setattr(router.owner, name, remembered(getattr(router.owner, name), infos))


def remembered(original: Callable[..., Any], infos: Remembered[Any]) -> Callable[..., Any]:
    """Return a method that calls `original` unless the result is remembered. Its caller may change the result."""

    @wraps(original)
    def model_info(self: Any, deployment: Any, received_model_name: str, *by_id: Any, **named: Any) -> Any:
        model_id = None
        if deployment is not None and not by_id and not named:
            model_id = (deployment.get("model_info") or {}).get("id")
        if model_id is None:
            return original(self, deployment, received_model_name, *by_id, **named)
        info = infos.get(
            (id(self), model_id, received_model_name), lambda: original(self, deployment, received_model_name)
        )
        return info.copy() if isinstance(info, dict) else info

    return model_info
