"""Fields of `overview.toml`: the findings that a reader should know first."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec.base import Name, Part, Text
from evenkeel_lab.investigation_spec.validation_errors import describe, hint

if TYPE_CHECKING:
    from pathlib import Path

FILE = "overview.toml"


class KeyFinding(Part):
    """The effect of an arm on a metric, against the baseline of its investigation."""

    says: Text = Field(description="What was changed, in a few words.")
    investigation: Text = Field(description="The investigation.")
    arm: Name = Field(description="The arm.")
    metric: Text = Field(description="The metric.")


class Overview(Part):
    """All of the file."""

    findings: list[KeyFinding] = Field(description="The findings, in the order of the page.", min_length=1)


def read_overview(root: Path) -> Overview | None:
    """Read the file of a project, or return `None` if it has none."""
    path = root / FILE
    if not path.is_file():
        return None
    try:
        return Overview.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise WrongUse(f"{path} cannot be read: {error}.", hint="Restore it from git.") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise WrongUse(f"{path}: {describe(first)}.", hint=hint(Overview, first)) from error
