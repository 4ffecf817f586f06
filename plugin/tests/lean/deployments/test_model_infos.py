"""Prices and limits of a real router's deployments, which are looked up once until the deployments change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import litellm
import pytest
from litellm.types.router import Deployment

from litellm_evenkeel.lean.deployments.model_infos import remember_model_infos

if TYPE_CHECKING:
    from collections.abc import Callable

# Warnings of LiteLLM's own, as its router is made.
pytestmark = pytest.mark.filterwarnings("ignore")
GROUP = "gpt-4o"


@pytest.fixture
def routing(router: Callable[..., Any], deployment: Callable[..., Any]) -> Any:
    """Return a router of two deployments, with the change."""
    remember_model_infos()
    return router(deployment("a", tpm=1000), deployment("b", tpm=50))


def info(routing: Any, name: str) -> dict[str, Any]:
    known: dict[str, Any] = routing.get_router_model_info(
        deployment=routing.get_deployment(name), received_model_name=GROUP
    )
    return known


def test_it_is_that_of_litellm_and_is_looked_up_once(routing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = type(routing).get_router_model_info.__wrapped__
    expected = {name: original(routing, routing.get_deployment(name), GROUP) for name in "ab"}
    assert {name: info(routing, name) for name in "ab"} == expected
    assert (expected["a"]["tpm"], expected["b"]["tpm"]) == (1000, 50)
    monkeypatch.setattr(litellm, "get_model_info", lambda **_: pytest.fail("it was looked up again"))
    assert {name: info(routing, name) for name in "ab"} == expected


def test_a_deployment_that_changes_is_looked_up_again(routing: Any, deployment: Callable[..., Any]) -> None:
    assert info(routing, "a")["tpm"] == 1000
    routing.upsert_deployment(Deployment(**deployment("a", params={"api_base": "http://other"}, tpm=2000)))
    assert info(routing, "a")["tpm"] == 2000


def test_a_caller_that_changes_the_result_changes_its_own(routing: Any) -> None:
    info(routing, "a")["tpm"] = 1
    assert info(routing, "a")["tpm"] == 1000


def test_a_deployment_can_be_named_by_its_id(routing: Any) -> None:
    by_id = routing.get_router_model_info(deployment=None, received_model_name=GROUP, id="a")
    assert by_id == info(routing, "a")
    with pytest.raises(ValueError, match="not found"):
        routing.get_router_model_info(deployment=None, received_model_name=GROUP, id="unknown")
