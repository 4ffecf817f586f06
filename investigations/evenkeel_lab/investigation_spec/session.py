"""The plan of a session: the design of its pairs, the lives of its proxies, and when it may be judged."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from evenkeel_lab.investigation_spec.base import Part
from evenkeel_lab.stats import check_looks


class Design(StrEnum):
    """Designs of a pair of runs."""

    DUETS = "duets"
    """Both at the same time, each proxy on its own cores; they swap cores regularly."""
    ALTERNATING = "alternating"
    """One after the other, in random order."""
    BLOCKS = "blocks"
    """All arms one after the other, in random order. The baseline's run is compared with those of all others."""


class Subjects(StrEnum):
    """Lifetimes of a proxy."""

    KEPT = "kept"
    """All proxies run side by side, for the whole session."""
    FRESH = "fresh"
    """Each pair has new proxies, with empty databases."""


class Key(StrEnum):
    """States of a run's key when the run begins."""

    KNOWN = "known"
    """It has just been used."""
    FORGOTTEN = "forgotten"
    """It was used more than a minute ago: the proxy's caches have lost it."""
    NEW = "new"
    """It was never used."""


class Session(Part):
    """The plan of a session's runs."""

    design: Design = Field(Design.DUETS, description="The design of a pair of runs: duets, alternating or blocks.")
    subjects: Subjects = Field(Subjects.KEPT, description="Whether proxies are kept for all pairs, or fresh for each.")
    looks: list[PositiveInt] = Field(
        [6, 12, 24], description="The numbers of pairs after which the session may be judged."
    )
    always_valid: bool = Field(
        default=False,
        description="Whether intervals hold whenever the session stops: it may be judged after each pair, and ends "
        "when all verdicts are settled. `looks` is then the maximum number of pairs.",
    )
    pairs_per_boot: NonNegativeInt = Field(
        0,
        description="The number of pairs after which all proxies are booted anew; 0: never. Boots are then the unit: "
        "each counts with the mean of its pairs.",
    )
    seconds: PositiveFloat | None = Field(
        None,
        description="The maximum duration once everything is installed. No pair that would end later begins, unless a "
        "verdict needs it; then the session may take half as long again.",
    )
    key: Key = Field(
        Key.KNOWN,
        description="The key of a run, which no other run has: used just before (known), last used more than a "
        "minute ago, when the caches of LiteLLM have lost it (forgotten), or never used (new).",
    )
    seed: int = Field(1, ge=0, description="The seed of orders, cores and arrivals.")
    warm_up: NonNegativeFloat = Field(
        5.0,
        description="Seconds of each window of a subject's warm-up, if its load has a duration; 0: no warm-up.",
    )
    noise: bool = Field(default=True, description="Whether a second baseline and the mock alone are measured too.")

    @model_validator(mode="after")
    def _looks_are_valid(self) -> Self:
        check_looks(self.looks)
        if self.always_valid and len(self.looks) > 1:
            raise ValueError("looks: with always_valid, it is one number: the maximum number of pairs")
        if self.pairs_per_boot and self.subjects is Subjects.FRESH:
            raise ValueError("pairs_per_boot: fresh subjects are booted for each pair", "Leave one of both out.")
        if self.pairs_per_boot and any(look % self.pairs_per_boot for look in self.looks):
            raise ValueError("looks: expected multiples of pairs_per_boot")
        return self
