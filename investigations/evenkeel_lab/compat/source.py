"""Parsed source trees: the names that modules bind, and their statements. No code is run."""

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
    """A statement that binds a name."""

    node: ast.AST
    for_types: bool
    """Whether the statement is under `if TYPE_CHECKING`, and exists for type checkers only."""


@dataclass
class Module:
    """A parsed module."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Whether it is a package."""
        return self.path.name == "__init__.py"

    @cached_property
    def bindings(self) -> dict[str, list[Binding]]:
        """Top-level bindings by name, in the order of the source."""
        by_name: dict[str, list[Binding]] = {}
        for name, binding in _bound(self.tree.body, for_types=False):
            by_name.setdefault(name, []).append(binding)
        return by_name

    @cached_property
    def stars(self) -> list[str]:
        """The modules of star imports."""
        imports = (node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom))
        return [self.absolute(node) for node in imports if any(alias.name == "*" for alias in node.names)]

    @cached_property
    def texts(self) -> frozenset[str]:
        """All strings of the module, with docstrings."""
        constants = (node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant))
        return frozenset(value for value in constants if isinstance(value, str))

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the absolute name of the module in an import."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        above = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*above, *([node.module] if node.module else [])])


@dataclass
class Tree:
    """The packages in a folder. Modules are parsed on first use."""

    root: Path
    _parsed: dict[str, Module | None] = field(default_factory=dict)

    def module(self, name: str) -> Module | None:
        """Return a module; `None` if there is none of this name."""
        if name not in self._parsed:
            self._parsed[name] = self._parse(name)
        return self._parsed[name]

    def _parse(self, name: str) -> Module | None:
        folder = self.root.joinpath(*name.split("."))
        for path in (folder / "__init__.py", folder.with_name(folder.name + ".py")):
            if path.is_file():
                return Module(name, path, ast.parse(path.read_bytes()))
        if folder.is_dir():
            # A namespace package.
            return Module(name, folder / "__init__.py", ast.Module([], []))
        return None

    def files(self, package: str) -> Iterator[tuple[str, Path]]:
        """Yield the modules of a package with their files, sorted."""
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
        parts = [node.body, *[handler.body for handler in node.handlers], node.orelse, node.finalbody]
        yield from _bound([statement for part in parts for statement in part], for_types=for_types)
    elif isinstance(node, ast.With | ast.For | ast.While):
        yield from _bound(node.body, for_types=for_types)


def assigned(node: ast.Assign | ast.AnnAssign | ast.AugAssign, of: str | None = None) -> Iterator[str]:
    """Yield the names that a statement assigns to; with `of`, the attributes of the object of that name."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        for element in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if of is None and isinstance(element, ast.Name):
                yield element.id
            elif isinstance(element, ast.Attribute) and isinstance(element.value, ast.Name) and element.value.id == of:
                yield element.attr
