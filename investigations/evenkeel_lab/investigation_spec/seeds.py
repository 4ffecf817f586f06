"""Fields of `seeds.toml`: the statements of the documents that this project grew from, each with its ruling."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Self

from pydantic import Field, ValidationError, model_validator

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec.base import Part, Text
from evenkeel_lab.investigation_spec.validation_errors import describe, hint

if TYPE_CHECKING:
    from pathlib import Path

FILE = "seeds.toml"


class ClaimReference(Part):
    """A claim of a study, or one of its statements that were not measured."""

    study: Text = Field(description="The study.")
    says: Text = Field(description="The beginning of the statement, as the study has it.")


class Row(Part):
    """A statement, and what was made of it: exactly one of `claims`, `shown` and `ruled`."""

    says: Text = Field(description="The statement.")
    claims: list[ClaimReference] = Field([], description="The claims that test it.")
    shown: str = Field("", description="Where it is shown or answered, if it is no measured effect: a page or a test.")
    ruled: str = Field("", description="The reason why it cannot be measured here.")
    open: str = Field("", description="What is still to be done.")

    @model_validator(mode="after")
    def _has_one_answer(self) -> Self:
        if sum(map(bool, (self.claims, self.shown, self.ruled, self.open))) != 1:
            raise ValueError("a statement has exactly one of `claims`, `shown`, `ruled` and `open`")
        return self


class Seed(Part):
    """One of the documents, or a part of it."""

    title: Text = Field(description="A few words.")
    rows: list[Row] = Field(description="Its statements.", min_length=1)


class Seeds(Part):
    """All of the file."""

    about: Text = Field(description="The introduction of the page.")
    seeds: list[Seed] = Field(description="The documents.", min_length=1)


def read_seeds(root: Path) -> Seeds | None:
    """Read the file of a project, or return `None` if it has none."""
    path = root / FILE
    if not path.is_file():
        return None
    try:
        return Seeds.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise WrongUse(f"{path} cannot be read: {error}.", hint="Restore it from git.") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise WrongUse(f"{path}: {describe(first)}.", hint=hint(Seeds, first)) from error
