"""What a profile has found, in one file beside the summary. A file of another schema is refused."""

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
# Functions, and parts of the tree, of a smaller share are told together; the first of these that makes the file fit.
LEAST = ((0.001, 0.001), (0.001, 0.002), (0.001, 0.005), (0.001, 0.01), (0.002, 0.02), (0.005, 0.05), (0.02, 0.1))


@dataclass(frozen=True)
class Taken:
    """What an arm's extra run has shown."""

    sampler: str
    """What has looked at it, and its version."""
    why: str
    """Why it was not a better one; empty if it was the best."""
    rate: int
    """Samples a second."""
    seconds: float
    requests: int
    unit: str
    """What was counted: a request, or a call of a function."""
    samples: int
    """How many it rests on: those of a thread that did next to nothing hardly count."""
    cpu_ms: float
    """What its Python processes have spent per request: all stacks together."""
    covered: float
    """Which share of the CPU of all its processes that was; the rest are programs that are not Python."""
    slowdown: float | None
    """By how much longer a request took than in a run just before without a sampler, as a share."""
    surcharge: float | None
    """By how much more CPU it took, likewise, of all its processes."""
    stacks: Mapping[Stack, int] = field(repr=False)
    """Microseconds of CPU by stack."""
    functions: Mapping[str, Spent] = field(repr=False)
    """The same by function, told before small parts of the tree were folded."""


@dataclass(frozen=True)
class Profile:
    """The profiles of an investigation's arms."""

    name: str
    digest: str
    """Of the investigation that was profiled, as its session's folder is called."""
    baseline: str
    provenance: Mapping[str, Any]
    arms: Mapping[str, Taken]
    skipped: Mapping[str, str]
    """Why an arm has no profile."""


def write(profile: Profile, path: Path) -> None:
    """Write a profile, wholly or not at all."""
    documents = (_document(profile, *least) for least in LEAST)
    texts = (json.dumps(told, sort_keys=True, separators=(",", ":")) + "\n" for told in documents)
    text = next((text for text in texts if len(text) < MOST_BYTES), None)
    if text is None:
        raise RigFailure(f"The profile of {len(profile.arms)} arms is too large to be kept.", hint="Profile fewer.")
    replace_text(path, text)


def read(path: Path) -> Profile:
    """Read a profile."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongUse(f"{path} cannot be read: {error}.", hint="Take it with --profile.") from error
    found = told.get("schema") if isinstance(told, dict) else None
    if found != SCHEMA:
        raise WrongUse(f"{path} is of schema {found}, this evenkeel reads {SCHEMA}.", hint="Take it again, --profile.")
    try:
        names = told.pop("names")
        arms = {arm: _taken(one, names) for arm, one in told.pop("arms").items()}
        del told["schema"]
        return Profile(**told, arms=arms)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise WrongUse(f"{path} is not what was written: {error!r}.", hint="Take it from git again.") from error


def _document(profile: Profile, function: float, part: float) -> dict[str, Any]:
    """Return it for a file. Names stand in it once, and stacks as a tree: of each function on one, what called it."""
    names: dict[str, int] = {}
    return asdict(replace(profile, arms={})) | {
        "schema": SCHEMA,
        "arms": {arm: _told(one, function, part, names) for arm, one in sorted(profile.arms.items())},
        "names": list(names),
    }


def _told(taken: Taken, function: float, part: float, names: dict[str, int]) -> dict[str, Any]:
    nodes: dict[Stack, int] = {}
    tree: dict[str, list[int]] = {"caller": [], "name": [], "own": []}
    stacks = pruned(taken.stacks, part)
    for stack in sorted({beginning for whole in stacks for beginning in beginnings(whole)}):
        nodes[stack] = len(nodes)
        tree["caller"].append(nodes.get(stack[:-1], ROOT))
        tree["name"].append(names.setdefault(stack[-1], len(names)))
        tree["own"].append(stacks[stack])
    kept = largest(taken.functions, function)
    plain = asdict(replace(taken, stacks={}, functions={}))
    return plain | {
        "functions": [[names.setdefault(name, len(names)), one.own, one.cumulated] for name, one in kept.items()],
        "stacks": tree,
    }


def _taken(told: dict[str, Any], names: list[str]) -> Taken:
    tree = told["stacks"]
    whole: list[Stack] = []
    stacks: dict[Stack, int] = {}
    for caller, name, own in zip(tree["caller"], tree["name"], tree["own"], strict=True):
        above = () if caller == ROOT else whole[caller]
        whole.append((*above, names[name]))
        if own:
            stacks[whole[-1]] = own
    spent = {names[name]: Spent(own, cumulated) for name, own, cumulated in told["functions"]}
    return Taken(**told | {"stacks": stacks, "functions": spent})
