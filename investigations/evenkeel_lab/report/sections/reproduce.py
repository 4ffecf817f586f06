"""Sections on reproducing a page, and on the provenance of its data."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted, duration
from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.report.caveats import pairs_done
from evenkeel_lab.report.markdown import fenced, paragraph, table, text
from evenkeel_lab.report.plots import FIGURES
from evenkeel_lab.report.report_data import confidence_level
from evenkeel_lab.stats import alpha_per_look

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.runner.results.summary import Summary

NS_PER_SECOND = 1e9
# A step longer than this factor times the median step contained a pause.
PAUSE_FACTOR = 3
UNKNOWN = "not known"
COMMIT_DIGITS = 8


def reproduce(data: ReportData, pictures: Mapping[str, str]) -> str:
    """Return the commands for this page and for a new session, and the code that draws one plot."""
    parts = ["## Reproduce", *_this_page(data), *_new_session(data)]
    # Flame graphs are drawn from a profile, not from a summary.
    drawn = [name for name in pictures if name in FIGURES]
    if drawn:
        where = f"investigations/{data.summary.name}/summary.json" if data.committed else "summary.json"
        parts += [
            paragraph(f"One figure, for example in a notebook ({', '.join(drawn)}):"),
            fenced(_code(drawn[0], where), "python"),
        ]
    return "\n\n".join(parts)


def _this_page(data: ReportData) -> list[str]:
    if not data.committed:
        return [paragraph("The summary of this session is not committed, so `evenkeel report` does not make its page.")]
    return [
        paragraph("This page and its figures, from the committed summary:"),
        fenced([f"evenkeel report {data.summary.name}"], "console"),
    ]


def _new_session(data: ReportData) -> list[str]:
    """Return the commands of a new session. They check out a commit only if all was measured with exactly that."""
    provenance = data.summary.provenance
    commit, took = provenance.get("commit"), duration(seconds(data.summary))
    lines = [f"evenkeel investigate {data.summary.name} --fresh"]
    replaced = ", which replaces the summary" if data.committed else ""
    about = f"A new session{replaced}; this one took {took}"
    if not data.committed:
        about += ", with options of its own, such as `--quick`"
    elif not commit:
        about += "; its commit is not known"
    elif any("commit" in change for change in provenance.get("later", [])):
        about += "; it was interrupted and resumed with another commit, so there is no single one to check out"
    elif provenance.get("dirty"):
        about += "; it was measured with uncommitted changes, so there is no commit to check out"
    else:
        lines.insert(0, f"git checkout {commit}")
    return [paragraph(f"{about}:"), fenced(lines, "console")]


def _code(figure: str, where: str) -> list[str]:
    return [
        "from pathlib import Path",
        "from evenkeel_lab.report.plots import FIGURES",
        "from evenkeel_lab.runner.results.analysis import judge_summary",
        "from evenkeel_lab.runner.results.summary import read",
        "",
        f'summary = read(Path("{where}"))',
        f'FIGURES["{figure}"].draw(summary, judge_summary(summary))',
    ]


def provenance(data: ReportData, _: Mapping[str, str]) -> str:
    """Return a table of the machine, versions, time and seeds."""
    origin, looks = data.summary.provenance, data.investigation.session.looks
    versions = ", ".join(f"{name} {version}" for name, version in sorted(origin.get("versions", {}).items()))
    alpha = alpha_per_look(looks)
    timed = data.investigation.session.seconds
    declared = "after the pairs that fitted into the time" if timed else f"after {', '.join(map(str, looks))} pairs"
    if data.investigation.session.always_valid:
        declared = f"after each pair, at most {looks[-1]}"
    errs = "together with an error" if data.investigation.session.always_valid else "each with an error"
    functions = all(arm.subject is Kind.FUNCTION for arm in data.investigation.arms.values())
    mock = "" if functions else f", mock {data.investigation.mock.seed}"
    rows = {
        "measured": f"{day(data.summary)}, {counted(pairs_done(data.summary), 'pair')}",
        "machine": _known(origin, "processor", "machine"),
        "cores, memory": f"{origin.get('cores', UNKNOWN)}, {origin.get('memory_gib', UNKNOWN)} GiB",
        "kernel": _known(origin, "kernel"),
        "Python": _known(origin, "python"),
        "versions": versions or UNKNOWN,
        "LiteLLM": _litellm(data),
        "commit": _known(origin, "commit") + (", with uncommitted changes" if origin.get("dirty") else ""),
        "resumed with": "; ".join(_changed(change) for change in origin.get("later", [])),
        "Prisma's engine": _known(origin, "engine") if data.litellm else "",
        "looks": f"{declared}, {errs} of {alpha * 100:.2g} %: {confidence_level(alpha)} intervals",
        "seeds": f"session {data.investigation.session.seed}{mock}",
    }
    shown = [[name, text(value)] for name, value in rows.items() if value]
    folded = ["<details><summary>Machine, versions, commit</summary>", table(("what", "which"), shown), "</details>"]
    return "\n\n".join(["## Provenance", *folded])


def _litellm(data: ReportData) -> str:
    """Return the versions of LiteLLM, with the way of installation if the summary has it."""
    installed = data.summary.provenance.get("installed", {})
    versions = [f"{version}, {installed[version]}" if version in installed else version for version in data.litellm]
    return ("; " if installed else ", ").join(versions)


def _changed(change: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in change.items())


def _known(origin: Mapping[str, object], *names: str) -> str:
    return ", ".join(str(origin[name]) for name in names if origin.get(name)) or UNKNOWN


def commit(summary: Summary) -> str:
    """Return the abbreviated commit of a session, or an empty text if unknown."""
    return str(summary.provenance.get("commit", ""))[:COMMIT_DIGITS]


def day(summary: Summary) -> str:
    """Return the day on which a session began, in UTC."""
    starts = [run.start_ns for runs in summary.done.values() for run in runs]
    if not starts:
        return "nothing"
    try:
        return dt.datetime.fromtimestamp(min(starts) // NS_PER_SECOND, tz=dt.UTC).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        return UNKNOWN


def seconds(summary: Summary) -> float:
    """Return the duration of a session in seconds, without pauses between interruption and resumption."""
    starts = sorted(min(run.start_ns for run in runs) / NS_PER_SECOND for runs in summary.done.values())
    longest = max((run.seconds for runs in summary.done.values() for run in runs), default=0.0)
    steps = [later - earlier for earlier, later in pairwise(starts)]
    usual = median(steps) if steps else 0.0
    return longest + sum(min(step, PAUSE_FACTOR * usual) for step in steps)
