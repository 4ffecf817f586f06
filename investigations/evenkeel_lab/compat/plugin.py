"""The plugin's source: its constants, and its classes that are derived from LiteLLM's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from evenkeel_lab.compat.source import assigned

if TYPE_CHECKING:
    from evenkeel_lab.compat.source import Module, Tree

PLUGIN, PACKAGE = "litellm_evenkeel", "litellm"


class Plugin:
    """The source tree of the plugin."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def text(self, module: Module, node: ast.expr) -> str | None:
        """Return the value of a string literal, or of a constant in this module or one that it imports."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            imported = self._imported(module, node.value.id)
            return None if imported is None else self.text(imported, ast.Name(node.attr))
        if not isinstance(node, ast.Name):
            return None
        for binding in module.bindings.get(node.id, ()):
            if isinstance(binding.node, ast.Assign):
                return _constant(binding.node, node.id)
            if isinstance(binding.node, ast.ImportFrom):
                source = self._tree.module(module.absolute(binding.node))
                return None if source is None else self.text(source, node)
        return None

    def base_of(self, module: Module, definition: ast.ClassDef) -> str | None:
        """Return LiteLLM's class that a class is derived from, directly or through other classes of the plugin."""
        for base in definition.bases:
            if not isinstance(base, ast.Name):
                continue
            for binding in module.bindings.get(base.id, ()):
                if isinstance(binding.node, ast.ImportFrom):
                    source = module.absolute(binding.node)
                    if source.partition(".")[0] == PACKAGE:
                        return f"{source}.{base.id}"
            own = self._class(module, base.id)
            inherited = None if own is None else self.base_of(*own)
            if inherited is not None:
                return inherited
        return None

    def own_names(self, module: Module, definition: ast.ClassDef) -> frozenset[str]:
        """Return the members that the plugin defines for a class: its own, also those set in methods, and inherited."""
        names: set[str] = set()
        for node in ast.walk(definition):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                names |= {*assigned(node), *assigned(node, of="self")}
        return frozenset(names) | self.inherited_names(module, definition)

    def inherited_names(self, module: Module, definition: ast.ClassDef) -> frozenset[str]:
        """Return the members that a class inherits from other classes of the plugin."""
        names: frozenset[str] = frozenset()
        for base in definition.bases:
            own = self._class(module, base.id) if isinstance(base, ast.Name) else None
            if own is not None:
                names |= self.own_names(*own)
        return names

    def _class(self, module: Module, name: str) -> tuple[Module, ast.ClassDef] | None:
        """Return a class of the plugin with its module."""
        for binding in module.bindings.get(name, ()):
            if isinstance(binding.node, ast.ClassDef):
                return module, binding.node
            if isinstance(binding.node, ast.ImportFrom):
                source = self._tree.module(module.absolute(binding.node))
                return None if source is None else self._class(source, name)
        return None

    def _imported(self, module: Module, name: str) -> Module | None:
        for binding in module.bindings.get(name, ()):
            if isinstance(binding.node, ast.ImportFrom):
                return self._tree.module(f"{module.absolute(binding.node)}.{name}")
        return None


def _constant(node: ast.Assign, name: str) -> str | None:
    """Return the string that an assignment gives to `name`; `None` if it is no string."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        value = next((given for to, given in pairs if isinstance(to, ast.Name) and to.id == name), value)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
