"""How to get the same once more, and where and with what it was measured."""

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
from evenkeel_lab.report.report_data import level
from evenkeel_lab.stats import alpha_per_look

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import Case
    from evenkeel_lab.runner.results.summary import Summary

NS = 1e9
# A step that is so much longer than the usual one was a pause.
PAUSE = 3
UNKNOWN = "not known"
SHORT = 8


def reproduce(case: Case, pictures: Mapping[str, str]) -> str:
    """Return the commands for this page and for a new session, and the code that draws a figure alone."""
    parts = ["## How to reproduce it", *_this_page(case), *_new_session(case)]
    # A flame graph is drawn of a profile, not of a summary.
    drawn = [name for name in pictures if name in FIGURES]
    if drawn:
        where = f"investigations/{case.summary.name}/summary.json" if case.committed else "summary.json"
        parts += [
            paragraph(f"A figure alone, for example in a notebook; there are {', '.join(drawn)}:"),
            fenced(_code(drawn[0], where), "python"),
        ]
    return "\n\n".join(parts)


def _this_page(case: Case) -> list[str]:
    if not case.committed:
        return [paragraph("This session's summary is not committed, so that `evenkeel report` makes no page of it.")]
    return [
        paragraph("This page and its figures, from the summary that is committed:"),
        fenced([f"evenkeel report {case.summary.name}"], "console"),
    ]


def _new_session(case: Case) -> list[str]:
    """Say how to measure once more, and with what: a commit that it was not measured with would not be the same."""
    told = case.summary.provenance
    commit, took = told.get("commit"), duration(seconds(case.summary))
    lines = [f"evenkeel investigate {case.summary.name} --fresh"]
    place = ", whose summary takes the place of this one's" if case.committed else ""
    about = f"A new session{place}; this one took {took} on the machine below"
    if not case.committed:
        about += ", with options of its own, such as `--quick`"
    elif not commit:
        about += "; the commit that it was measured with is not known"
    elif any("commit" in change for change in told.get("later", [])):
        about += "; it was stopped and went on with another commit, so that there is no one to check out"
    elif told.get("dirty"):
        about += "; it was measured with changes beside its commit, so that there is none to check out"
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


def provenance(case: Case, _: Mapping[str, str]) -> str:
    """Say where, when and with what it was measured."""
    told, looks = case.summary.provenance, case.asked.session.looks
    versions = ", ".join(f"{name} {version}" for name, version in sorted(told.get("versions", {}).items()))
    alpha = alpha_per_look(looks)
    timed = case.asked.session.seconds
    declared = "after as many pairs as there was time for" if timed else f"after {', '.join(map(str, looks))} pairs"
    functions = all(arm.subject is Kind.FUNCTION for arm in case.asked.arms.values())
    mock = "" if functions else f", mock {case.asked.mock.seed}"
    rows = {
        "measured": f"{day(case.summary)}, {counted(pairs_done(case.summary), 'pair')}",
        "machine": _known(told, "processor", "machine"),
        "cores, memory": f"{told.get('cores', UNKNOWN)}, {told.get('memory_gib', UNKNOWN)} GiB",
        "kernel": _known(told, "kernel"),
        "Python": _known(told, "python"),
        "versions": versions or UNKNOWN,
        "LiteLLM": _litellm(case),
        "commit": _known(told, "commit") + (", and changes beside it" if told.get("dirty") else ""),
        "went on with": "; ".join(_changed(one) for one in told.get("later", [])),
        "Prisma's engine": _known(told, "engine") if case.litellm else "",
        "looks": f"{declared}, each errs at {alpha * 100:.2g} %: {level(alpha)} intervals",
        "seeds": f"session {case.asked.session.seed}{mock}",
    }
    shown = [[name, text(said)] for name, said in rows.items() if said]
    return "\n\n".join(["## Provenance", table(("what", "which"), shown)])


def _litellm(case: Case) -> str:
    """Name the versions, each with how it was installed, where a summary says so."""
    installed = case.summary.provenance.get("installed", {})
    several = [f"{version}, {installed[version]}" if version in installed else version for version in case.litellm]
    return ("; " if installed else ", ").join(several)


def _changed(change: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {said}" for name, said in change.items())


def _known(told: Mapping[str, object], *names: str) -> str:
    return ", ".join(str(told[name]) for name in names if told.get(name)) or UNKNOWN


def commit(summary: Summary) -> str:
    """Say with which commit a session was measured, in as few digits as tell it."""
    return str(summary.provenance.get("commit", ""))[:SHORT]


def day(summary: Summary) -> str:
    """Say on which day a session began."""
    starts = [run.start_ns for runs in summary.done.values() for run in runs]
    if not starts:
        return "nothing"
    try:
        return dt.datetime.fromtimestamp(min(starts) // NS, tz=dt.UTC).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        return UNKNOWN


def seconds(summary: Summary) -> float:
    """Return for how long a session measured, without the pauses of one that was stopped and went on."""
    found = sorted(min(run.start_ns for run in runs) / NS for runs in summary.done.values())
    longest = max((run.seconds for runs in summary.done.values() for run in runs), default=0.0)
    steps = [later - one for one, later in pairwise(found)]
    usual = median(steps) if steps else 0.0
    return longest + sum(min(step, PAUSE * usual) for step in steps)
