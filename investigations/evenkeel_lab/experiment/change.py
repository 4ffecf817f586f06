"""An investigation, changed on the command line: the file stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel_lab.experiment.investigation import Investigation, Kind
from evenkeel_lab.stack.subject import require_allowed
from evenkeel_lab.verdicts import LEAST_PAIRS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.experiment.investigation import Arm

QUICK_SECONDS, QUICK_WINDOW = 4.0, 2.0
# The last look of what is to have as many pairs as there is time for.
QUICK_PAIRS = 24
# Of each user, where it is not time that ends a run.
QUICK_REQUESTS = 10
# Windows so short differ by chance; and a first impression has no time for many.
QUICK_SETTLED = 0.15
# Where a clock runs, three windows have to do.
ANY = 1.0


def with_pairs(investigation: Investigation, pairs: int) -> Investigation:
    """Return the same with another last look."""
    looks = [look for look in investigation.session.looks if look < pairs]
    return _changed(investigation, session={"looks": [*looks[-2:], pairs]})


def quickly(investigation: Investigation, seconds: float | None = None) -> Investigation:
    """Return the same with short runs: as few as have a verdict at all, or as many as there is time for."""
    gates = {"settled": max(investigation.gates.settled, QUICK_SETTLED if seconds is None else ANY)}
    session: dict[str, Any] = {"warm_up": min(investigation.session.warm_up, QUICK_WINDOW)}
    if seconds is None:
        session |= {"looks": [LEAST_PAIRS]}
    else:
        # No time for a noise floor either.
        session |= {"looks": [QUICK_PAIRS], "seconds": seconds, "noise": False}
    return _changed(
        investigation,
        session=session,
        load=_shorter(investigation.load.model_dump(), investigation.load.users),
        gates=gates,
        arms={name: _quick_arm(arm, investigation.load_of(name).users) for name, arm in investigation.arms.items()},
    )


def _quick_arm(arm: Arm, users: int) -> dict[str, Any]:
    told = arm.model_dump() | {"load": arm.load | _shorter(arm.load, users)}
    return told if arm.warm_up is None else told | {"warm_up": min(arm.warm_up, QUICK_WINDOW)}


def _shorter(load: Mapping[str, Any], users: int) -> dict[str, Any]:
    """Return what of a load is to be shorter."""
    most = {"duration": QUICK_SECONDS, "requests": QUICK_REQUESTS * users}
    return {name: min(load[name], bound) for name, bound in most.items() if load.get(name)}


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
