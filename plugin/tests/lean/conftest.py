"""LiteLLM's router, whose methods a test may replace."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    import litellm

Deployment = dict[str, Any]


@pytest.fixture
def deployment() -> Callable[..., Deployment]:
    """Return a function that returns a deployment as a configuration has it."""

    def make(name: str, *, group: str = "gpt-4o", params: Deployment | None = None, **info: Any) -> Deployment:
        return {
            "model_name": group,
            "litellm_params": {"model": "openai/gpt-4o", "api_key": f"sk-{name}", **(params or {})},
            "model_info": {"id": name, **info},
        }

    return make


@pytest.fixture
def unchanged(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Return a function that puts all functions of a class back at the end of the test."""

    def keep(owner: Any) -> None:
        for name, value in vars(owner).copy().items():
            if inspect.isfunction(value) or isinstance(value, staticmethod):
                monkeypatch.setattr(owner, name, value)

    return keep


@pytest.fixture
def router(unchanged: Callable[[Any], None]) -> Callable[..., litellm.Router]:
    """Return a function that makes a router of some deployments."""
    import litellm  # noqa: PLC0415 - tests that need no router do not wait for it

    unchanged(litellm.Router)

    def make(*deployments: Deployment, **settings: Any) -> litellm.Router:
        return litellm.Router(model_list=list(deployments), **settings)

    return make
