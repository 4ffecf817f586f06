"""Overrides of an investigation on the command line. The file does not change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import Investigation
from evenkeel_lab.investigation_spec.session import Design, Subjects
from evenkeel_lab.stack.litellm.environment import require_allowed
from evenkeel_lab.stats import LEAST_PAIRS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# Shares of a run's own duration. A proxy does some work every ten or fifteen seconds, and durations are chosen for it:
# of two equal arms, much shorter runs would meet that work in the same one, pair after pair.
QUICK_SHARE, QUICK_LEAST = 1 / 6, 4.0
QUICK_WINDOW = 2.0
# The last look of a session that has as many pairs as there is time for.
QUICK_PAIRS = 24
# Requests of each user, if a run has no duration.
QUICK_REQUESTS = 10
# Short windows differ by chance, and a first impression has no time for many.
QUICK_SETTLED = 0.15
# A session with a time limit has one longer window.
ANY, ONLY_WINDOW = 1.0, 5.0
# Seconds of a run besides its load (to begin, to end, to read counters), and of a proxy's boot and warm-up.
BESIDE_RUN, UNTIL_WARM = 5.0, 12.0


def with_pairs(investigation: Investigation, pairs: int) -> Investigation:
    """Return the investigation with `pairs` as its last look."""
    looks = [look for look in investigation.session.looks if look < pairs]
    return _changed(
        investigation, session={"looks": [pairs] if investigation.session.always_valid else [*looks[-2:], pairs]}
    )


def quickly(investigation: Investigation, seconds: float | None = None) -> Investigation:
    """Return the investigation with short runs: with the fewest pairs for a verdict, or as many as `seconds` allow."""
    within, window = (QUICK_SETTLED, QUICK_WINDOW) if seconds is None else (ANY, ONLY_WINDOW)
    session: dict[str, Any] = {"warm_up": min(investigation.session.warm_up, window)}
    if seconds is None:
        session |= {"looks": [LEAST_PAIRS], "pairs_per_boot": 0}
    else:
        # There is no time for a noise floor, unless nothing else is compared.
        noise = investigation.session.noise and len(investigation.arms) == 1
        session |= {"looks": [QUICK_PAIRS], "pairs_per_boot": 0, "seconds": seconds, "noise": noise}
    return _changed(
        investigation,
        session=session,
        load=_shorter(investigation.load.model_dump(), investigation.load.users),
        gates={"settled": max(investigation.gates.settled, within)},
        arms={name: _quick_arm(investigation, name, window) for name in investigation.arms},
    )


def least_seconds(investigation: Investigation) -> float:
    """Return an estimate of the shortest duration in seconds of a quick session with a verdict."""
    quick = quickly(investigation, seconds=1.0)
    together = max if quick.session.design is Design.DUETS else sum
    runs = [together(quick.load_of(name).duration or QUICK_LEAST for name in arms) for arms in quick.arm_groups]
    arms = [quick.arm(name) for group in quick.arm_groups for name in group]
    proxies = sum(arm is not None and arm.subject is Kind.PROXY for arm in arms)
    booted = LEAST_PAIRS * proxies if quick.session.subjects is Subjects.FRESH else proxies
    return LEAST_PAIRS * sum(BESIDE_RUN + seconds for seconds in runs) + UNTIL_WARM * booted


def _quick_arm(investigation: Investigation, name: str, window: float) -> dict[str, Any]:
    arm, load = investigation.arms[name], investigation.load_of(name)
    own = {field: getattr(load, field) for field in arm.load}
    fields = arm.model_dump() | {"load": own | _shorter(own, load.users)}
    return fields if arm.warm_up is None else fields | {"warm_up": min(arm.warm_up, window)}


def _shorter(load: Mapping[str, Any], users: int) -> dict[str, Any]:
    """Return the fields of a load that become smaller, with their new values."""
    seconds, requests = load.get("duration"), load.get("requests")
    fields: dict[str, Any] = {}
    if seconds:
        fields["duration"] = min(seconds, max(QUICK_LEAST, seconds * QUICK_SHARE))
    if requests:
        fields["requests"] = min(requests, QUICK_REQUESTS * users)
    return fields


def with_versions(investigation: Investigation, versions: Sequence[str]) -> Investigation:
    """Return the investigation with each proxy once for each version. Those of the first version keep their names."""
    if not versions:
        return investigation
    for version in versions:
        require_allowed(version)
    fields = investigation.model_dump()
    arms: dict[str, Any] = {}
    for version in versions:
        for name, arm in fields["arms"].items():
            if arm["subject"] != Kind.PROXY:
                arms[name] = arm
                continue
            own = name if version == versions[0] else f"{name}-{version.replace('.', '-')}"
            arms[own] = arm | {"litellm": version}
    return Investigation.model_validate(fields | {"arms": arms})


def _changed(investigation: Investigation, **tables: dict[str, Any]) -> Investigation:
    fields = investigation.model_dump()
    for name, values in tables.items():
        fields[name] |= values
    return Investigation.model_validate(fields)
