"""The profiles of an investigation, in a file beside its summary. Files of another schema are rejected."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenkeel_lab.atomic_files import replace_text
from evenkeel_lab.errors import RigFailure, WrongUse
from evenkeel_lab.profiling.stacks import Spent, Stack, beginnings, largest, pruned

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = 1
FILE = "profile.json"
ROOT = -1
MOST_BYTES = 300 * 1024
# Smallest shares of a function and of a subtree that are listed. The first entry that makes the file fit is used.
LEAST = ((0.001, 0.001), (0.001, 0.002), (0.001, 0.005), (0.001, 0.01), (0.002, 0.02), (0.005, 0.05), (0.02, 0.1))


@dataclass(frozen=True)
class ArmProfile:
    """Profile of one arm."""

    sampler: str
    """The sampler and its version."""
    why: str
    """Why a better sampler was not used; empty if this is the best."""
    rate: int
    """Samples per second."""
    seconds: float
    requests: int
    unit: str
    """The unit of `requests`: a request, or a call of a function."""
    samples: int
    """The effective number of samples: those of threads that did next to nothing hardly count."""
    cpu_ms: float
    """CPU time of its Python processes per request: all stacks together."""
    covered: float
    """The share of that in the CPU time of all its processes. The rest are programs that are not Python."""
    slowdown: float | None
    """The relative increase of a request's duration over a run just before, without a sampler."""
    surcharge: float | None
    """The relative increase of the CPU time of all its processes."""
    stacks: Mapping[Stack, int] = field(repr=False)
    """Microseconds of CPU by stack."""
    functions: Mapping[str, Spent] = field(repr=False)
    """CPU time by function, computed before small subtrees were merged."""


@dataclass(frozen=True)
class Profile:
    """The profiles of an investigation's arms."""

    name: str
    digest: str
    """Digest of the profiled investigation, as in the name of its session's folder."""
    baseline: str
    provenance: Mapping[str, Any]
    arms: Mapping[str, ArmProfile]
    skipped: Mapping[str, str]
    """Why an arm has no profile."""


def write(profile: Profile, path: Path) -> None:
    """Write a profile atomically."""
    documents = (_document(profile, *least) for least in LEAST)
    texts = (json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n" for document in documents)
    text = next((text for text in texts if len(text) < MOST_BYTES), None)
    if text is None:
        raise RigFailure(f"The profile of {len(profile.arms)} arms is too large to be kept.", hint="Profile fewer.")
    replace_text(path, text)


def read(path: Path) -> Profile:
    """Read a profile."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be read: {error}.", hint="Take it with --profile.") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise WrongUse(f"{path} is of schema {schema}, this evenkeel reads {SCHEMA}.", hint="Take it again, --profile.")
    try:
        names = document.pop("names")
        arms = {arm: _arm_from(fields, names) for arm, fields in document.pop("arms").items()}
        del document["schema"]
        return Profile(**document, arms=arms)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise WrongUse(f"{path} is damaged: {error!r}.", hint="Restore it from git.") from error


def _document(profile: Profile, function: float, part: float) -> dict[str, Any]:
    """Return the content of the file. Names are in it once. Stacks are a tree: a function refers to its caller."""
    names: dict[str, int] = {}
    return asdict(replace(profile, arms={})) | {
        "schema": SCHEMA,
        "arms": {name: _arm_document(arm, function, part, names) for name, arm in sorted(profile.arms.items())},
        "names": list(names),
    }


def _arm_document(arm: ArmProfile, function: float, part: float, names: dict[str, int]) -> dict[str, Any]:
    nodes: dict[Stack, int] = {}
    tree: dict[str, list[int]] = {"caller": [], "name": [], "own": []}
    stacks = pruned(arm.stacks, part)
    for stack in sorted({beginning for whole in stacks for beginning in beginnings(whole)}):
        nodes[stack] = len(nodes)
        tree["caller"].append(nodes.get(stack[:-1], ROOT))
        tree["name"].append(names.setdefault(stack[-1], len(names)))
        tree["own"].append(stacks[stack])
    kept = largest(arm.functions, function)
    plain = asdict(replace(arm, stacks={}, functions={}))
    return plain | {
        "functions": [[names.setdefault(name, len(names)), spent.own, spent.cumulated] for name, spent in kept.items()],
        "stacks": tree,
    }


def _arm_from(fields: dict[str, Any], names: list[str]) -> ArmProfile:
    tree = fields["stacks"]
    whole: list[Stack] = []
    stacks: dict[Stack, int] = {}
    for caller, name, own in zip(tree["caller"], tree["name"], tree["own"], strict=True):
        above = () if caller == ROOT else whole[caller]
        whole.append((*above, names[name]))
        if own:
            stacks[whole[-1]] = own
    spent = {names[name]: Spent(own, cumulated) for name, own, cumulated in fields["functions"]}
    return ArmProfile(**fields | {"stacks": stacks, "functions": spent})
