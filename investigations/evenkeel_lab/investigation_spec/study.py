"""Fields of a `study.toml`: a question that takes several investigations, which are its chapters.

A chapter is a folder below the study's, with a file, a summary and a report as any investigation has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from evenkeel_lab.errors import nearest
from evenkeel_lab.investigation_spec.base import Effect, Name, Part, Text
from evenkeel_lab.investigation_spec.quotation import OF_TEXT, Finding, Form, Share, quotations
from evenkeel_lab.stats import Scale
from evenkeel_lab.stats.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Container


# The figure that each study has.
ANSWERS = "answers"


class Statement(Part):
    """A published finding or belief."""

    source: Text = Field(description="Its source.")
    says: Text = Field(description="The statement.")
    why: str = Field("", description="An explanation of the result. It may contain quotations.")


class Claim(Statement, Finding):
    """A statement, and the range of effects that would confirm it."""

    between: tuple[Effect, Effect] = Field(description="The smallest and the largest effect that confirm it.")

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.between[0] >= self.between[1]:
            raise ValueError("between: the first effect must be the smaller one")
        if self.form in OF_TEXT:
            raise ValueError("form: expected effect, share or factor")
        return self


class Unmeasured(Statement):
    """A statement that was not tested."""

    why: Text = Field(description="The reason. It may contain quotations.")


class Cure(Finding):
    """A remedy, and the finding that shows its effect."""

    does: Text = Field(description="The remedy.")

    @model_validator(mode="after")
    def _can_be_ranked(self) -> Self:
        if METRICS[self.figure].usual.scale is Scale.POINTS:
            raise ValueError(f"{self.figure} is a share", "Cures are ranked by factors: choose another metric.")
        if self.form is not Form.EFFECT:
            raise ValueError("form: the form of a cure is effect", "Leave `form` out.")
        return self


class FigureRow(Finding):
    """A row of a figure: a measured effect with its interval."""

    label: Text = Field(description="The label of the row.")
    published: Effect | None = Field(
        None, description="The effect that a source states, drawn beside the measured one."
    )


class FigureGroup(Part):
    """Rows of a figure with one metric, below a heading."""

    heading: Text = Field(description="The heading.")
    rows: list[FigureRow] = Field(description="The rows, from top to bottom.", min_length=1)

    @model_validator(mode="after")
    def _has_one_metric(self) -> Self:
        if len({row.figure for row in self.rows}) > 1:
            raise ValueError("rows: expected one metric in all rows of a group")
        return self


class StudyFigure(Part):
    """A figure of measured effects on the page of the study."""

    name: Name = Field(description="The name of its file.")
    title: Text = Field(description="Its title.")
    groups: list[FigureGroup] = Field(description="The groups, from top to bottom.", min_length=1)


class Study(Part):
    """All of the file."""

    title: Text = Field(description="A few words.")
    question: Text = Field(description="The question.")
    short: str = Field("", description="The answer in one or two sentences. It may contain quotations.")
    advice: str = Field("", description="What an operator should do, in one or two sentences.")
    answer: str = Field("", description="The answer. It may contain quotations.")
    method: Text = Field(description="The method, in five lines.")
    limits: list[Text] = Field(description="The limits of the answer. They may contain quotations.")
    chapters: list[Name] = Field(description="The chapters' folders, in reading order.", min_length=1)
    claims: list[Claim] = Field([], description="Published statements that were tested.")
    unmeasured: list[Unmeasured] = Field([], description="Published statements that were not tested.")
    cures: list[Cure] = Field([], description="Remedies, ranked by their measured effect.")
    figures: list[StudyFigure] = Field([], description="Figures of effects from several chapters.")
    quick: list[Name] = Field([], description="The chapters that `--quick` measures; by default all.")

    @property
    def quotations(self) -> list[Finding | Share]:
        """The quotations in all texts."""
        texts = (
            self.short,
            self.advice,
            self.answer,
            *self.limits,
            *(statement.why for statement in (*self.claims, *self.unmeasured)),
        )
        return [quotation for text in texts for quotation in quotations(text)]

    def only(self, chapters: Container[str]) -> Self:
        """Return the study with some of its chapters only, and without claims, cures, figures and an answer."""
        some = [chapter for chapter in self.chapters if chapter in chapters]
        nothing: dict[str, Any] = {name: [] for name in ("claims", "unmeasured", "cures", "figures", "quick")}
        return self.model_copy(update=nothing | {"chapters": some, "answer": "", "short": "", "advice": ""})

    @model_validator(mode="after")
    def _chapters_are_there(self) -> Self:
        if any(len(set(names)) < len(names) for names in (self.chapters, self.quick)):
            raise ValueError("a chapter is named twice")
        figures = [ANSWERS, *(figure.name for figure in self.figures)]
        if len(set(figures)) < len(figures):
            raise ValueError("figures: expected a name of its own for each", f"The figure {ANSWERS} is always there.")
        rows = [row for figure in self.figures for group in figure.groups for row in group.rows]
        references = (*self.claims, *self.cures, *rows, *self.quotations)
        named = [*(reference.chapter for reference in references), *self.quick]
        for name in named:
            if name not in self.chapters:
                raise ValueError(f"there is no chapter {name!r}", nearest(name, self.chapters))
        return self
