"""Names of LiteLLM that the plugin's source uses. The contract has to list all of them.

The scan follows imports, attributes of imported names, `sys.modules["litellm..."]`, `getattr` with a literal name,
assignments of any of these, and classes derived from LiteLLM's. It cannot follow arguments of functions: `hints` state
what they are.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from evenkeel_lab.compat.plugin import PACKAGE, PLUGIN, Plugin
from evenkeel_lab.compat.resolve import CALL
from evenkeel_lab.compat.source import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from evenkeel_lab.compat.source import Module

Paths: TypeAlias = tuple[str, ...]


@dataclass
class Uses:
    """Result of the scan."""

    names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The modules of the plugin that use a name of LiteLLM, by name."""
    own: dict[str, ast.FunctionDef | ast.AsyncFunctionDef | None] = field(default_factory=dict)
    """Own members of classes derived from LiteLLM's, by the name that they would have in LiteLLM."""


def uses(folder: Path, hints: Mapping[str, str]) -> Uses:
    """Scan the plugin in `folder`; `hints` maps `module.variable` to a name of LiteLLM."""
    tree, result = Tree(folder), Uses()
    plugin = Plugin(tree)
    modules = [module for name, _ in tree.files(PLUGIN) if (module := tree.module(name)) is not None]
    for module in modules:
        _Scan(plugin, module, hints, result).run()
    return result


class _Scan(ast.NodeVisitor):
    def __init__(self, plugin: Plugin, module: Module, hints: Mapping[str, str], result: Uses) -> None:
        self._plugin, self._module, self._result = plugin, module, result
        self._short = module.name.removeprefix(f"{PLUGIN}.")
        self._names: dict[str, Paths] = {}
        prefix = f"{self._short}."
        self._hints = {name.removeprefix(prefix): (path,) for name, path in hints.items() if name.startswith(prefix)}
        self._base: str | None = None
        self._own: frozenset[str] = frozenset()
        self._above: frozenset[str] = frozenset()

    def run(self) -> None:
        """Scan the module."""
        self._names |= self._hints
        self.visit(self._module.tree)

    def visit_Import(self, node: ast.Import) -> None:
        """Record an import."""
        for alias in node.names:
            if alias.name.partition(".")[0] == PACKAGE:
                self._touched(alias.name)
                self._names[alias.asname or PACKAGE] = (alias.name if alias.asname else PACKAGE,)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Record an import."""
        if (node.module or "").partition(".")[0] == PACKAGE and not node.level:
            for alias in node.names:
                self._names[alias.asname or alias.name] = (f"{node.module}.{alias.name}",)
                self._touched(f"{node.module}.{alias.name}")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Scan a class. If it is derived from LiteLLM's, its other members are LiteLLM's."""
        outer = self._base, self._own, self._above
        self._base = self._plugin.base_of(self._module, node)
        if self._base is not None:
            self._own = self._plugin.own_names(self._module, node)
            self._above = self._plugin.inherited_names(self._module, node)
            methods = {
                method.name: method
                for method in node.body
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            for name in self._own:
                self._result.own.setdefault(f"{self._base}.{name}", methods.get(name))
        self.generic_visit(node)
        self._base, self._own, self._above = outer

    def visit_Assign(self, node: ast.Assign) -> None:
        """Record what a name is assigned."""
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            else:
                pairs = [(target, node.value)]
            for name, value in pairs:
                paths = self._paths(value)
                if isinstance(name, ast.Name) and paths:
                    self._names[name.id] = paths

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Scan a function. Its assignments are local."""
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Scan an async function."""
        self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer = dict(self._names)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for argument in arguments:
            self._names.pop(argument.arg, None)
            hinted = self._hints.get(f"{node.name}.{argument.arg}") or self._hints.get(f"*.{argument.arg}")
            if hinted:
                self._names[argument.arg] = hinted
        self.generic_visit(node)
        self._names = outer

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Record an attribute of LiteLLM's."""
        self.generic_visit(node)
        for path in self._paths(node):
            self._touched(path)

    def visit_Call(self, node: ast.Call) -> None:
        """Record `getattr` and `sys.modules.get`."""
        self.generic_visit(node)
        for path in self._paths(node):
            if not path.endswith(CALL):
                self._touched(path)
        if isinstance(node.func, ast.Name) and node.func.id in {"setattr", "hasattr"}:
            for path in self._got(node):
                self._touched(path)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Record `"litellm..." in sys.modules`."""
        self.generic_visit(node)
        match node.comparators:
            case [ast.Attribute(attr="modules")]:
                for path in self._module_named(node.left):
                    self._touched(path)

    def _paths(self, node: ast.expr | None) -> Paths:
        """Return the names of LiteLLM that may be the value of an expression."""
        paths: Paths = ()
        match node:
            case ast.Name(id=name):
                paths = self._names.get(name, ())
            case ast.Await(value=inner) | ast.NamedExpr(value=inner):
                paths = self._paths(inner)
            case ast.BoolOp(values=values):
                paths = tuple(path for value in values for path in self._paths(value))
            case ast.IfExp(body=body, orelse=orelse):
                paths = self._paths(body) + self._paths(orelse)
            case ast.Attribute():
                paths = self._attribute(node)
            case ast.Subscript(value=ast.Attribute(attr="modules"), slice=named):
                paths = self._module_named(named)
            case ast.Call():
                paths = self._called(node)
        return paths

    def _attribute(self, node: ast.Attribute) -> Paths:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if self._base is not None:
                return () if name in self._own else (f"{self._base}.{name}",)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name) if self._base is not None:
                return () if name in self._above else (f"{self._base}.{name}",)
        return tuple(f"{path}.{node.attr}" for path in self._paths(node.value))

    def _called(self, node: ast.Call) -> Paths:
        match node:
            case ast.Call(func=ast.Name(id="getattr")):
                return self._got(node)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="modules"), attr="get"), args=[named, *_]):
                return self._module_named(named)
        paths = self._paths(node.func)
        if not paths:
            return self._hints.get(ast.unparse(node.func) + CALL, ())
        # Instances of LiteLLM's classes are not followed.
        return tuple(path + CALL for path in paths if not path.rpartition(".")[2][:1].isupper())

    def _got(self, node: ast.Call) -> Paths:
        """Return the names of LiteLLM that `getattr(of, name)` may return."""
        if len(node.args) < 2:  # noqa: PLR2004
            return ()
        name = self._plugin.text(self._module, node.args[1]) or pattern(node.args[1])
        return () if name is None else self._paths(ast.Attribute(node.args[0], name, ast.Load()))

    def _module_named(self, node: ast.expr) -> Paths:
        name = self._plugin.text(self._module, node)
        return (name,) if name is not None and name.partition(".")[0] == PACKAGE else ()

    def _touched(self, path: str) -> None:
        if path.partition(".")[0] == PACKAGE:
            self._result.names[path].add(self._short)


def pattern(node: ast.expr) -> str | None:
    """Return the pattern of an f-string, with a star for each replacement field."""
    if not isinstance(node, ast.JoinedStr):
        return None
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)


def mentioned(folder: Path, module: str) -> frozenset[str]:
    """Return all names and strings in a module of the plugin, with f-strings as patterns."""
    parsed = Tree(folder).module(f"{PLUGIN}.{module}")
    if parsed is None:
        return frozenset()
    nodes = list(ast.walk(parsed.tree))
    patterns = (pattern(node) for node in nodes if isinstance(node, ast.JoinedStr))
    return parsed.texts | frozenset(_names(nodes)) | frozenset(text for text in patterns if text)


def _names(nodes: Iterable[ast.AST]) -> Iterable[str]:
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.ImportFrom(module=str(name)):
                yield from name.split(".")
            case ast.keyword(arg=str(name)):
                yield name
