"""Reading a proxy's YAML as LiteLLM does, `include:` lists and all, and remembering which line said what."""

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
"""A key or an index. YAML's keys need not be text: `on:` is True."""
Places: TypeAlias = dict[tuple[Key, ...], str]


@dataclass(frozen=True)
class ProxyConfig:
    """The configuration that the proxy would see, and where each part of it stands."""

    values: Mapping[str, Any]
    path: Path = Path("proxy.yaml")
    places: Mapping[tuple[Key, ...], str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    problems: tuple[Finding, ...] = ()

    def section(self, name: str) -> Mapping[str, Any]:
        """Return one of the top mappings, empty if it is missing or something else."""
        value = self.values.get(name)
        return value if isinstance(value, Mapping) else {}

    def where(self, *keys: Key) -> str:
        """Say in which file and line something stands, or the nearest thing around it."""
        for end in range(len(keys), 0, -1):
            if keys[:end] in self.places:
                return self.places[keys[:end]]
        return self.path.name


def reference(value: object) -> str | None:
    """Return the name of the variable that a value stands for, if it is an `os.environ/NAME`."""
    return value.removeprefix(REFERENCE) if isinstance(value, str) and value.startswith(REFERENCE) else None


def resolve(value: object, environment: Mapping[str, str]) -> object:
    """Return what LiteLLM makes of a value: the variable's content for a reference, None if that is not set."""
    name = reference(value)
    return value if name is None else environment.get(name)


def resolved(value: Any, environment: Mapping[str, str]) -> Any:
    """Return a part of the configuration with what variables say, as LiteLLM hands it on."""
    if isinstance(value, Mapping):
        return {key: resolved(one, environment) for key, one in value.items()}
    if isinstance(value, list):
        return [resolved(one, environment) for one in value]
    return resolve(value, environment)


def read(path: Path) -> ProxyConfig:
    """Read a configuration with all it includes, or raise WrongUse if it is not one."""
    values, places = _load(path, path.name)
    merged = dict(values)
    all_places = dict(places)
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
    pending = [(*entry, path) for entry in _entries(values, path.name, places, problems)]
    while pending:
        entry, declared_at, declared_in = pending.pop(0)
        try:
            file = _included(entry, declared_in, path)
            resolved = file.resolve()
            if resolved in loaded:
                continue
            included, its_places = _load(file, entry)
        except WrongUse as trouble:
            what = f"{trouble.what.rstrip('.')}: the proxy would not start"
            problems.append(error("include", what, declared_at, hint="Mend it, or remove it from `include`."))
            continue
        except (OSError, ValueError, RuntimeError):
            what = "this is not the path of a file: the proxy would not start"
            problems.append(error("include", what, declared_at, hint="Mend it, or remove it from `include`."))
            continue
        loaded.add(resolved)
        pending += [(*nested, file) for nested in _entries(included, entry, its_places, problems)]
        problems += _merge(merged, all_places, included, its_places)
    merged.pop("include", None)
    problems = sorted([*problems, *_shapes(merged, all_places)], key=lambda problem: problem.check)
    return ProxyConfig(merged, path, all_places, tuple(sorted(loaded)), tuple(problems))


def _included(entry: str, declared_in: Path, root: Path) -> Path:
    """Return the file that an entry names: beside the file that declares it, else beside the first one."""
    beside = declared_in.parent / entry
    return beside if beside.exists() or not (root.parent / entry).exists() else root.parent / entry


def _load(path: Path, name: str) -> tuple[dict[str, Any], Places]:
    """Read one file. The text of a YAML error is not passed on: it quotes the file, and with it secrets."""
    hint = "Name the file that the proxy is started with, as in `litellm --config`."
    places: Places = {}
    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        root = loader.get_single_node()
        # This also puts what `<<` merges among the keys of the node it is merged into.
        values = loader.construct_document(root) if root else None
        _remember_lines(root, (), name, places, loader, set())
    except FileNotFoundError:
        raise WrongUse(f"There is no file {path}.", hint=hint) from None
    except OSError as trouble:
        raise WrongUse(f"{path} cannot be read: {trouble.strerror}.", hint=hint) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as trouble:
        mark = getattr(trouble, "problem_mark", None)
        line = f" It stops making sense in line {mark.line + 1}." if mark else ""
        raise WrongUse(f"{path} is not valid YAML.{line}", hint="Mend it.") from None
    if not isinstance(values, dict):
        what = "is empty" if values is None else "is not a mapping of settings"
        raise WrongUse(f"{path} {what}.", hint=hint)
    return values, places


def _remember_lines(
    node: yaml.Node | None,
    path: tuple[Key, ...],
    name: str,
    places: Places,
    loader: yaml.SafeLoader,
    seen: set[int],
) -> None:
    """Note the line of each key and list item. A node that anchors repeat is looked at once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                here = (*path, loader.construct_object(key))
                places[here] = f"{name}:{key.start_mark.line + 1}"
                _remember_lines(value, here, name, places, loader, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            places[*path, index] = f"{name}:{item.start_mark.line + 1}"
            _remember_lines(item, (*path, index), name, places, loader, seen)


def _entries(values: Mapping[str, Any], name: str, places: Places, problems: list[Finding]) -> list[tuple[str, str]]:
    """Return the `include` list of one file, each with the line it stands in."""
    entries = values.get("include", [])
    if isinstance(entries, list) and all(isinstance(entry, str) for entry in entries):
        return [(entry, places.get(("include", index), name)) for index, entry in enumerate(entries)]
    problems.append(
        error(
            "include",
            "`include` is not a list of file paths: the proxy would not start",
            places.get(("include",), name),
            hint="Write each file as an item of a list.",
        )
    )
    return []


def _merge(base: dict[str, Any], base_places: Places, included: Mapping[str, Any], places: Places) -> list[Finding]:
    """Merge as LiteLLM does: lists are joined, anything else is replaced as a whole."""
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
                        f"`{key}` replaces the one of {base_places.get((key,), '').rpartition(':')[0]} as a whole, "
                        "because LiteLLM joins lists only",
                        places.get((key,), ""),
                        hint="Keep each section in one file.",
                    )
                )
            base[key] = value
            for known in [known for known in base_places if known[0] == key]:
                del base_places[known]
        for known, place in places.items():
            if known[0] == key:
                base_places[_shifted(known, shift)] = place
    return replaced


def _shifted(path: tuple[Key, ...], by: int) -> tuple[Key, ...]:
    """Return where an item of a joined list has gone."""
    if by and len(path) > 1 and isinstance(path[1], int):
        return (path[0], path[1] + by, *path[2:])
    return path


def _shapes(values: Mapping[str, Any], places: Places) -> list[Finding]:
    """Report sections that are not what they have to be; the other checks then take them as empty."""
    found = [
        error(
            "config", f"`{name}` is not a mapping", places.get((name,), ""), hint="Write `key: value` lines below it."
        )
        for name in ("litellm_settings", "general_settings", "router_settings", "environment_variables")
        if not isinstance(values.get(name), Mapping | None)
    ]
    models = values.get("model_list")
    if not isinstance(models, list | None):
        return [
            *found,
            error("config", "`model_list` is not a list", places.get(("model_list",), ""), hint="Write one."),
        ]
    for index, model in enumerate(models or []):
        params = model.get("litellm_params") if isinstance(model, Mapping) else None
        if not isinstance(params, Mapping) or not params.get("model"):
            found.append(
                error(
                    "config",
                    "this item of `model_list` has no `litellm_params` with a `model`",
                    places.get(("model_list", index), ""),
                    hint="Add them, or remove the item.",
                )
            )
    return found
