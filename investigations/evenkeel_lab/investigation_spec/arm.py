"""One of the things that an investigation compares."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from evenkeel_lab.investigation_spec.base import Part, Text
from evenkeel_lab.stack.litellm.config import Journal, Prometheus, Rotation
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION


class Patch(StrEnum):
    """What LiteLLM or the plugin does otherwise than it would; see patches_of_proxy.py."""

    NONE = ""
    EARLY_RETURN = "early_return"
    """It returns at once."""
    SKIP_UPDATES = "skip_updates"
    """It updates no metrics, but looks budgets up."""
    SKIP_BUDGETS = "skip_budgets"
    """It looks no budgets up."""
    BACKGROUND_BUDGETS = "background_budgets"
    """It looks them up in a task of their own, for which nobody waits."""
    PARALLEL_BUDGETS = "parallel_budgets"
    """It looks up all of them at once."""
    CACHED_BUDGETS = "cached_budgets"
    """It asks the proxy's cache before the database: what 1.81.9 has mended."""
    LARGE_KEY_CACHE = "large_key_cache"
    """Not the callback: what is known of keys, teams and users stays in memory, however much it is."""
    PLUGIN_EARLY_RETURN = "plugin_early_return"
    """The plugin's Prometheus callback returns at once."""
    PLUGIN_FRESH_SNAPSHOTS = "plugin_fresh_snapshots"
    """The rotation measures all candidates again for every request."""
    PLUGIN_NO_CANDIDATE_CACHE = "plugin_no_candidate_cache"
    """The rotation reads all candidates again for every request."""


OF_ROTATION = frozenset({Patch.PLUGIN_FRESH_SNAPSHOTS, Patch.PLUGIN_NO_CANDIDATE_CACHE})
OF_CALLBACK = frozenset(Patch) - OF_ROTATION - {Patch.NONE, Patch.LARGE_KEY_CACHE, Patch.PLUGIN_EARLY_RETURN}


class Kind(StrEnum):
    """What is loaded."""

    PROXY = "proxy"
    MOCK = "mock"
    FUNCTION = "function"


class Arm(Part):
    """One of the things that are compared."""

    about: Text = Field(description="What it is, in a few words.")
    subject: Kind = Field(Kind.PROXY, description="What is loaded: a proxy, the mock itself, or a function of ours.")
    litellm: str = Field(DEFAULT_VERSION, description="The version of LiteLLM, of a proxy.")
    prometheus: Prometheus = Field(Prometheus.OFF, description="Which Prometheus callback is loaded.")
    patch: Patch = Field(Patch.NONE, description="What LiteLLM leaves out, or does otherwise.")
    rotation: Rotation = Field(
        Rotation.OFF, description="Who chooses the account: LiteLLM (off), or the plugin (evenkeel)."
    )
    journal: Journal = Field(
        Journal.OFF, description="Where the plugin's journal writes requests: off, sqlite, postgres."
    )
    accounts: NonNegativeInt = Field(
        0, description="Accounts behind the model, each with plenty of room; 0: a single one without a name."
    )
    groups: PositiveInt = Field(
        1,
        description="Model groups, each with so many accounts: model-0, tenant-1/*, org-2/project-2/chat, model-3...",
    )
    workers: PositiveInt = Field(1, description="How many worker processes the proxy has.")
    bare: bool = Field(default=False, description="Whether it has no database, no Redis, and no key but its master's.")
    env: dict[str, str] = Field({}, description="Environment variables of the proxy, beside those of the stack.")
    warm_up: NonNegativeFloat | None = Field(
        None, description="Seconds of each window of its warm-up, if not the session's; 0: it is met cold."
    )
    settings: dict[str, Any] = Field({}, description="Laid over the proxy's generated YAML, section by section.")
    load: dict[str, Any] = Field({}, description="Laid over the load of all arms: what this one is sent otherwise.")
    function: str = Field("", description="For a function: package.module:name; called with a seed, returns a number.")
    arguments: dict[str, Any] = Field({}, description="For a function: what else it is called with.")

    @model_validator(mode="before")
    @classmethod
    def _only_a_proxy_has_a_version(cls, told: Any) -> Any:
        """Summaries of functions and of the mock name the default of their day, which says nothing about them."""
        if isinstance(told, dict) and told.get("subject", Kind.PROXY) in (Kind.MOCK, Kind.FUNCTION):
            return told | {"litellm": ""}
        return told

    @model_validator(mode="after")
    def _function_has_a_name(self) -> Self:
        if (self.subject is Kind.FUNCTION) != bool(self.function):
            raise ValueError("an arm has a function if, and only if, its subject is `function`")
        if self.groups > 1 and not self.accounts:
            raise ValueError("groups have accounts: say how many `accounts` each of them has")
        if self.subject is Kind.FUNCTION and self.load:
            raise ValueError("nothing is sent to a function: leave out its load")
        if self.patch in OF_CALLBACK and self.prometheus is not Prometheus.STOCK:
            raise ValueError('it is LiteLLM\'s own callback that is patched: this needs prometheus = "stock"')
        if self.patch is Patch.PLUGIN_EARLY_RETURN and self.prometheus is not Prometheus.EVENKEEL:
            raise ValueError('it is the plugin\'s callback that is patched: this needs prometheus = "evenkeel"')
        if self.patch in OF_ROTATION and self.rotation is not Rotation.EVENKEEL:
            raise ValueError('it is the rotation that is patched: this needs rotation = "evenkeel"')
        return self
