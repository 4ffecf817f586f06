"""Lists of deployments, which are made once in a second and again when the deployments change.

For each request, LiteLLM lists the deployments of its model about ten times, and each time it goes through all of them.
"""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.lean.deployments.remembered import Remembered
from litellm_evenkeel.lean.deployments.router_class import router_class

if TYPE_CHECKING:
    from collections.abc import Callable

# Methods that go through all deployments.
LISTS = ("get_all_deployments", "get_model_ids", "get_model_access_groups")
# Where the router is in Rust, this method asks it for all of them. Otherwise it is made of the lists above.
LIST_OF_RUST = "get_model_list"
# Other names of the methods, in LiteLLM up to 1.108.
ALIASES = {"get_all_deployments": "_get_all_deployments"}


def remember_deployments() -> None:
    """Make LiteLLM's router remember the lists of its deployments."""
    lists: Remembered[Any] = Remembered()
    router = router_class()
    router.when_changed(lambda _: lists.forget())
    for list_name in (*LISTS, LIST_OF_RUST) if router.is_rust else LISTS:
        name = router.prefix + list_name
        method = remembered(getattr(router.owner, name), lists)
        for each in (name, ALIASES.get(name)):
            if each and hasattr(router.owner, each):
                setattr(router.owner, each, method)
    if router.is_rust:
        _remember_records(lists)


def remembered(original: Callable[..., Any], lists: Remembered[Any]) -> Callable[..., Any]:
    """Return a method that makes a list as `original` does, unless it is remembered. Its caller may change the list."""

    @wraps(original)
    def deployments(self: Any, *positional: Any, **named: Any) -> Any:
        key = id(self), original.__name__, positional, tuple(named.items())
        try:
            hash(key)
        except TypeError:
            return original(self, *positional, **named)
        listed = lists.get(key, lambda: original(self, *positional, **named))
        return listed.copy() if isinstance(listed, list | dict) else listed

    return deployments


def _remember_records(lists: Remembered[Any]) -> None:
    """Make the router in Rust hand its deployments to filters in Python without converting each of them again."""
    core = import_module("litellm.router_rust.core").RustCore
    original = core._records_of  # noqa: SLF001 - it has no public name

    @wraps(original)
    def records_of(self: Any, ids: Any) -> list[dict[str, Any]]:
        if not isinstance(ids, list):
            nothing: list[dict[str, Any]] = original(self, ids)
            return nothing
        records = lists.get((id(self), original.__name__, tuple(ids)), lambda: original(self, ids))
        # A filter may change a record, but not what is in it: up to 1.108, these were the deployments themselves.
        return [dict(record) for record in records]

    core._records_of = records_of  # noqa: SLF001
