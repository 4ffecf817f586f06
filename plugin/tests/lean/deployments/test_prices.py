"""Prices of a real router's deployments: room for all of them, and tables that are read once."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from litellm.proxy.spend_tracking import budget_reservation
from litellm.types.router import Deployment

from litellm_evenkeel.lean.deployments.prices import keep_prices_of_all_deployments

if TYPE_CHECKING:
    from collections.abc import Callable

# Warnings of LiteLLM's own, as its router is made.
pytestmark = pytest.mark.filterwarnings("ignore")
GROUP, SOME = "gpt-4o", 100
TIERS = [{"range": [0, 1000], "input_cost_per_token": 1e-6}, {"range": [1000, 2000], "input_cost_per_token": 2e-6}]


@pytest.fixture
def kept(router: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Make the change. Return a function that makes a router."""
    for name in ("_get_deployment_tiered_pricing_tables", "_to_int", "_to_float"):
        monkeypatch.setattr(budget_reservation, name, getattr(budget_reservation, name))
    keep_prices_of_all_deployments()
    return router


def test_the_prices_of_all_deployments_are_kept_until_they_change(
    kept: Callable[..., Any], deployment: Callable[..., Any]
) -> None:
    routing = kept(*(deployment(str(number)) for number in range(SOME)))

    def look_at_all() -> int:
        """Return how many prices were copied."""
        before = routing.cached_deployment_model_info.cache_info().misses
        for number in range(SOME):
            assert routing.cached_deployment_model_info(str(number), "openai/gpt-4o")["input_cost_per_token"]
        return int(routing.cached_deployment_model_info.cache_info().misses - before)

    assert [look_at_all() for _ in range(3)] == [SOME, 0, 0]
    routing.upsert_deployment(Deployment(**deployment("1", params={"input_cost_per_token": 0.5})))
    assert routing.cached_deployment_model_info("1", "openai/gpt-4o")["input_cost_per_token"] == 0.5


def test_tables_of_prices_are_known_as_soon_as_they_change(
    kept: Callable[..., Any], deployment: Callable[..., Any]
) -> None:
    routing = kept(deployment("a"))

    def tables() -> list[Any]:
        return list(budget_reservation._get_deployment_tiered_pricing_tables(model=GROUP, llm_router=routing))

    assert tables() == []
    routing.add_deployment(Deployment(**deployment("tiered", params={"tiered_pricing": TIERS})))
    assert tables() == [TIERS]
    routing.delete_deployment("tiered")
    assert tables() == []
    assert list(budget_reservation._get_deployment_tiered_pricing_tables(GROUP, None)) == []


VALUES = (None, 0, 7, -1, True, 2.5, float("inf"), "12", "1.5", "many", b"3", [], {}, Decimal("2.5"), Fraction(1, 2))


@pytest.mark.parametrize("name", ["_to_int", "_to_float"])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_numbers_are_read_as_before(kept: Callable[..., Any], name: str, value: object) -> None:
    assert kept
    convert = getattr(budget_reservation, name)

    def outcome(function: Callable[[object], object]) -> tuple[object, str]:
        try:
            result = function(value)
        except OverflowError as error:
            return str(error), "raised"
        return result, type(result).__name__

    assert outcome(convert) == outcome(convert.__wrapped__)
