"""Following a dotted name through a source tree: imports, base classes, the types of values and of what is returned."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from evenkeel_lab.compat.source import Binding, Module, Tree, assigned

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind: TypeAlias = Literal["module", "class", "function", "async function", "property", "value", "outside"]
CALL = "()"
# Classes from elsewhere that have none of the members that are looked for here.
BARE = frozenset({"object", "BaseModel", "TypedDict", "Protocol", "Generic", "ABC", "Enum", "NamedTuple", "str", "Any"})
PROPERTIES = frozenset({"property", "cached_property", "functools.cached_property"})
# What an annotation may put around the class of a value.
WRAPPERS = frozenset({"Optional", "Union", "Final", "ClassVar", "Annotated", "Awaitable"})
DEEPEST = 40


@dataclass(frozen=True)
class Found:
    """What a name leads to. `outside` is what comes from another package: nothing is known of its members."""

    kind: Kind
    module: Module | None = None
    nodes: tuple[ast.AST, ...] = ()
    """The statements that make it: several of a class that is written once for type checkers, and once to be run."""
    is_instance: bool = False

    @property
    def node(self) -> ast.AST | None:
        """The last of them, which is the one that counts when the module is run."""
        return self.nodes[-1] if self.nodes else None


OUTSIDE = Found("outside")


@dataclass(frozen=True)
class Missing:
    """A name that leads nowhere: up to where it does, and what is not there."""

    owner: str
    name: str
    is_module: bool = False


class Resolver:
    """Looks names up in one source tree."""

    def __init__(self, tree: Tree, package: str = "litellm") -> None:
        self._tree, self._package = tree, package
        self._in_stars: set[tuple[str, str]] = set()

    def resolve(self, path: str) -> Found | Missing:
        """Return what a dotted name leads to; `name()` in it stands for what calling it returns."""
        parts = path.split(".")
        module = self._tree.module(parts[0])
        if module is None:
            return Missing("", parts[0], is_module=True)
        here: Found = Found("module", module)
        for place, part in enumerate(parts[1:], 1):
            name = part.removesuffix(CALL)
            found = self.member(here, name)
            if found is None:
                # As the plugin imports it: what follows is a name in a module that is not there.
                is_module = here.kind == "module" and place < len(parts) - 1 and name.islower()
                return Missing(".".join(parts[:place]), name, is_module=is_module)
            here = self.returned(found) if part.endswith(CALL) else found
        return here

    def member(self, owner: Found, name: str, depth: int = 0) -> Found | None:
        """Return what a module, a class or a value has under a name, or None."""
        if depth > DEEPEST or owner.kind == "outside":
            return OUTSIDE
        if owner.kind == "module" and owner.module is not None:
            return self._in_module(owner.module, name, depth)
        if owner.kind == "class":
            return self._in_class(owner, name, depth)
        if owner.kind in {"value", "property"}:
            return self.member(self.type_of(owner, depth), name, depth + 1)
        return None

    def type_of(self, value: Found, depth: int = 0) -> Found:
        """Return the class that a value is of, as its annotation or the call that makes it says."""
        node, module = value.node, value.module
        if module is None or depth > DEEPEST:
            return OUTSIDE
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return self._annotated(module, node.returns, depth)
        if isinstance(node, ast.AnnAssign):
            named = self._annotated(module, node.annotation, depth)
            if named.kind == "class":
                return named
        for made in _possible(getattr(node, "value", None)):
            function = self.expression(module, made.func, depth + 1)
            if function is not None and function.kind == "class":
                return replace(function, is_instance=True)
            if function is not None and function.kind in {"function", "async function"}:
                return self.returned(function)
        return OUTSIDE

    def returned(self, found: Found) -> Found:
        """Return what calling it gives."""
        if found.kind == "class":
            return replace(found, is_instance=True)
        if found.module is not None and isinstance(found.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return self._annotated(found.module, found.node.returns, 0)
        return OUTSIDE

    def expression(self, module: Module, node: ast.expr, depth: int = 0) -> Found | None:
        """Return what a name, or an attribute of one, leads to in a module."""
        if isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        if isinstance(node, ast.Name):
            return self._in_module(module, node.id, depth + 1, for_types=True)
        if isinstance(node, ast.Attribute):
            owner = self.expression(module, node.value, depth + 1)
            return None if owner is None else self.member(owner, node.attr, depth + 1)
        return None

    def _annotated(self, module: Module, annotation: ast.expr | None, depth: int) -> Found:
        """Return the first class of the project that an annotation names."""
        if annotation is None:
            return OUTSIDE
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        for node in _alternatives(annotation):
            if isinstance(node, ast.Name | ast.Attribute):
                found = self.expression(module, node, depth + 1)
                if found is not None and found.kind == "class":
                    return replace(found, is_instance=True)
        return OUTSIDE

    def _in_module(self, module: Module, name: str, depth: int, *, for_types: bool = False) -> Found | None:
        if depth > DEEPEST:
            return OUTSIDE
        is_lazy = "__getattr__" in module.bindings
        bindings = module.bindings.get(name, [])
        usable = [one for one in bindings if for_types or is_lazy or not one.for_types]
        if usable:
            classes = [one.node for one in bindings if isinstance(one.node, ast.ClassDef)]
            if classes and isinstance(usable[-1].node, ast.ClassDef):
                return Found("class", module, tuple(classes))
            return self._bound(module, usable[-1], name, depth)
        below = self._tree.module(f"{module.name}.{name}") if module.is_package else None
        if below is not None:
            return Found("module", below)
        return self._through_stars(module, name, depth)

    def _through_stars(self, module: Module, name: str, depth: int) -> Found | None:
        """Look where all names are imported from; modules may do so from each other."""
        if (module.name, name) in self._in_stars:
            return None
        self._in_stars.add((module.name, name))
        try:
            for star in module.stars:
                source = self._tree.module(star)
                found = None if source is None else self._in_module(source, name, depth + 1)
                if found is not None:
                    return found
            return None
        finally:
            self._in_stars.discard((module.name, name))

    def _bound(self, module: Module, binding: Binding, name: str, depth: int) -> Found | None:
        node = binding.node
        if isinstance(node, ast.ImportFrom):
            return self._imported(module, node, name, depth)
        if isinstance(node, ast.Import):
            wanted = next((one.name for one in node.names if one.asname == name), name)
            imported = self._tree.module(wanted) if wanted.partition(".")[0] == self._package else None
            return OUTSIDE if imported is None else Found("module", imported)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Name) and node.value.id != name:
            # Another name of the same thing.
            same = self._in_module(module, node.value.id, depth + 1)
            if same is not None:
                return same
        return Found(kind_of(node), module, (node,))

    def _imported(self, module: Module, node: ast.ImportFrom, name: str, depth: int) -> Found | None:
        source, alias = module.absolute(node), next(one for one in node.names if (one.asname or one.name) == name)
        if source.partition(".")[0] != self._package:
            return OUTSIDE
        there = self._tree.module(source)
        return None if there is None else self._in_module(there, alias.name, depth + 1)

    def _in_class(self, owner: Found, name: str, depth: int) -> Found | None:
        assert owner.module is not None
        for node in reversed(owner.nodes):
            assert isinstance(node, ast.ClassDef)
            found = _in_body(node, name)
            if found is None:
                continue
            if isinstance(found, ast.Assign) and found in node.body and isinstance(found.value, ast.Name):
                # Another name of the same thing.
                return self._in_class(owner, found.value.id, depth + 1) or Found("value", owner.module, (found,))
            return Found(kind_of(found), owner.module, (found,))
        for base in self.bases(owner, depth):
            found_there = self.member(base, name, depth + 1)
            if found_there is not None:
                return found_there
        return None

    def bases(self, owner: Found, depth: int = 0) -> Iterator[Found]:
        """Yield the classes that a class is derived from, those of other packages as `outside`."""
        assert owner.module is not None
        for node in reversed(owner.nodes):
            assert isinstance(node, ast.ClassDef)
            for base in node.bases:
                written = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
                if written.rpartition(".")[2] in BARE:
                    continue
                found = self.expression(owner.module, base, depth + 1)
                if found is None or found.node not in owner.nodes:
                    yield found if found is not None and found.kind == "class" else OUTSIDE


def _possible(value: ast.expr | None) -> Iterator[ast.Call]:
    """Yield the calls whose result an expression may be."""
    if isinstance(value, ast.Call):
        yield value
    elif isinstance(value, ast.BoolOp):
        for one in value.values:
            yield from _possible(one)
    elif isinstance(value, ast.IfExp):
        yield from _possible(value.body)
        yield from _possible(value.orelse)


def _alternatives(annotation: ast.expr) -> Iterator[ast.expr]:
    """Yield the classes that an annotation says a value may be of; not those of what a container holds."""
    if isinstance(annotation, ast.BinOp):
        yield from _alternatives(annotation.left)
        yield from _alternatives(annotation.right)
    elif isinstance(annotation, ast.Subscript):
        if ast.unparse(annotation.value).rpartition(".")[2] in WRAPPERS:
            inner = annotation.slice
            for one in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                yield from _alternatives(one)
    else:
        yield annotation


def _in_body(node: ast.ClassDef, name: str) -> ast.AST | None:
    """Return the last statement that makes a member of a class, be it in a method."""
    found: ast.AST | None = None
    for statement in node.body:
        if (
            isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and statement.name == name
        ) or (isinstance(statement, ast.Assign | ast.AnnAssign) and name in assigned(statement)):
            found = statement
    return found if found is not None else next(_set_in_methods(node, name), None)


def _set_in_methods(node: ast.ClassDef, name: str) -> Iterator[ast.AST]:
    for method in node.body:
        if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) or not method.args.args:
            continue
        myself = method.args.args[0].arg
        for inner in ast.walk(method):
            if isinstance(inner, ast.Assign | ast.AnnAssign | ast.AugAssign) and name in assigned(inner, of=myself):
                yield inner


def kind_of(node: ast.AST) -> Kind:
    """Return what a statement makes."""
    if isinstance(node, ast.ClassDef):
        return "class"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if any(ast.unparse(one) in PROPERTIES for one in node.decorator_list):
            return "property"
        return "async function" if isinstance(node, ast.AsyncFunctionDef) else "function"
    return "value"
