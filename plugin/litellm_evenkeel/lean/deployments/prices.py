"""Room for the prices of all deployments.

Before a request with a budget is routed, LiteLLM reserves what it may cost at most. For that, it looks at the prices of
each deployment of the model, twice. It keeps those of 64 deployments: with more, it copies all of them again each time.
For each price and each number of tokens it checks whether the value has the methods of a number, which takes longer
than the sum itself.
"""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from litellm.proxy.spend_tracking import budget_reservation

from litellm_evenkeel.lean.deployments.remembered import Remembered
from litellm_evenkeel.lean.deployments.router_class import router_class
from litellm_evenkeel.lean.parameters import require_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Tables = Callable[[str, Any], Sequence[Any]]

Number = TypeVar("Number", int, float)

# Functions of LiteLLM: the one that looks for tables of prices, and those that convert a value to a number.
TABLES, NUMBERS = "_get_deployment_tiered_pricing_tables", {"_to_int": int, "_to_float": float}


def keep_prices_of_all_deployments() -> None:
    """Make LiteLLM keep the prices of all its deployments, and look for tables of prices once in a second."""
    routers, tables = router_class(), Remembered[Any]()
    cache = f"{routers.prefix}cached_deployment_model_info"

    def make_room(router: Any) -> None:
        tables.forget()
        prices, deployments = getattr(router, cache, None), len(routers.deployments(router))
        if prices is not None and prices.cache_parameters()["maxsize"] < deployments:
            setattr(router, cache, lru_cache(2 * deployments)(prices.__wrapped__))

    functions = {
        TABLES: remembered(getattr(budget_reservation, TABLES), tables),
        **{name: quick(getattr(budget_reservation, name), kind) for name, kind in NUMBERS.items()},
    }
    routers.when_changed(make_room)
    for name, function in functions.items():
        setattr(budget_reservation, name, function)


def quick(original: Callable[[Any], Number | None], kind: type[Number]) -> Callable[[Any], Number | None]:
    """Return a function that converts a value as `original` does. It takes no time for `None` and numbers."""

    @wraps(original)
    def convert(value: Any) -> Number | None:
        if value is None or type(value) is kind:
            return value
        return original(value)

    return convert


def remembered(original: Tables, tables: Remembered[Any]) -> Tables:
    """Return a function that remembers the tables of prices of a model."""
    require_parameters(original, "model", "llm_router")

    @wraps(original)
    def pricing_tables(model: str, llm_router: Any) -> Sequence[Any]:
        of_model: Sequence[Any] = tables.get((id(llm_router), model), lambda: original(model, llm_router))
        return of_model

    return pricing_tables
