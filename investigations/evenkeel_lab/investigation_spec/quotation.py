"""References of a study to measured values: by the fields of a table, or by a quotation in a text.

A quotation is replaced by the measured value, so that texts contain no numbers written by hand:

- `{bug: stock, throughput}`: the effect of the arm on the metric, against the chapter's baseline;
- `{mends: cached_budgets against stock, p50}`: against another arm;
- `{bug: stock, throughput lower}`: the effect without its sign, in a sentence that says its direction;
- `{share_3: pick, value as a share}`: the arm's value as a share of the baseline's;
- `{concurrency: hundred, mean as a multiple}`: the arm's value as a multiple of the baseline's;
- `{wal_reads: wal, value as a factor}`: the baseline's value as a multiple of the arm's, as speeds are compared;
- `{dead: late_1, value as measured}`: the arm's value itself;
- `{parts: share of budgets}`: the share of a cost that a switch of the chapter's ablation explains.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from pydantic import Field, model_validator

from evenkeel_lab.errors import nearest
from evenkeel_lab.investigation_spec.base import NAME, Name, Part
from evenkeel_lab.stats import Scale
from evenkeel_lab.stats.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

QUOTATION = re.compile(r"\{([^{}]*)\}")
NAMED = NAME.strip("^$")
EFFECT = re.compile(
    rf"(?P<chapter>{NAMED}): (?P<arm>{NAMED})(?: against (?P<against>{NAMED}))?, (?P<figure>\S+)"
    r"(?: as (?:a )?(?P<form>share|multiple|factor|measured)| (?P<direction>lower|higher))?"
)
SHARE = re.compile(rf"(?P<chapter>{NAMED}): share of (?P<switch>{NAMED})")
GRAMMAR = (
    "Write {CHAPTER: ARM, METRIC} or {CHAPTER: ARM against ARM, METRIC}, either with `lower`, `higher`, `as a share`, "
    "`as a multiple` or `as a factor` after the metric; {CHAPTER: ARM, METRIC as measured}; or {CHAPTER: share of "
    "SWITCH}."
)


def check_metric(name: str) -> None:
    """Raise `ValueError` if there is no metric of this name."""
    if name not in METRICS:
        raise ValueError(f"there is no metric {name!r}", nearest(name, METRICS))


class Form(StrEnum):
    """Forms of a quoted value."""

    EFFECT = "effect"
    """The relative difference of the arm's value from the other's."""
    LOWER = "lower"
    """By how much the arm's value is lower."""
    HIGHER = "higher"
    """By how much it is higher."""
    SHARE = "share"
    """The arm's value as a share of the other's."""
    MULTIPLE = "multiple"
    """The arm's value as a multiple of the other's: of a time, the slow-down."""
    FACTOR = "factor"
    """The other's value as a multiple of the arm's: of a time, the speed-up."""
    MEASURED = "measured"
    """The arm's value itself."""


RATIOS = (Form.SHARE, Form.MULTIPLE, Form.FACTOR)
OF_TEXT = (Form.LOWER, Form.HIGHER, Form.MULTIPLE, Form.MEASURED)
"""Forms of quotations only."""


class Finding(Part):
    """A metric of one arm of a chapter, against another arm."""

    chapter: Name = Field(description="The chapter that measures it.")
    arm: Name = Field(description="The arm.")
    against: Name | None = Field(None, description="The arm that it is compared with; by default the baseline.")
    figure: str = Field(description="The metric.")
    form: Form = Field(Form.EFFECT, description="The form of its value: effect, share or factor.")

    @model_validator(mode="after")
    def _is_valid_finding(self) -> Self:
        check_metric(self.figure)
        if self.form in RATIOS and METRICS[self.figure].usual.scale is Scale.POINTS:
            raise ValueError(f"{self.figure} is a share itself", f"Leave `as a {self.form}` out.")
        if self.form is Form.MEASURED and self.against:
            raise ValueError(f"{self.figure} as measured is {self.arm}'s own", f"Leave `against {self.against}` out.")
        return self


class Share(Part):
    """The share of a cost that a switch of a chapter's ablation explains."""

    chapter: Name
    switch: Name


def quotations(text: str) -> Iterator[Finding | Share]:
    """Yield the quotations of a text."""
    rest = QUOTATION.sub("", text)
    if stray := next((character for character in rest if character in "{}"), None):
        raise ValueError(f"a brace stands alone: {stray}{rest.partition(stray)[2][:20]}", GRAMMAR)
    yield from map(quoted, QUOTATION.findall(text))


def quoted(text: str) -> Finding | Share:
    """Return the reference in a quotation, whose `text` is what stands between the braces."""
    if match := SHARE.fullmatch(text):
        return Share.model_validate(match.groupdict())
    if match := EFFECT.fullmatch(text):
        check_metric(match["figure"])
        fields = match.groupdict()
        direction = fields.pop("direction")
        fields["form"] = fields["form"] or direction
        return Finding.model_validate({name: value for name, value in fields.items() if value})
    raise ValueError(f"{{{text}}} is no quotation", GRAMMAR)
