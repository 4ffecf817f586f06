"""What a `book.toml` may say: one question that takes several investigations, each of them a chapter of its own.

A chapter is a folder below the book's, with a file, a summary and a report as any investigation has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from evenkeel_lab.errors import nearest
from evenkeel_lab.investigation_spec.base import Effect, Name, Part, Text
from evenkeel_lab.investigation_spec.quotation import Finding, Share, Telling, quotations
from evenkeel_lab.stats import Scale
from evenkeel_lab.stats.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Container


class Statement(Part):
    """What somebody else has found or believed."""

    source: Text = Field(description="Where it is from.")
    says: Text = Field(description="What it says.")
    why: str = Field("", description="Why it came out as it did, in words, which may quote what was measured.")


class Claim(Statement, Finding):
    """A statement, and the effects with which it would be true."""

    between: tuple[Effect, Effect] = Field(description="It is true of effects from the first to the second.")

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.between[0] >= self.between[1]:
            raise ValueError("between: the first effect is the smaller one")
        if self.told is Telling.MEASURED:
            raise ValueError("told: a claim is one of an effect, a share or a factor")
        return self


class Unmeasured(Statement):
    """A statement that was not put to the test."""

    why: Text = Field(description="Why it was not, in words, which may quote what was measured.")


class Cure(Finding):
    """What somebody can do about it."""

    does: Text = Field(description="What is to be done.")

    @model_validator(mode="after")
    def _can_be_ranked(self) -> Self:
        if METRICS[self.figure].usual.scale is Scale.POINTS:
            raise ValueError(f"{self.figure} is a share", "Cures are ranked by factors: choose another figure.")
        if self.told is not Telling.EFFECT:
            raise ValueError("told: cures are told as effects", "Leave `told` out.")
        return self


class Book(Part):
    """All of the file."""

    title: Text = Field(description="A few words.")
    question: Text = Field(description="What is asked.")
    answer: str = Field("", description="What was found, in words, which may quote what was measured.")
    method: Text = Field(description="How it is measured, in five lines.")
    limits: list[Text] = Field(description="What it does not say, which may quote what was measured.")
    chapters: list[Name] = Field(
        description="The chapters' folders, in the order in which they are read.", min_length=1
    )
    claims: list[Claim] = Field([], description="What others found.")
    unmeasured: list[Unmeasured] = Field([], description="What others found that was not put to the test.")
    cures: list[Cure] = Field([], description="What can be done, measured; ranked by what it brings.")
    quick: list[Name] = Field([], description="Which chapters `--quick` measures; all of them if it is not said.")

    @property
    def quotations(self) -> list[Finding | Share]:
        """What is quoted in words."""
        told = (self.answer, *self.limits, *(one.why for one in (*self.claims, *self.unmeasured)))
        return [one for words in told for one in quotations(words)]

    def only(self, chapters: Container[str]) -> Self:
        """Return a book of some of the chapters, which claims nothing."""
        some = [one for one in self.chapters if one in chapters]
        nothing: dict[str, Any] = {name: [] for name in ("claims", "unmeasured", "cures", "quick")}
        return self.model_copy(update=nothing | {"chapters": some, "answer": ""})

    @model_validator(mode="after")
    def _chapters_are_there(self) -> Self:
        if any(len(set(some)) < len(some) for some in (self.chapters, self.quick)):
            raise ValueError("a chapter is named twice")
        named = [*(one.chapter for one in (*self.claims, *self.cures, *self.quotations)), *self.quick]
        for name in named:
            if name not in self.chapters:
                raise ValueError(f"there is no chapter {name!r}", nearest(name, self.chapters))
        return self
