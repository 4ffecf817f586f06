"""What a book points at in its chapters: by fields of a table, or by a quotation in its words.

`{bug: stock, throughput}` is what the arm does to the figure against the chapter's baseline; `{mends: cached_budgets
against stock, p50}` against another arm; `{share_3: pick, value as a share}` which part the arm's figure is of the
other's; `{wal_reads: wal, value as a factor}` how many times the arm's figure the other's is, as speed is told;
`{dead: late_1, value as measured}` how large the arm's figure is by itself; `{parts: share of budgets}` what a switch
explains of the cost that the chapter takes apart. Whoever writes words about what was measured so writes no number by
hand.
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
    r"(?: as (?:a )?(?P<told>share|factor|measured))?"
)
SHARE = re.compile(rf"(?P<chapter>{NAMED}): share of (?P<switch>{NAMED})")
GRAMMAR = (
    "Write {CHAPTER: ARM, FIGURE}, {CHAPTER: ARM against ARM, FIGURE}, either with `as a share` or `as a factor` after "
    "the figure, {CHAPTER: ARM, FIGURE as measured}, or {CHAPTER: share of SWITCH}."
)


def check_figure(name: str) -> None:
    """Raise for what is no figure."""
    if name not in METRICS:
        raise ValueError(f"there is no figure {name!r}", nearest(name, METRICS))


class Telling(StrEnum):
    """How two arms, or one of them, are told."""

    EFFECT = "effect"
    """How much larger or smaller the arm's figure is than the other's."""
    SHARE = "share"
    """Which part of the other's it is."""
    FACTOR = "factor"
    """How many times as large the other's is: of a time, how many times as fast the arm is."""
    MEASURED = "measured"
    """How large it is, whatever the other's is."""


RATIOS = (Telling.SHARE, Telling.FACTOR)


class Finding(Part):
    """What one arm of a chapter shows in one figure, against another one."""

    chapter: Name = Field(description="In which chapter it is measured.")
    arm: Name = Field(description="The arm.")
    against: Name | None = Field(None, description="The arm that it has met there; if not given, the baseline.")
    figure: str = Field(description="The figure that tells.")
    told: Telling = Field(Telling.EFFECT, description="How it is told: as an effect, a share or a factor.")

    @model_validator(mode="after")
    def _figure_is_one(self) -> Self:
        check_figure(self.figure)
        if self.told in RATIOS and METRICS[self.figure].usual.scale is Scale.POINTS:
            raise ValueError(f"{self.figure} is a share itself", f"Leave `as a {self.told}` out.")
        if self.told is Telling.MEASURED and self.against:
            raise ValueError(f"{self.figure} as measured is {self.arm}'s own", f"Leave `against {self.against}` out.")
        return self


class Share(Part):
    """What a switch explains of the cost that a chapter takes apart."""

    chapter: Name
    switch: Name


def quotations(words: str) -> Iterator[Finding | Share]:
    """Yield what a text quotes."""
    rest = QUOTATION.sub("", words)
    if stray := next((one for one in rest if one in "{}"), None):
        raise ValueError(f"a brace stands alone: {stray}{rest.partition(stray)[2][:20]}", GRAMMAR)
    yield from map(quoted, QUOTATION.findall(words))


def quoted(words: str) -> Finding | Share:
    """Return what is meant by what stands between braces."""
    if found := SHARE.fullmatch(words):
        return Share.model_validate(found.groupdict())
    if found := EFFECT.fullmatch(words):
        check_figure(found["figure"])
        return Finding.model_validate({name: told for name, told in found.groupdict().items() if told})
    raise ValueError(f"{{{words}}} quotes nothing", GRAMMAR)
