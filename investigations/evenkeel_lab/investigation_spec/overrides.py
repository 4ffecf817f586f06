"""An investigation, changed on the command line: the file stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import Design, Investigation, Subjects
from evenkeel_lab.stack.litellm.environment import require_allowed
from evenkeel_lab.stats import LEAST_PAIRS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# Of a run's own time: who chose that has chosen it after what the subject does now and then, every ten or fifteen
# seconds. Runs much shorter than that meet it by turns, and pair after pair in the same one of two that are the same.
QUICK_SHARE, QUICK_LEAST = 1 / 6, 4.0
QUICK_WINDOW = 2.0
# The last look of what is to have as many pairs as there is time for.
QUICK_PAIRS = 24
# Of each user, where it is not time that ends a run.
QUICK_REQUESTS = 10
# Windows so short differ by chance; and a first impression has no time for many.
QUICK_SETTLED = 0.15
# Where a clock runs, one window has to do, which is longer for it.
ANY, ONLY_WINDOW = 1.0, 5.0
# What a run takes beside its load, to begin, to end, and to read counters; and a proxy until it is warm.
BESIDE_RUN, UNTIL_WARM = 5.0, 12.0


def with_pairs(investigation: Investigation, pairs: int) -> Investigation:
    """Return the same with another last look."""
    looks = [look for look in investigation.session.looks if look < pairs]
    return _changed(investigation, session={"looks": [*looks[-2:], pairs]})


def quickly(investigation: Investigation, seconds: float | None = None) -> Investigation:
    """Return the same with short runs: as few as have a verdict at all, or as many as there is time for."""
    within, window = (QUICK_SETTLED, QUICK_WINDOW) if seconds is None else (ANY, ONLY_WINDOW)
    session: dict[str, Any] = {"warm_up": min(investigation.session.warm_up, window)}
    if seconds is None:
        session |= {"looks": [LEAST_PAIRS]}
    else:
        # No time for a noise floor either, if there is anything else to compare.
        noise = investigation.session.noise and len(investigation.arms) == 1
        session |= {"looks": [QUICK_PAIRS], "seconds": seconds, "noise": noise}
    return _changed(
        investigation,
        session=session,
        load=_shorter(investigation.load.model_dump(), investigation.load.users),
        gates={"settled": max(investigation.gates.settled, within)},
        arms={name: _quick_arm(investigation, name, window) for name in investigation.arms},
    )


def least_seconds(investigation: Investigation) -> float:
    """Return for about how long a quick session has to last, so that it has a verdict."""
    asked = quickly(investigation, seconds=1.0)
    together = max if asked.session.design is Design.DUETS else sum
    runs = [together(asked.load_of(name).duration or QUICK_LEAST for name in pair) for pair in asked.comparisons]
    met = [asked.arm(name) for pair in asked.comparisons for name in pair]
    proxies = sum(arm is not None and arm.subject is Kind.PROXY for arm in met)
    booted = LEAST_PAIRS * proxies if asked.session.subjects is Subjects.FRESH else proxies
    return LEAST_PAIRS * sum(BESIDE_RUN + seconds for seconds in runs) + UNTIL_WARM * booted


def _quick_arm(investigation: Investigation, name: str, window: float) -> dict[str, Any]:
    arm, load = investigation.arms[name], investigation.load_of(name)
    own = {field: getattr(load, field) for field in arm.load}
    told = arm.model_dump() | {"load": own | _shorter(own, load.users)}
    return told if arm.warm_up is None else told | {"warm_up": min(arm.warm_up, window)}


def _shorter(load: Mapping[str, Any], users: int) -> dict[str, Any]:
    """Return what of a load is to be shorter."""
    seconds, requests = load.get("duration"), load.get("requests")
    found: dict[str, Any] = {}
    if seconds:
        found["duration"] = min(seconds, max(QUICK_LEAST, seconds * QUICK_SHARE))
    if requests:
        found["requests"] = min(requests, QUICK_REQUESTS * users)
    return found


def with_versions(investigation: Investigation, versions: Sequence[str]) -> Investigation:
    """Return the same with every proxy in each of these versions; with one, the arms keep their names."""
    if not versions:
        return investigation
    for version in versions:
        require_allowed(version)
    told = investigation.model_dump()
    arms: dict[str, Any] = {}
    for version in versions:
        for name, arm in told["arms"].items():
            if arm["subject"] != Kind.PROXY:
                arms[name] = arm
                continue
            own = name if version == versions[0] else f"{name}-{version.replace('.', '-')}"
            arms[own] = arm | {"litellm": version}
    return Investigation.model_validate(told | {"arms": arms})


def _changed(investigation: Investigation, **tables: dict[str, Any]) -> Investigation:
    told = investigation.model_dump()
    for name, fields in tables.items():
        told[name] |= fields
    return Investigation.model_validate(told)
