"""Section on the method: what was measured, and how."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted
from evenkeel_lab.investigation_spec.arm import Arm, Kind
from evenkeel_lab.investigation_spec.session import Design, Subjects
from evenkeel_lab.report.markdown import code, items, paragraph, table, text
from evenkeel_lab.runner.schedule import DIRECT_EVERY
from evenkeel_lab.stack.litellm.config import Journal, Rotation
from evenkeel_load.arrivals import CLOSED
from evenkeel_load.options import SHARED
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.investigation_spec.investigation import Load
    from evenkeel_lab.investigation_spec.session import Session
    from evenkeel_lab.report.report_data import ReportData

DESIGNS = {
    Design.DUETS: "A pair is two runs at the same moment, each on half of the cores, which they swap during the run.",
    Design.ALTERNATING: "A pair is two runs, one after the other, in random order.",
    Design.BLOCKS: "In a block, all arms run one after the other, in random order. The run of the baseline makes a "
    "pair with that of each other arm.",
}
SUBJECTS = {
    Subjects.KEPT: "The proxies of a comparison stay up for all its pairs",
    Subjects.FRESH: "Each pair has newly booted proxies",
}
DIFFERING_ARMS = " Arms with another warm-up or load have it in the table."
MODES = {
    "none": "without an end user",
    "sequential": "with an end user, the same users in turn",
    "random": "with an end user that the proxy has never seen",
    "created": "with an end user that is in the proxy's database",
}


def question(data: ReportData, _: Mapping[str, str]) -> str:
    """Return the method, a table of the arms, and the options of the load."""
    investigation = data.investigation
    rows = [
        [_arm_name(investigation, name), text(arm.about), _description(arm)] for name, arm in investigation.arms.items()
    ]
    if data.noise is not None:
        rows.append(["again", "the baseline again: a difference between the two is noise", "as the baseline"])
        rows.append(
            [
                "direct",
                "the mock provider alone: the cost of the test setup",
                f"after pair 1, then every {DIRECT_EVERY}th",
            ]
        )
    return "\n\n".join(
        [
            "## Method",
            paragraph(" ".join(_method(data))),
            table(("arm", "about", "configuration"), rows),
            items(_load(investigation)),
        ]
    )


def _method(data: ReportData) -> Iterator[str]:
    """Yield the sentences of the method."""
    investigation, provenance = data.investigation, data.summary.provenance
    cores = f" on one machine with {provenance['cores']} cores" if provenance.get("cores") else ""
    if all(arm.subject is Kind.FUNCTION for arm in investigation.arms.values()):
        yield f"The arms are functions of this project. A run is one call{cores}, and runs of a pair share their seed."
    else:
        if data.litellm:
            versions = ", ".join(data.litellm)
            yield f"The arms are real LiteLLM proxies ({versions}) with Postgres, Valkey and a mock provider{cores}."
        else:
            yield f"The arms are mock providers{cores}."
        yield DESIGNS[investigation.session.design]
        warm = "has been warmed up" if investigation.warm_up_of(investigation.baseline) else "has just been booted"
        otherwise = DIFFERING_ARMS if _arms_differ(investigation) else ""
        yield f"{_sent(investigation.load)}. Each proxy {warm}.{otherwise}"
    if data.committed:
        yield f"[How to read a report]({_up(data)}docs/method.md) explains effects, intervals, margins and verdicts."


def _up(data: ReportData) -> str:
    """Return the path from the page to the root of the repository."""
    return "../" * (data.summary.name.count("/") + 1)


def _sent(load: Load) -> str:
    """Return what the clients of a run send, as text."""
    clients = f"{load.users:,} clients send" if load.users > 1 else "One client sends"
    if load.arrivals == CLOSED:
        how = f"{clients} the next request as soon as the last one is answered"
    else:
        how = f"{clients} requests when they are due ({load.arrivals}, {load.rate:g} a second in all)"
    long = f", for {load.duration:g} s a run" if load.duration else f", {counted(load.requests or 0, 'request')} a run"
    return how + long


def _arms_differ(investigation: Investigation) -> bool:
    """Whether an arm has its own load or warm-up."""
    return any(arm.load or arm.warm_up is not None for arm in investigation.arms.values())


def _arm_name(investigation: Investigation, name: str) -> str:
    return f"**{name}**, the baseline" if name == investigation.baseline else name


def _description(arm: Arm) -> str:
    if arm.subject is Kind.FUNCTION:
        arguments = f" {code(json.dumps(arm.arguments, sort_keys=True))}" if arm.arguments else ""
        return code(arm.function) + arguments
    if arm.subject is Kind.MOCK:
        return "the mock itself"
    parts = [f"LiteLLM {arm.litellm}", f"Prometheus {arm.prometheus}"]
    if arm.rotation is not Rotation.OFF:
        parts.append(f"rotation {arm.rotation}")
    if arm.accounts:
        of_groups = f" in each of {arm.groups:,} model groups" if arm.groups > 1 else ""
        parts.append(f"{arm.accounts:,} accounts{of_groups}")
    if arm.journal is not Journal.OFF:
        parts.append(f"journal {arm.journal}")
    if arm.patch:
        parts.append(f"patched: {arm.patch}")
    if arm.workers > 1:
        parts.append(f"{arm.workers} workers")
    if arm.bare:
        parts.append("no database, no Redis, the master key")
    return ", ".join([*parts, *_own_settings(arm)])


def _own_settings(arm: Arm) -> Iterator[str]:
    """Yield the settings of an arm as its file has them."""
    if arm.settings:
        yield code(json.dumps(arm.settings, sort_keys=True, default=str))
    if arm.env:
        yield code(" ".join(f"{name}={value}" for name, value in sorted(arm.env.items())))
    if arm.warm_up is not None:
        yield "warmed up" if arm.warm_up else "just booted"
    if arm.load:
        yield "load: " + ", ".join(f"{name} {value}" for name, value in arm.load.items())


def _load(investigation: Investigation) -> list[str]:
    session = investigation.session
    if all(arm.subject is Kind.FUNCTION for arm in investigation.arms.values()):
        return [f"Seed of the session: {session.seed}."]
    load = investigation.load.model_dump(mode="json", exclude_defaults=True)
    options_by_name = {
        "scenario": investigation.load.scenario,
        "users": investigation.load.users,
        "arrivals": investigation.load.arrivals,
    } | load
    options = ", ".join(f"{name} {value}" for name, value in options_by_name.items())
    where = " of arms without a load of their own" if _arms_differ(investigation) else ""
    latency = code(json.dumps(investigation.mock.latency, sort_keys=True))
    requests = f"{SCENARIOS[investigation.load.scenario].about}, {MODES[investigation.load.user_mode]}."
    return [
        " ".join([f"Requests{where}: {requests}", *_keys(investigation)]),
        f"Options of the load{where}: {text(options)}.",
        f"The mock provider's latency: {latency}, seed {investigation.mock.seed}.",
        f"{_lifetime(session)}. Seed of the session: {session.seed}.",
    ]


def _lifetime(session: Session) -> str:
    """Return how long proxies live, as text."""
    if session.pairs_per_boot:
        return (
            f"All proxies are booted again after {counted(session.pairs_per_boot, 'pair')}. A boot counts once, with "
            "the mean of its pairs"
        )
    if session.design is Design.BLOCKS and session.subjects is Subjects.KEPT:
        return "All proxies stay up for all blocks"
    return SUBJECTS[session.subjects]


def _keys(investigation: Investigation) -> Iterator[str]:
    """Yield sentences on the API keys of the requests."""
    bare = {arm.bare for arm in investigation.arms.values() if arm.subject is Kind.PROXY}
    if False in bare:
        key = "All have one virtual key" if investigation.load.key_mode == SHARED else "Each client has a virtual key"
        yield f"{key} of a team and a user, all with budgets."
    if True in bare:
        yield "Requests to a proxy without a database have its master key."
