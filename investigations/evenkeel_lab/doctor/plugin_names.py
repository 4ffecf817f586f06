"""Names that a module defines, read from its source, because importing the plugin's adapters imports litellm."""

from __future__ import annotations

import ast
import importlib.util
import os
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PLUGIN = "litellm_evenkeel"


class Kind(Enum):
    """Kind of object that a name refers to, as far as the source shows it."""

    CLASS = "class"
    OTHER = "other"


Names: TypeAlias = Mapping[str, Kind]


def names_in(source: Path) -> Names | None:
    """Return the top-level names of a module, or `None` if it cannot be read or creates names at run time."""
    try:
        tree = ast.parse(source.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    names = dict(_defined(tree.body))
    listed = _listed_callbacks(tree.body)
    if listed and "*" not in names:
        return names | listed
    return None if names.keys() & {"*", "__getattr__"} else names


@cache
def plugin_modules() -> Mapping[str, Names | None]:
    """Return the modules of the installed plugin with their names. The result is cached: reading takes a while."""
    spec = importlib.util.find_spec(PLUGIN)
    modules: dict[str, Names | None] = {}
    for root in (spec.submodule_search_locations or []) if spec else []:
        for source in sorted(Path(root).rglob("*.py")):
            parts = source.relative_to(root).with_suffix("").parts
            modules[".".join((PLUGIN, *(part for part in parts if part != "__init__")))] = names_in(source)
    return MappingProxyType(modules)


def file_beside(folder: Path, module: str) -> Path | None:
    """Return the file in `folder` that LiteLLM would execute instead of importing `module`, or `None`."""
    source = Path(f"{folder.joinpath(*module.split('.'))}.py")
    # Not the path's own `is_file`, which raises for a name that is too long.
    return source if module and os.path.isfile(source) else None  # noqa: PTH113


def _defined(body: Iterable[ast.stmt]) -> Iterator[tuple[str, Kind]]:
    for node in body:
        match node:
            case ast.ClassDef(name=name):
                yield name, Kind.CLASS
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, Kind.OTHER
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (((alias.asname or alias.name).partition(".")[0], Kind.OTHER) for alias in aliases)
            case ast.Assign(targets=targets):
                yield from ((leaf.id, Kind.OTHER) for target in targets for leaf in _leaves(target))
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                yield name, Kind.OTHER
            case ast.If() | ast.Try():
                yield from _defined(node.body)
                yield from _defined(node.orelse)
            case _:
                pass


def _listed_callbacks(body: Iterable[ast.stmt]) -> dict[str, Kind]:
    """Return the callbacks in the list CALLBACKS of a module, which creates them on first access."""
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id="CALLBACKS")], value=ast.Tuple(elts=names)):
                return {str(name.value): Kind.OTHER for name in names if isinstance(name, ast.Constant)}
            case _:
                pass
    return {}


def _leaves(target: ast.expr) -> Iterator[ast.Name]:
    yield from (node for node in ast.walk(target) if isinstance(node, ast.Name))
