"""The class of LiteLLM that knows the deployments. It has moved between versions, and its methods were renamed."""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

# LiteLLM calls this method whenever its deployments change.
CHANGED = "_invalidate_model_group_info_cache"


class RouterClass(NamedTuple):
    """A class that knows the deployments."""

    owner: Any
    prefix: str
    """Prefix of the names of its methods."""
    is_rust: bool
    """Whether requests are routed in Rust, which asks this class only for what it lacks itself."""

    def deployments(self, router: Any) -> list[Any]:
        """Return all deployments of an object of the class. An object that is being made has none yet."""
        return getattr(router, f"{self.prefix}model_list", None) or []

    def when_changed(self, react: Callable[[Any], None]) -> None:
        """Call `react` with an object of the class whenever its deployments have changed."""
        original = getattr(self.owner, CHANGED)

        @wraps(original)
        def changed(router: Any) -> None:
            original(router)
            react(router)

        setattr(self.owner, CHANGED, changed)


# The newest first: module, class, prefix, and whether it routes in Rust.
CLASSES = (
    ("litellm.router_rust.surface.registry", "HostRegistry", "_core_", True),
    ("litellm.router_python_core", "PythonCore", "_core_", False),
    ("litellm.router", "Router", "", False),
)


def router_class() -> RouterClass:
    """Return the class of the installed LiteLLM."""
    for module, name, prefix, is_rust in CLASSES:
        try:
            return RouterClass(getattr(import_module(module), name), prefix, is_rust)
        except ModuleNotFoundError:
            continue
    raise ImportError("this LiteLLM has no router")
