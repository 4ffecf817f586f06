"""What was asked, and of whom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkeel_lab.experiment.investigation import Arm, Design, Kind, Rotation, Subjects
from evenkeel_lab.report.markdown import code, items, paragraph, table, text
from evenkeel_lab.session.meetings import DIRECT_EVERY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.experiment import Investigation
    from evenkeel_lab.report.case import Case

DESIGNS = {
    Design.DUETS: "both runs of a pair at the same moment, each on a core of its own, which they take in turns",
    Design.ALTERNATING: "the runs of a pair one after the other, in random order",
}
SUBJECTS = {
    Subjects.KEPT: "each two that meet have proxies of their own, which stay up for all pairs",
    Subjects.FRESH: "each pair has proxies of its own",
}


def question(case: Case, _: Mapping[str, str]) -> str:
    """Say the question, what was believed beforehand, and which arms are compared."""
    asked = case.asked
    rows = [[_name(asked, name), text(arm.about), _what(arm)] for name, arm in asked.arms.items()]
    if case.noise is not None:
        rows.append(["again", "the baseline once more: what differs between the two is noise", "as the baseline"])
        rows.append(["direct", "the mock alone: what the rig itself costs", f"in every {DIRECT_EVERY}th pair"])
    return "\n\n".join(
        [
            "## Question",
            paragraph(text(asked.question)),
            paragraph(f"Believed beforehand: {text(asked.hypothesis)}"),
            table(("arm", "about", "what it is"), rows),
            items(_load(asked)),
        ]
    )


def _name(asked: Investigation, name: str) -> str:
    return f"**{name}**, the baseline" if name == asked.baseline else name


def _what(arm: Arm) -> str:
    if arm.subject is Kind.FUNCTION:
        arguments = f" {code(json.dumps(arm.arguments, sort_keys=True))}" if arm.arguments else ""
        return code(arm.function) + arguments
    if arm.subject is Kind.MOCK:
        return "the mock itself"
    told = [f"LiteLLM {arm.litellm}", f"Prometheus {arm.prometheus}"]
    if arm.rotation is not Rotation.OFF:
        told.append(f"rotation {arm.rotation}")
    if arm.patch:
        told.append(f"patched: {arm.patch}")
    if arm.workers > 1:
        told.append(f"{arm.workers} workers")
    if arm.settings:
        told.append(code(json.dumps(arm.settings, sort_keys=True, default=str)))
    if arm.load:
        told.append("sent " + ", ".join(f"{name} {value}" for name, value in arm.load.items()))
    return ", ".join(told)


def _load(asked: Investigation) -> list[str]:
    if all(arm.subject is Kind.FUNCTION for arm in asked.arms.values()):
        return ["Session: each arm is a function, called once for each run with the pair's seed."]
    load = asked.load.model_dump(mode="json", exclude_defaults=True)
    told = {"scenario": asked.load.scenario, "users": asked.load.users, "arrivals": asked.load.arrivals} | load
    session = asked.session
    sent = ", ".join(f"{name} {value}" for name, value in told.items())
    return [
        f"Load: {text(sent)}.",
        f"Mock: {code(json.dumps(asked.mock.latency, sort_keys=True))}, seed {asked.mock.seed}.",
        f"Session: {session.design}, {DESIGNS[session.design]}; {SUBJECTS[session.subjects]}; seed {session.seed}.",
    ]
