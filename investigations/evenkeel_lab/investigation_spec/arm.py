"""Arms: the subjects that an investigation compares."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from evenkeel_lab.investigation_spec.base import Part, Text
from evenkeel_lab.stack.litellm.config import Journal, Prometheus, Rotation
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION


class Patch(StrEnum):
    """Changes to LiteLLM or to the plugin that an arm is measured with; see patches_of_proxy.py."""

    NONE = ""
    EARLY_RETURN = "early_return"
    """LiteLLM's Prometheus callback returns at once."""
    SKIP_UPDATES = "skip_updates"
    """The callback updates no metrics, but looks budgets up."""
    SKIP_BUDGETS = "skip_budgets"
    """The callback looks no budgets up."""
    BACKGROUND_BUDGETS = "background_budgets"
    """The callback looks budgets up in a background task."""
    PARALLEL_BUDGETS = "parallel_budgets"
    """The callback looks up all budgets of a request at once."""
    CACHED_BUDGETS = "cached_budgets"
    """The callback reads the proxy's cache before the database, which is the fix of 1.81.9."""
    LARGE_KEY_CACHE = "large_key_cache"
    """The proxy's cache of keys, teams and users has no size limit."""
    SLOWER = "slower"
    """Each request takes more CPU time, by the share in the environment variable SLOWER_SHARE."""
    JUMPING_CLOCK = "jumping_clock"
    """The clock is an hour ahead while a file exists."""
    PLUGIN_EARLY_RETURN = "plugin_early_return"
    """The plugin's Prometheus callback returns at once."""
    PLUGIN_FRESH_SNAPSHOTS = "plugin_fresh_snapshots"
    """The rotation makes a new snapshot for every request."""
    PLUGIN_NO_CANDIDATE_CACHE = "plugin_no_candidate_cache"
    """The rotation builds the candidate set again for every request."""


ROTATION_PATCHES = frozenset({Patch.PLUGIN_FRESH_SNAPSHOTS, Patch.PLUGIN_NO_CANDIDATE_CACHE})
CALLBACK_PATCHES = (
    frozenset(Patch)
    - ROTATION_PATCHES
    - {Patch.NONE, Patch.LARGE_KEY_CACHE, Patch.SLOWER, Patch.JUMPING_CLOCK, Patch.PLUGIN_EARLY_RETURN}
)


class Kind(StrEnum):
    """Kinds of subjects."""

    PROXY = "proxy"
    MOCK = "mock"
    FUNCTION = "function"


class Arm(Part):
    """One subject of the comparison, with its load."""

    about: Text = Field(description="A few words that describe it.")
    subject: Kind = Field(
        Kind.PROXY, description="The kind of subject: a proxy, the mock itself, or a function of ours."
    )
    litellm: str = Field(DEFAULT_VERSION, description="The LiteLLM version of a proxy.")
    prometheus: Prometheus = Field(
        Prometheus.OFF, description="The Prometheus callback: off, stock (LiteLLM's own) or evenkeel."
    )
    patch: Patch = Field(Patch.NONE, description="A change to LiteLLM or to the plugin, by name.")
    rotation: Rotation = Field(
        Rotation.OFF, description="The router: LiteLLM's own (off) or a strategy of it, or the plugin's (evenkeel)."
    )
    journal: Journal = Field(Journal.OFF, description="The store of the plugin's journal: off, sqlite or postgres.")
    accounts: NonNegativeInt = Field(
        0, description="The number of accounts behind the model, without limits; 0: a single account without a name."
    )
    groups: PositiveInt = Field(
        1,
        description="The number of model groups (model-0, tenant-1/*, org-2/project-2/chat, ...), each with all.",
    )
    workers: PositiveInt = Field(1, description="The number of the proxy's worker processes.")
    bare: bool = Field(
        default=False,
        description="Whether the proxy runs without database, without Redis, and with its master key only.",
    )
    env: dict[str, str] = Field({}, description="Further environment variables of the proxy.")
    warm_up: NonNegativeFloat | None = Field(
        None, description="Seconds of each window of its warm-up, if not the session's; 0: no warm-up."
    )
    settings: dict[str, Any] = Field({}, description="Settings that override those of the proxy's generated YAML.")
    load: dict[str, Any] = Field({}, description="Load options that override those of all arms.")
    function: str = Field(
        "", description="Of a function: package.module:name. It is called with a seed and returns a number."
    )
    arguments: dict[str, Any] = Field({}, description="Of a function: further keyword arguments.")

    @model_validator(mode="before")
    @classmethod
    def _only_a_proxy_has_a_version(cls, fields: Any) -> Any:
        """Remove the version of functions and of the mock: their summaries have the default of their day."""
        if isinstance(fields, dict) and fields.get("subject", Kind.PROXY) in (Kind.MOCK, Kind.FUNCTION):
            return fields | {"litellm": ""}
        return fields

    @model_validator(mode="after")
    def _function_has_a_name(self) -> Self:
        if (self.subject is Kind.FUNCTION) != bool(self.function):
            raise ValueError("an arm has a `function` if, and only if, its subject is `function`")
        if self.groups > 1 and not self.accounts:
            raise ValueError("several groups need `accounts`: the number of accounts of each group")
        if self.subject is Kind.FUNCTION and self.load:
            raise ValueError("a function gets no requests: leave out its `load`")
        if self.patch in CALLBACK_PATCHES and self.prometheus is not Prometheus.STOCK:
            raise ValueError('this patch changes LiteLLM\'s own callback: it needs prometheus = "stock"')
        if self.patch is Patch.PLUGIN_EARLY_RETURN and self.prometheus is not Prometheus.EVENKEEL:
            raise ValueError('this patch changes the plugin\'s callback: it needs prometheus = "evenkeel"')
        if self.patch in ROTATION_PATCHES and self.rotation is not Rotation.EVENKEEL:
            raise ValueError('this patch changes the rotation: it needs rotation = "evenkeel"')
        return self
