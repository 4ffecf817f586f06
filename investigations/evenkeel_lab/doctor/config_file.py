"""The YAML configuration of a proxy, read as LiteLLM reads it, with `include:` lists, and the line of each key."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from evenkeel_lab.doctor.finding import Finding, error, warning
from evenkeel_lab.errors import WrongUse

REFERENCE = "os.environ/"
YAML_SUFFIXES = (".yaml", ".yml")

Key: TypeAlias = Hashable
"""A key of a mapping, or an index of a list. YAML keys may be other than text: `on:` is `True`."""
Positions: TypeAlias = dict[tuple[Key, ...], str]


@dataclass(frozen=True)
class ProxyConfig:
    """The merged configuration that a proxy would use, with the file and line of each key."""

    values: Mapping[str, Any]
    path: Path = Path("proxy.yaml")
    positions: Mapping[tuple[Key, ...], str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    problems: tuple[Finding, ...] = ()

    def section(self, name: str) -> Mapping[str, Any]:
        """Return the top-level mapping `name`, or an empty one if it is missing or has another type."""
        value = self.values.get(name)
        return value if isinstance(value, Mapping) else {}

    def where(self, *keys: Key) -> str:
        """Return `FILE:LINE` of the value at `keys`, or of the nearest enclosing value with a known line."""
        for end in range(len(keys), 0, -1):
            if keys[:end] in self.positions:
                return self.positions[keys[:end]]
        return self.path.name


def reference(value: object) -> str | None:
    """Return NAME if `value` is `os.environ/NAME`, else `None`."""
    return value.removeprefix(REFERENCE) if isinstance(value, str) and value.startswith(REFERENCE) else None


def resolve_value(value: object, environment: Mapping[str, str]) -> object:
    """Return `value` as LiteLLM resolves it: a reference becomes its variable's content, or `None` if it is not set."""
    name = reference(value)
    return value if name is None else environment.get(name)


def resolve_values(value: Any, environment: Mapping[str, str]) -> Any:
    """Return `value` with every reference inside it resolved, as LiteLLM passes it on."""
    if isinstance(value, Mapping):
        return {key: resolve_values(item, environment) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve_values(item, environment) for item in value]
    return resolve_value(value, environment)


def read(path: Path) -> ProxyConfig:
    """Read the configuration at `path` with its includes. Raise `WrongUse` if it is not a configuration."""
    values, positions = _load(path, path.name)
    merged = dict(values)
    all_positions = dict(positions)
    problems: list[Finding] = []
    if path.suffix.lower() not in YAML_SUFFIXES:
        problems.append(
            error(
                "config",
                "LiteLLM reads only files whose name ends in .yaml or .yml",
                path.name,
                hint="Rename it.",
            )
        )
    loaded = {path.resolve()}
    pending = [(*entry, path) for entry in _entries(values, path.name, positions, problems)]
    while pending:
        entry, declared_at, declared_in = pending.pop(0)
        try:
            file = _included(entry, declared_in, path)
            resolved = file.resolve()
            if resolved in loaded:
                continue
            included, its_positions = _load(file, entry)
        except WrongUse as trouble:
            what = f"{trouble.what.rstrip('.')}: the proxy would not start"
            problems.append(error("include", what, declared_at, hint="Mend it, or remove it from `include`."))
            continue
        except (OSError, ValueError, RuntimeError):
            what = "this is not the path of a file: the proxy would not start"
            problems.append(error("include", what, declared_at, hint="Mend it, or remove it from `include`."))
            continue
        loaded.add(resolved)
        pending += [(*nested, file) for nested in _entries(included, entry, its_positions, problems)]
        problems += _merge(merged, all_positions, included, its_positions)
    merged.pop("include", None)
    problems = sorted([*problems, *_shapes(merged, all_positions)], key=lambda problem: problem.check)
    return ProxyConfig(merged, path, all_positions, tuple(sorted(loaded)), tuple(problems))


def _included(entry: str, declared_in: Path, root: Path) -> Path:
    """Return the file of an `include` entry: next to `declared_in` if it exists there, else next to `root`."""
    beside = declared_in.parent / entry
    return beside if beside.exists() or not (root.parent / entry).exists() else root.parent / entry


def _load(path: Path, name: str) -> tuple[dict[str, Any], Positions]:
    """Read one file. Errors leave out the text of YAML errors, which quotes the file and so may contain secrets."""
    hint = "Name the file that the proxy is started with, as in `litellm --config`."
    positions: Positions = {}
    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        root = loader.get_single_node()
        # Constructing also moves the keys that `<<` merges into the node that they are merged into.
        values = loader.construct_document(root) if root else None
        _remember_lines(root, (), name, positions, loader, set())
    except FileNotFoundError:
        raise WrongUse(f"There is no file {path}.", hint=hint) from None
    except OSError as trouble:
        raise WrongUse(f"{path} cannot be read: {trouble.strerror}.", hint=hint) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as trouble:
        mark = getattr(trouble, "problem_mark", None)
        line = f" The error is in line {mark.line + 1}." if mark else ""
        raise WrongUse(f"{path} is not valid YAML.{line}", hint="Mend it.") from None
    if not isinstance(values, dict):
        what = "is empty" if values is None else "is not a mapping of settings"
        raise WrongUse(f"{path} {what}.", hint=hint)
    return values, positions


def _remember_lines(
    node: yaml.Node | None,
    path: tuple[Key, ...],
    name: str,
    positions: Positions,
    loader: yaml.SafeLoader,
    seen: set[int],
) -> None:
    """Record the line of each key and list item. A node that anchors repeat is visited once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                here = (*path, loader.construct_object(key))
                positions[here] = f"{name}:{key.start_mark.line + 1}"
                _remember_lines(value, here, name, positions, loader, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            positions[*path, index] = f"{name}:{item.start_mark.line + 1}"
            _remember_lines(item, (*path, index), name, positions, loader, seen)


def _entries(
    values: Mapping[str, Any], name: str, positions: Positions, problems: list[Finding]
) -> list[tuple[str, str]]:
    """Return the entries of the `include` list of one file, each with its line."""
    entries = values.get("include", [])
    if isinstance(entries, list) and all(isinstance(entry, str) for entry in entries):
        return [(entry, positions.get(("include", index), name)) for index, entry in enumerate(entries)]
    problems.append(
        error(
            "include",
            "`include` is not a list of file paths: the proxy would not start",
            positions.get(("include",), name),
            hint="Write each file as an item of a list.",
        )
    )
    return []


def _merge(
    base: dict[str, Any], base_positions: Positions, included: Mapping[str, Any], positions: Positions
) -> list[Finding]:
    """Merge `included` into `base` as LiteLLM does: lists are joined, other values are replaced."""
    replaced = []
    for key, value in included.items():
        if key == "include":
            continue
        old = base.get(key)
        shift = 0
        if isinstance(old, list) and isinstance(value, list):
            shift = len(old)
            base[key] = [*old, *value]
        else:
            if old is not None:
                replaced.append(
                    warning(
                        "include",
                        f"`{key}` replaces the one of {base_positions.get((key,), '').rpartition(':')[0]} as a whole, "
                        "because LiteLLM joins lists only",
                        positions.get((key,), ""),
                        hint="Keep each section in one file.",
                    )
                )
            base[key] = value
            for known in [known for known in base_positions if known[0] == key]:
                del base_positions[known]
        for known, position in positions.items():
            if known[0] == key:
                base_positions[_shifted(known, shift)] = position
    return replaced


def _shifted(path: tuple[Key, ...], by: int) -> tuple[Key, ...]:
    """Return `path` with its list index increased by `by`."""
    if by and len(path) > 1 and isinstance(path[1], int):
        return (path[0], path[1] + by, *path[2:])
    return path


def _shapes(values: Mapping[str, Any], positions: Positions) -> list[Finding]:
    """Report sections of the wrong type. The other checks treat them as empty."""
    findings = [
        error(
            "config",
            f"`{name}` is not a mapping",
            positions.get((name,), ""),
            hint="Write `key: value` lines below it.",
        )
        for name in ("litellm_settings", "general_settings", "router_settings", "environment_variables")
        if not isinstance(values.get(name), Mapping | None)
    ]
    models = values.get("model_list")
    if not isinstance(models, list | None):
        return [
            *findings,
            error("config", "`model_list` is not a list", positions.get(("model_list",), ""), hint="Write one."),
        ]
    for index, model in enumerate(models or []):
        params = model.get("litellm_params") if isinstance(model, Mapping) else None
        if not isinstance(params, Mapping) or not params.get("model"):
            findings.append(
                error(
                    "config",
                    "this item of `model_list` has no `litellm_params` with a `model`",
                    positions.get(("model_list", index), ""),
                    hint="Add them, or remove the item.",
                )
            )
    return findings
