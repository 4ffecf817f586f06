"""Lists of deployments, which are made once in a second and again when the deployments change.

For each request, LiteLLM lists the deployments of its model about ten times, and each time it goes through all of them.
"""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

import litellm

from litellm_evenkeel.lean.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Methods that list deployments, their ids or their access groups: of LiteLLM up to 1.108, and since 1.109.
LISTS = ("get_all_deployments", "_get_all_deployments", "get_model_ids", "get_model_access_groups")
LISTS_OF_REGISTRY = tuple(
    f"_core_{name}" for name in ("get_model_list", "get_all_deployments", "get_model_ids", "get_model_access_groups")
)
# Modules of the router in Rust, which LiteLLM up to 1.108 lacks.
REGISTRY, CORE = "litellm.router_rust.surface.registry", "litellm.router_rust.core"
# LiteLLM calls this method whenever its deployments change.
CHANGED = "_invalidate_model_group_info_cache"


def remember_deployments() -> None:
    """Make LiteLLM's router remember the lists of its deployments."""
    lists: Remembered[Any] = Remembered()
    owner, names = registry()
    forget_when_changed(owner, lists)
    for name in names:
        setattr(owner, name, remembered(getattr(owner, name), lists))
    if owner is not litellm.Router:
        _remember_records(lists)


def registry() -> tuple[Any, Sequence[str]]:
    """Return the class that lists deployments in the running LiteLLM, and its methods."""
    try:
        return import_module(REGISTRY).HostRegistry, LISTS_OF_REGISTRY
    except ImportError:
        return litellm.Router, LISTS


def forget_when_changed(owner: Any, results: Remembered[Any]) -> None:
    """Make the results be forgotten when the deployments change."""
    original = getattr(owner, CHANGED)

    @wraps(original)
    def changed(self: Any) -> None:
        original(self)
        results.forget()

    setattr(owner, CHANGED, changed)


def remembered(original: Callable[..., Any], lists: Remembered[Any]) -> Callable[..., Any]:
    """Return a method that makes a list as `original` does, unless it is remembered. Its caller may change the list."""

    @wraps(original)
    def deployments(self: Any, *positional: Any, **named: Any) -> Any:
        key = id(self), original.__name__, positional, tuple(named.items())
        try:
            hash(key)
        except TypeError:
            return original(self, *positional, **named)
        found = lists.get(key, lambda: original(self, *positional, **named))
        return found.copy() if isinstance(found, list | dict) else found

    return deployments


def _remember_records(lists: Remembered[Any]) -> None:
    """Make the router in Rust hand its deployments to filters in Python without converting each of them again."""
    core = import_module(CORE).RustCore
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
