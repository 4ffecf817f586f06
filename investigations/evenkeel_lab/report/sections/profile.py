"""Section on the CPU profile of each arm."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.section import section
from evenkeel_lab.report.markdown import paragraph
from evenkeel_lab.runner.results.store import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData

ANOTHER = "The profile was recorded with another version of this investigation than its pairs."


def profile(data: ReportData, pictures: Mapping[str, str]) -> str:
    """Return the tables and flame graphs of a profile, or nothing if there is none."""
    if data.profile is None:
        return ""
    lines = section(data.profile, pictures, PurePosixPath(data.summary.name).name)
    if data.profile.digest != digest(data.investigation):
        lines[2:2] = [paragraph(ANOTHER), ""]
    return "\n".join(lines).rstrip()
