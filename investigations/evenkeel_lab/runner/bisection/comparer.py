"""Comparisons for a search: within a time, and in spite of releases that cannot be measured."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.errors import DiskFull, MissingTool, RigFailure, UnknownVersion
from evenkeel_lab.runner.bisection.comparison import compare_releases, known_effects

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.bisection.boots import BootEffects
    from evenkeel_lab.runner.bisection.comparison import Plan

# Errors that no other release would avoid.
FATAL = (MissingTool, DiskFull)


@dataclass
class Comparer:
    """Compares releases with the good one until a time."""

    plan: Plan
    steps: Steps
    until: float
    """The end of its time, by the monotonic clock."""
    report: Callable[[str], None]
    """Called with a line of text after each boot, and for each release that is left out."""

    def is_late(self) -> bool:
        """Return whether there is no time for another boot."""
        return time.monotonic() + self.plan.boot_seconds > self.until

    async def measure(self, release: str, is_enough: Callable[[BootEffects], bool]) -> BootEffects | None:
        """Compare a release with the good one, until `is_enough` or until the time is over.

        A failure may be a coincidence, so the comparison is tried twice. If it fails again, the boots so far count;
        `None` if there are none.
        """
        known = known_effects(self.plan, [release]).get(release, self.plan.no_effects)
        if self.is_late():
            return known
        for is_last in (False, True):
            try:
                return await self._compare(release, is_enough)
            except FATAL:
                raise
            except (RigFailure, UnknownVersion) as error:
                is_left_out = is_last or isinstance(error, UnknownVersion)
                again = "" if is_left_out else ", and is tried again"
                self.report(f"{release} could not be compared{again}: {error}")
                if is_left_out:
                    break
        return known_effects(self.plan, [release]).get(release)

    async def _compare(self, release: str, is_enough: Callable[[BootEffects], bool]) -> BootEffects:
        def is_enough_of(effects: BootEffects) -> bool:
            if effects.effects or effects.invalid:
                invalid = f"; the last one does not count: {effects.invalid[-1]}" if effects.invalid else ""
                self.report(f"{release}: {self.plan.figure} {effects.text}{invalid}")
            return is_enough(effects)

        return await compare_releases(self.plan, release, is_enough_of, is_late=self.is_late, steps=self.steps)
