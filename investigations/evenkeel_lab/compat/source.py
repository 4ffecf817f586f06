"""Reading a source tree without running it: which names a module binds, and what they are bound to."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Binding(NamedTuple):
    """What one statement binds a name to."""

    node: ast.AST
    for_types: bool
    """Whether the statement is under `if TYPE_CHECKING`, where only type checkers see it."""


@dataclass
class Module:
    """One parsed module."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Whether modules may lie below it."""
        return self.path.name == "__init__.py"

    @cached_property
    def bindings(self) -> dict[str, list[Binding]]:
        """What each name is bound to at the top level, in the order of the source."""
        found: dict[str, list[Binding]] = {}
        for name, binding in _bound(self.tree.body, for_types=False):
            found.setdefault(name, []).append(binding)
        return found

    @cached_property
    def stars(self) -> list[str]:
        """The modules that all names are imported from."""
        imports = (node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom))
        return [self.absolute(one) for one in imports if any(alias.name == "*" for alias in one.names)]

    @cached_property
    def texts(self) -> frozenset[str]:
        """All strings that stand in it, documentation included."""
        constants = (node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant))
        return frozenset(value for value in constants if isinstance(value, str))

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the full name of the module that an import names."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        above = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*above, *([node.module] if node.module else [])])


@dataclass
class Tree:
    """The packages in one folder; modules are parsed when they are first looked at."""

    root: Path
    _parsed: dict[str, Module | None] = field(default_factory=dict)

    def module(self, name: str) -> Module | None:
        """Return a module, or None if there is none of this name."""
        if name not in self._parsed:
            self._parsed[name] = self._parse(name)
        return self._parsed[name]

    def _parse(self, name: str) -> Module | None:
        place = self.root.joinpath(*name.split("."))
        for path in (place / "__init__.py", place.with_name(place.name + ".py")):
            if path.is_file():
                return Module(name, path, ast.parse(path.read_bytes()))
        if place.is_dir():
            # A package needs no file of its own.
            return Module(name, place / "__init__.py", ast.Module([], []))
        return None

    def files(self, package: str) -> Iterator[tuple[str, Path]]:
        """Yield the modules of a package, each with its file, in the order of their names."""
        for path in sorted((self.root / package).rglob("*.py")):
            parts = path.relative_to(self.root).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _bound(body: Iterable[ast.stmt], *, for_types: bool) -> Iterator[tuple[str, Binding]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, Binding(node, for_types)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], Binding(node, for_types)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, Binding(node, for_types)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for name in assigned(node):
                yield name, Binding(node, for_types)
        else:
            yield from _below(node, for_types=for_types)


def _below(node: ast.stmt, *, for_types: bool) -> Iterator[tuple[str, Binding]]:
    if isinstance(node, ast.If):
        yield from _bound(node.body, for_types=for_types or "TYPE_CHECKING" in ast.unparse(node.test))
        yield from _bound(node.orelse, for_types=for_types)
    elif isinstance(node, ast.Try):
        parts = [node.body, *[one.body for one in node.handlers], node.orelse, node.finalbody]
        yield from _bound([one for part in parts for one in part], for_types=for_types)
    elif isinstance(node, ast.With | ast.For | ast.While):
        yield from _bound(node.body, for_types=for_types)


def assigned(node: ast.Assign | ast.AnnAssign | ast.AugAssign, of: str | None = None) -> Iterator[str]:
    """Yield the names that a statement assigns to; with `of`, the attributes of the object that has this name."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        for one in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if of is None and isinstance(one, ast.Name):
                yield one.id
            elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == of:
                yield one.attr
