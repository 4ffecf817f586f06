"""Rare fields of deployments, which a real router finds where there are any."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import litellm
import pytest
from litellm.proxy.auth import auth_utils
from litellm.proxy.guardrails import auto_router_compression
from litellm.types.router import Deployment

from litellm_evenkeel.lean.deployments.rare_fields import look_for_used_fields_only

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., Any]

# Warnings of LiteLLM's own, as its router is made.
pytestmark = pytest.mark.filterwarnings("ignore")
GROUP, TEAM = "gpt-4o", "blue"
# The morning and the rest of the day.
WINDOWS = ({"start": "00:00", "end": "12:00"}, {"start": "12:00", "end": "00:00"})
ALWAYS = {"access_windows": [{**window, "timezone": "UTC", "team_ids": [TEAM]} for window in WINDOWS]}
LIMIT = "default_api_key_rpm_limit"


@pytest.fixture(autouse=True)
def changed(router: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the change, which ends with the test."""
    monkeypatch.setattr(auth_utils, "_get_deployment_default_limit", auth_utils._get_deployment_default_limit)
    monkeypatch.setattr(auto_router_compression, "policy_for_model", auto_router_compression.policy_for_model)
    look_for_used_fields_only()


async def candidates(router: Any) -> list[str]:
    """Return the ids of the deployments that may serve a request of no team."""
    found = await router.async_get_healthy_deployments(model=GROUP, request_kwargs={})
    return [each["model_info"]["id"] for each in found]


async def test_reserved_deployments_are_left_out_once_there_are_some(router: Make, deployment: Make) -> None:
    routing = router(deployment("a"))
    assert await candidates(routing) == ["a"]
    routing.add_deployment(Deployment(**deployment("reserved", **ALWAYS)))
    assert await candidates(routing) == ["a"]
    routing.add_deployment(Deployment(**deployment("b")))
    assert await candidates(routing) == ["a", "b"]
    routing.delete_deployment("reserved")
    assert await candidates(routing) == ["a", "b"]
    for name in "ab":
        routing.upsert_deployment(Deployment(**deployment(name, **ALWAYS)))
    with pytest.raises(litellm.BadRequestError, match="reserved"):
        await candidates(routing)


def test_default_limits_are_known_as_soon_as_they_change(
    router: Make, deployment: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    routing, server = router(deployment("a", params={LIMIT: 7})), ModuleType("litellm.proxy.proxy_server")
    server.llm_router = routing  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "litellm.proxy.proxy_server", server)
    assert [auth_utils._get_deployment_default_limit(GROUP, LIMIT) for _ in range(2)] == [7, 7]
    routing.upsert_deployment(Deployment(**deployment("a", params={LIMIT: 3})))
    assert auth_utils._get_deployment_default_limit(GROUP, LIMIT) == 3
    assert auth_utils._get_deployment_default_limit("unknown", LIMIT) is None


def test_a_proxy_without_auto_routers_looks_for_no_compression(
    router: Make, deployment: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    monkeypatch.setattr(
        litellm.Router,
        "deployments_for_request",
        lambda _self, model, _request: asked.append(model) or [],
        raising=True,
    )
    routing = router(deployment("a"))
    assert auto_router_compression.policy_for_model(routing, GROUP, {}, ()) is None
    assert auto_router_compression.policy_for_model(None, GROUP, {}, ()) is None
    assert asked == []
