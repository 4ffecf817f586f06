"""Reading the plugin's own source: its constants, and which of its classes are derived from LiteLLM's."""

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
        """Return a string that is written down, or a constant that is one, in this module or in one it imports."""
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
        """Return the class of LiteLLM's that a class is derived from, be it by others of ours."""
        for base in definition.bases:
            if not isinstance(base, ast.Name):
                continue
            for binding in module.bindings.get(base.id, ()):
                if isinstance(binding.node, ast.ImportFrom):
                    source = module.absolute(binding.node)
                    if source.partition(".")[0] == PACKAGE:
                        return f"{source}.{base.id}"
            ours = self._class(module, base.id)
            found = None if ours is None else self.base_of(*ours)
            if found is not None:
                return found
        return None

    def own_names(self, module: Module, definition: ast.ClassDef) -> frozenset[str]:
        """Return the names that a class of ours has from us: its own, be they made in methods, and inherited ones."""
        found: set[str] = set()
        for one in ast.walk(definition):
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(one.name)
            elif isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign):
                found |= {*assigned(one), *assigned(one, of="self")}
        return frozenset(found) | self.inherited_names(module, definition)

    def inherited_names(self, module: Module, definition: ast.ClassDef) -> frozenset[str]:
        """Return the names that a class of ours has from others of ours."""
        found: frozenset[str] = frozenset()
        for base in definition.bases:
            ours = self._class(module, base.id) if isinstance(base, ast.Name) else None
            if ours is not None:
                found |= self.own_names(*ours)
        return found

    def _class(self, module: Module, name: str) -> tuple[Module, ast.ClassDef] | None:
        """Return a class of ours, and where it is."""
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
    """Return the string that an assignment gives a name, None if it is no string."""
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        value = next((one for to, one in pairs if isinstance(to, ast.Name) and to.id == name), value)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
