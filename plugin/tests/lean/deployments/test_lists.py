"""Lists of deployments that a real router remembers: they are those of LiteLLM, also after each change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import litellm
import pytest
from litellm.types.router import Deployment

from litellm_evenkeel.lean.deployments.lists import remember_deployments

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., Any]

# Warnings of LiteLLM's own, as its router is made.
pytestmark = pytest.mark.filterwarnings("ignore")
GROUP, TEAM = "gpt-4o", "blue"
QUESTIONS: list[Callable[[Any], Any]] = [
    lambda router: router.get_model_list(),
    lambda router: router.get_model_list(model_name=GROUP),
    lambda router: router.get_model_list(model_name="alias"),
    lambda router: router.get_model_list(model_name="openai/o1"),
    lambda router: router.get_model_list(model_name="unknown"),
    lambda router: router.get_all_deployments(model_name=GROUP, team_id=TEAM),
    lambda router: router.get_all_deployments(GROUP, "renamed"),
    lambda router: router.get_model_ids(),
    lambda router: router.get_model_ids(GROUP),
    lambda router: router.get_model_access_groups(model_name=GROUP),
]


def answers(router: Any) -> list[Any]:
    return [question(router) for question in QUESTIONS]


@pytest.fixture
def make(router: Make, deployment: Make) -> Callable[[], Any]:
    """Return a function that makes a router with deployments of all kinds."""
    return lambda: router(
        deployment("a", access_groups=["all"]),
        deployment("b"),
        deployment("c", team_id=TEAM, team_public_model_name=GROUP),
        deployment("wild", group="openai/*", params={"model": "openai/*"}),
        model_group_alias={"alias": GROUP},
    )


def test_lists_are_those_of_litellm_after_each_change(make: Make, deployment: Make) -> None:
    expected, own = [], []
    for results in (expected, own):
        if results is own:
            remember_deployments()
        changing = make()
        results += [answers(changing), answers(changing)]
        changing.add_deployment(Deployment(**deployment("d")))
        results += [answers(changing)]
        changing.upsert_deployment(Deployment(**deployment("d", params={"model": "openai/o1"})))
        results += [answers(changing)]
        changing.delete_deployment("a")
        results += [answers(changing)]
        changing.set_model_list([deployment("e")])
        results += [answers(changing)]
    assert own == expected


def test_a_list_is_made_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_deployments()
    asked, looked_at = make(), list[str]()
    original = litellm.Router.should_include_deployment

    def should_include(self: Any, *positional: Any, **named: Any) -> bool:
        looked_at.append(GROUP)
        return original(self, *positional, **named)

    monkeypatch.setattr(litellm.Router, "should_include_deployment", should_include)
    asked.get_model_list(model_name=GROUP)
    once = len(looked_at)
    assert once
    for _ in range(10):
        asked.get_model_list(model_name=GROUP)
    assert len(looked_at) == once


def test_who_changes_a_list_changes_only_their_own(make: Make) -> None:
    remember_deployments()
    asked = make()
    asked.get_all_deployments(model_name=GROUP).clear()
    asked.get_model_ids().clear()
    assert len(asked.get_all_deployments(model_name=GROUP)) == 3
    assert len(asked.get_model_ids()) == 4


def test_two_routers_have_lists_of_their_own(router: Make, deployment: Make) -> None:
    remember_deployments()
    one, other = router(deployment("a")), router(deployment("b"))
    assert one.get_model_ids() == ["a"]
    assert other.get_model_ids() == ["b"]


def test_a_name_of_another_kind_is_asked_as_before(make: Make) -> None:
    remember_deployments()
    with pytest.raises(TypeError, match="unhashable"):
        make().get_all_deployments(model_name=["a", "list"])
