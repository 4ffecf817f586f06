"""The contract in `contract.toml`: the names of LiteLLM that the plugin uses."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from evenkeel_lab.errors import WrongUse
from litellm_evenkeel.compatibility import release

FILE = Path(__file__).with_name("contract.toml")
Kind: TypeAlias = Literal[
    "module", "class", "function", "async function", "hook", "async hook", "attribute", "setting", "metric", "text"
]


class Entry(BaseModel):
    """A name of LiteLLM that the plugin uses."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    kind: Kind
    why: str
    needed_by: Annotated[tuple[str, ...], Field(min_length=1)]
    """The modules of the plugin that need it."""
    any_of: tuple[str, ...] = ()
    """Alternative names, of which one is enough."""
    since: str | None = None
    """The first version that has it; the plugin does without in older ones."""
    until: str | None = None
    """The first version that lacks it; the plugin does without from then on."""
    within: tuple[str, ...] = ()
    """The modules one of which has a metric or a text as a string."""
    parameters: tuple[str, ...] | None = None
    """The parameters that it must have; `None` if they are not checked."""
    optional_parameters: tuple[str, ...] = ()
    """Parameters that the plugin passes, or that its hook takes, if LiteLLM has them."""
    takes_any: bool = False
    """Whether the plugin's hook takes any parameter."""
    bases: tuple[str, ...] = ()
    """Base classes that a class must have."""
    members: tuple[str, ...] = ()
    """Members that a class must have, such as fields that the plugin reads by name."""

    opaque: bool = False
    """Whether its members, or its result, are not LiteLLM's: the plugin may use any of them."""

    @property
    def names(self) -> tuple[str, ...]:
        """The name and its alternatives."""
        return (self.name, *self.any_of)

    def applies_to(self, version: str) -> bool:
        """Whether the plugin needs the name in `version`."""
        number = release(version)
        is_old = self.since is not None and number < release(self.since)
        is_new = self.until is not None and number >= release(self.until)
        return not is_old and not is_new


@cache
def contract(path: Path = FILE) -> tuple[Entry, ...]:
    """Read the contract."""
    try:
        document = tomllib.loads(path.read_text())
        return tuple(Entry(name=name, **fields) for name, fields in document.items())
    except (ValueError, TypeError) as error:
        raise WrongUse(f"{path}: {error}", hint="Write it like the other entries.") from error
