"""How to get the same once more, and where and with what it was measured."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from evenkeel_lab.report.case import level
from evenkeel_lab.report.doubts import pairs_done
from evenkeel_lab.report.markdown import fenced, paragraph, table, text
from evenkeel_lab.verdicts import alpha_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.case import Case
    from evenkeel_lab.session.summary import Summary

MINUTE = 60
NS = 1e9
# A step that is so much longer than the usual one was a pause.
PAUSE = 3
UNKNOWN = "not known"


def reproduce(case: Case, pictures: Mapping[str, str]) -> str:
    """Return the commands, and the code that draws a figure alone."""
    name = case.summary.name
    commit = case.summary.provenance.get("commit")
    took = f"{seconds(case.summary) / MINUTE:.0f} minutes on the machine below"
    lines = [f"git checkout {commit}"] if commit and case.committed else []
    lines.append(f"evenkeel investigate {name} --fresh    # the session: {took}")
    if case.committed:
        lines.append(f"evenkeel report {name}                 # this page and its figures, from the summary")
        told = "All figures of this page, and the page itself, come from the summary that is committed."
    else:
        told = (
            "This session's summary is not committed, so that `evenkeel report` makes no page of it. It takes the "
            "options that it was run with, such as `--quick`."
        )
    parts = ["## How to reproduce it", paragraph(told), fenced(lines, "console")]
    if pictures:
        parts += [
            paragraph(f"A figure alone, for example in a notebook; there are {', '.join(pictures)}:"),
            fenced(_code(next(iter(pictures)), name), "python"),
        ]
    return "\n\n".join(parts)


def _code(figure: str, name: str) -> list[str]:
    return [
        "from pathlib import Path",
        "from evenkeel_lab.report.figures import FIGURES",
        "from evenkeel_lab.session.judge import judge_session",
        "from evenkeel_lab.session.summary import read",
        "",
        f'summary = read(Path("investigations/{name}/summary.json"))',
        "asked = summary.investigation",
        "judgement = judge_session(asked, summary.done, asked.session.looks[-1])",
        f'FIGURES["{figure}"].draw(summary, judgement)',
    ]


def provenance(case: Case, _: Mapping[str, str]) -> str:
    """Say where, when and with what it was measured."""
    told, looks = case.summary.provenance, case.asked.session.looks
    versions = ", ".join(f"{name} {version}" for name, version in sorted(told.get("versions", {}).items()))
    alpha = alpha_of(looks)
    declared = f"after {', '.join(map(str, looks))} pairs"
    rows = {
        "measured": f"{day(case.summary)}, {pairs_done(case.summary)} pairs",
        "machine": _known(told, "processor", "machine"),
        "cores, memory": f"{told.get('cores', UNKNOWN)}, {told.get('memory_gib', UNKNOWN)} GiB",
        "kernel": _known(told, "kernel"),
        "Python": _known(told, "python"),
        "versions": versions or UNKNOWN,
        "LiteLLM": ", ".join(sorted({arm.litellm for arm in case.asked.arms.values()})),
        "commit": _known(told, "commit") + (", and changes beside it" if told.get("dirty") else ""),
        "Prisma's engine": _known(told, "engine"),
        "looks": f"{declared}, each errs at {alpha * 100:.2g} %: {level(alpha)} intervals",
        "seeds": f"session {case.asked.session.seed}, mock {case.asked.mock.seed}",
    }
    return "\n\n".join(["## Provenance", table(("what", "which"), [[name, text(said)] for name, said in rows.items()])])


def _known(told: Mapping[str, object], *names: str) -> str:
    return ", ".join(str(told[name]) for name in names if told.get(name)) or UNKNOWN


def day(summary: Summary) -> str:
    """Say on which day a session began."""
    starts = [run.start_ns for runs in summary.done.values() for run in runs]
    if not starts:
        return "nothing"
    return dt.datetime.fromtimestamp(min(starts) // NS, tz=dt.UTC).strftime("%Y-%m-%d")


def seconds(summary: Summary) -> float:
    """Return for how long a session measured, without the pauses of one that was stopped and went on."""
    found = sorted(min(run.start_ns for run in runs) / NS for runs in summary.done.values())
    longest = max((run.seconds for runs in summary.done.values() for run in runs), default=0.0)
    steps = [later - one for one, later in pairwise(found)]
    usual = median(steps) if steps else 0.0
    return longest + sum(min(step, PAUSE * usual) for step in steps)
