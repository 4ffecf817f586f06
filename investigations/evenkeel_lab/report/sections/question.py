"""Section on the method: what was measured, and how."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted
from evenkeel_lab.investigation_spec.arm import Arm, Kind
from evenkeel_lab.investigation_spec.investigation import Design, Subjects
from evenkeel_lab.report.markdown import code, items, paragraph, table, text
from evenkeel_lab.runner.schedule import DIRECT_EVERY
from evenkeel_lab.stack.litellm.config import Journal, Rotation
from evenkeel_load.arrivals import CLOSED
from evenkeel_load.options import SHARED
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.investigation_spec.investigation import Load, Session
    from evenkeel_lab.report.report_data import ReportData

DESIGNS = {
    Design.DUETS: "Two of them are loaded at the same moment, each on half of the cores, and swap these during the "
    "run: a *pair*, which the same disturbs.",
    Design.ALTERNATING: "Two of them are loaded one after the other, in random order: a *pair*, which the same "
    "disturbs.",
    Design.BLOCKS: "All of them are loaded one after the other, in random order: a *block*, which the same disturbs. "
    "In each block, the run of the baseline makes a *pair* with that of each other arm.",
}
SUBJECTS = {
    Subjects.KEPT: "Each two have proxies of their own, which stay up for all pairs",
    Subjects.FRESH: "Each pair has proxies of its own, booted for it",
}
DIFFERING_ARMS = " Where an arm is met or loaded otherwise, that stands beside it."
MODES = {
    "none": "none of them names an end user",
    "sequential": "each names an end user, the same users again in turn",
    "random": "each names an end user that the proxy has never seen",
    "created": "each names an end user that is in the proxy's database",
}


def question(data: ReportData, _: Mapping[str, str]) -> str:
    """Return the method, a table of the arms, and the options of the load."""
    investigation = data.investigation
    rows = [
        [_arm_name(investigation, name), text(arm.about), _description(arm)] for name, arm in investigation.arms.items()
    ]
    if data.noise is not None:
        rows.append(["again", "the baseline once more: what differs between the two is noise", "as the baseline"])
        rows.append(
            ["direct", "the mock alone: what the rig itself costs", f"after pair 1, and every {DIRECT_EVERY}th"]
        )
    return "\n\n".join(
        [
            "## Method",
            paragraph(" ".join(_method(data))),
            table(("arm", "about", "what it is"), rows),
            items(_load(investigation)),
        ]
    )


def _method(data: ReportData) -> Iterator[str]:
    """Yield the sentences of the method."""
    investigation, provenance = data.investigation, data.summary.provenance
    cores = f" on one machine with {provenance['cores']} cores" if provenance.get("cores") else ""
    if all(arm.subject is Kind.FUNCTION for arm in investigation.arms.values()):
        yield f"Functions of this project are called in turns{cores}, each once for a run, with the pair's seed."
    else:
        if data.litellm:
            beside = "with Postgres, Valkey for Redis and a mock provider"
            yield f"Real LiteLLM proxies ({', '.join(data.litellm)}), {beside}, run{cores}."
        else:
            yield f"Mock providers run{cores}."
        yield DESIGNS[investigation.session.design]
        warm = (
            "warm, after a load that does not count"
            if investigation.warm_up_of(investigation.baseline)
            else "when it has just been booted"
        )
        otherwise = DIFFERING_ARMS if _arms_differ(investigation) else ""
        yield f"{_sent(investigation.load)}; each proxy is met {warm}.{otherwise}"
    yield (
        "An effect is the mean over pairs of the difference of logarithms (of shares, in percentage points), with its "
        "t-interval. *Material*: all of the interval lies beyond the margin, which is what matters to an operator and "
        "was fixed beforehand; *no measurable difference*: the narrower one that equivalence takes lies within it; "
        "*real*: it does not hold zero."
    )
    if data.noise is not None:
        yield "A second proxy that is the same as the baseline (`again`) shows what is noise."


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
        parts.append("no database, no Redis, the master's key")
    return ", ".join([*parts, *_own_settings(arm)])


def _own_settings(arm: Arm) -> Iterator[str]:
    """Yield the settings of an arm as its file has them."""
    if arm.settings:
        yield code(json.dumps(arm.settings, sort_keys=True, default=str))
    if arm.env:
        yield code(" ".join(f"{name}={value}" for name, value in sorted(arm.env.items())))
    if arm.warm_up is not None:
        yield "met warm" if arm.warm_up else "met when it has just been booted"
    if arm.load:
        yield "sent " + ", ".join(f"{name} {value}" for name, value in arm.load.items())


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
    where = ", where nothing else stands beside the arm" if _arms_differ(investigation) else ""
    latency = code(json.dumps(investigation.mock.latency, sort_keys=True))
    requests = f"{SCENARIOS[investigation.load.scenario].about}; {MODES[investigation.load.user_mode]}."
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
            f"All proxies are booted anew after {counted(session.pairs_per_boot, 'pair')}. A boot counts once, with "
            "the mean of its pairs"
        )
    if session.design is Design.BLOCKS and session.subjects is Subjects.KEPT:
        return "All proxies stay up for all blocks"
    return SUBJECTS[session.subjects]


def _keys(investigation: Investigation) -> Iterator[str]:
    """Yield sentences on the API keys of the requests."""
    bare = {arm.bare for arm in investigation.arms.values() if arm.subject is Kind.PROXY}
    if False in bare:
        key = "Their key is a virtual one" if investigation.load.key_mode == SHARED else "Each client has a virtual key"
        yield f"{key}, of a team and a user, all with budgets."
    if True in bare:
        yield "Requests to a proxy without a database have its master key."
