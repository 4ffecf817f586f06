"""Resolve a dotted name in a source tree: through imports, base classes, and types of values and results."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from evenkeel_lab.compat.source import Binding, Module, Tree, assigned

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind: TypeAlias = Literal["module", "class", "function", "async function", "property", "value", "outside"]
CALL = "()"
# Classes of other packages without members that an entry could name.
BARE = frozenset({"object", "BaseModel", "TypedDict", "Protocol", "Generic", "ABC", "Enum", "NamedTuple", "str", "Any"})
PROPERTIES = frozenset({"property", "cached_property", "functools.cached_property"})
# Generic types whose arguments are the classes of a value.
WRAPPERS = frozenset({"Optional", "Union", "Final", "ClassVar", "Annotated", "Awaitable"})
DEEPEST = 40


@dataclass(frozen=True)
class Definition:
    """The definition of a name. The kind `outside` is a name of another package, whose members are unknown."""

    kind: Kind
    module: Module | None = None
    nodes: tuple[ast.AST, ...] = ()
    """The defining statements: several for a class with one definition for type checkers and one for the run time."""
    is_instance: bool = False

    @property
    def node(self) -> ast.AST | None:
        """The last statement, which is the effective one at run time."""
        return self.nodes[-1] if self.nodes else None


OUTSIDE = Definition("outside")


@dataclass(frozen=True)
class Missing:
    """A name without a definition: the last part that exists, and the first that does not."""

    owner: str
    name: str
    is_module: bool = False


class Resolver:
    """Resolver of names in a source tree."""

    def __init__(self, tree: Tree, package: str = "litellm") -> None:
        self._tree, self._package = tree, package
        self._in_stars: set[tuple[str, str]] = set()

    def resolve(self, path: str) -> Definition | Missing:
        """Return the definition of a dotted name; `name()` in it stands for the result of a call."""
        parts = path.split(".")
        module = self._tree.module(parts[0])
        if module is None:
            return Missing("", parts[0], is_module=True)
        owner: Definition = Definition("module", module)
        for number, part in enumerate(parts[1:], 1):
            name = part.removesuffix(CALL)
            member = self.member(owner, name)
            if member is None:
                # More parts follow, so the plugin imports from a module that does not exist.
                is_module = owner.kind == "module" and number < len(parts) - 1 and name.islower()
                return Missing(".".join(parts[:number]), name, is_module=is_module)
            owner = self.returned(member) if part.endswith(CALL) else member
        return owner

    def member(self, owner: Definition, name: str, depth: int = 0) -> Definition | None:
        """Return the definition of a member of a module, a class or a value; `None` if it has none."""
        if depth > DEEPEST or owner.kind == "outside":
            return OUTSIDE
        if owner.kind == "module" and owner.module is not None:
            return self._in_module(owner.module, name, depth)
        if owner.kind == "class":
            return self._in_class(owner, name, depth)
        if owner.kind in {"value", "property"}:
            return self.member(self.type_of(owner, depth), name, depth + 1)
        return None

    def type_of(self, value: Definition, depth: int = 0) -> Definition:
        """Return the class of a value by its annotation or by the call that creates it."""
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

    def returned(self, function: Definition) -> Definition:
        """Return the definition of a call's result."""
        if function.kind == "class":
            return replace(function, is_instance=True)
        if function.module is not None and isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return self._annotated(function.module, function.node.returns, 0)
        return OUTSIDE

    def expression(self, module: Module, node: ast.expr, depth: int = 0) -> Definition | None:
        """Return the definition of a name or an attribute in a module."""
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

    def _annotated(self, module: Module, annotation: ast.expr | None, depth: int) -> Definition:
        """Return the first class of the package in an annotation."""
        if annotation is None:
            return OUTSIDE
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        for node in _alternatives(annotation):
            if isinstance(node, ast.Name | ast.Attribute):
                named = self.expression(module, node, depth + 1)
                if named is not None and named.kind == "class":
                    return replace(named, is_instance=True)
        return OUTSIDE

    def _in_module(self, module: Module, name: str, depth: int, *, for_types: bool = False) -> Definition | None:
        if depth > DEEPEST:
            return OUTSIDE
        is_lazy = "__getattr__" in module.bindings
        bindings = module.bindings.get(name, [])
        usable = [binding for binding in bindings if for_types or is_lazy or not binding.for_types]
        if usable:
            classes = [binding.node for binding in bindings if isinstance(binding.node, ast.ClassDef)]
            if classes and isinstance(usable[-1].node, ast.ClassDef):
                return Definition("class", module, tuple(classes))
            return self._bound(module, usable[-1], name, depth)
        below = self._tree.module(f"{module.name}.{name}") if module.is_package else None
        if below is not None:
            return Definition("module", below)
        return self._through_stars(module, name, depth)

    def _through_stars(self, module: Module, name: str, depth: int) -> Definition | None:
        """Resolve a name in modules of star imports, which may import from each other."""
        if (module.name, name) in self._in_stars:
            return None
        self._in_stars.add((module.name, name))
        try:
            for star in module.stars:
                source = self._tree.module(star)
                definition = None if source is None else self._in_module(source, name, depth + 1)
                if definition is not None:
                    return definition
            return None
        finally:
            self._in_stars.discard((module.name, name))

    def _bound(self, module: Module, binding: Binding, name: str, depth: int) -> Definition | None:
        node = binding.node
        if isinstance(node, ast.ImportFrom):
            return self._imported(module, node, name, depth)
        if isinstance(node, ast.Import):
            wanted = next((alias.name for alias in node.names if alias.asname == name), name)
            imported = self._tree.module(wanted) if wanted.partition(".")[0] == self._package else None
            return OUTSIDE if imported is None else Definition("module", imported)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Name) and node.value.id != name:
            # An alias.
            same = self._in_module(module, node.value.id, depth + 1)
            if same is not None:
                return same
        return Definition(kind_of(node), module, (node,))

    def _imported(self, module: Module, node: ast.ImportFrom, name: str, depth: int) -> Definition | None:
        source = module.absolute(node)
        alias = next(alias for alias in node.names if (alias.asname or alias.name) == name)
        if source.partition(".")[0] != self._package:
            return OUTSIDE
        imported = self._tree.module(source)
        return None if imported is None else self._in_module(imported, alias.name, depth + 1)

    def _in_class(self, owner: Definition, name: str, depth: int) -> Definition | None:
        assert owner.module is not None
        for node in reversed(owner.nodes):
            assert isinstance(node, ast.ClassDef)
            member = _in_body(node, name)
            if member is None:
                continue
            if isinstance(member, ast.Assign) and member in node.body and isinstance(member.value, ast.Name):
                # An alias.
                return self._in_class(owner, member.value.id, depth + 1) or Definition("value", owner.module, (member,))
            return Definition(kind_of(member), owner.module, (member,))
        for base in self.bases(owner, depth):
            inherited = self.member(base, name, depth + 1)
            if inherited is not None:
                return inherited
        return None

    def bases(self, owner: Definition, depth: int = 0) -> Iterator[Definition]:
        """Yield the base classes of a class, those of other packages as `outside`."""
        assert owner.module is not None
        for node in reversed(owner.nodes):
            assert isinstance(node, ast.ClassDef)
            for base in node.bases:
                written = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
                if written.rpartition(".")[2] in BARE:
                    continue
                definition = self.expression(owner.module, base, depth + 1)
                if definition is None or definition.node not in owner.nodes:
                    yield definition if definition is not None and definition.kind == "class" else OUTSIDE


def _possible(value: ast.expr | None) -> Iterator[ast.Call]:
    """Yield the calls whose result may be the value of an expression."""
    if isinstance(value, ast.Call):
        yield value
    elif isinstance(value, ast.BoolOp):
        for operand in value.values:
            yield from _possible(operand)
    elif isinstance(value, ast.IfExp):
        yield from _possible(value.body)
        yield from _possible(value.orelse)


def _alternatives(annotation: ast.expr) -> Iterator[ast.expr]:
    """Yield the possible classes of a value by its annotation, without those of a container's items."""
    if isinstance(annotation, ast.BinOp):
        yield from _alternatives(annotation.left)
        yield from _alternatives(annotation.right)
    elif isinstance(annotation, ast.Subscript):
        if ast.unparse(annotation.value).rpartition(".")[2] in WRAPPERS:
            inner = annotation.slice
            for argument in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                yield from _alternatives(argument)
    else:
        yield annotation


def _in_body(node: ast.ClassDef, name: str) -> ast.AST | None:
    """Return the last statement that defines a member of a class, which may be in a method."""
    last: ast.AST | None = None
    for statement in node.body:
        if (
            isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and statement.name == name
        ) or (isinstance(statement, ast.Assign | ast.AnnAssign) and name in assigned(statement)):
            last = statement
    return last if last is not None else next(_set_in_methods(node, name), None)


def _set_in_methods(node: ast.ClassDef, name: str) -> Iterator[ast.AST]:
    for method in node.body:
        if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) or not method.args.args:
            continue
        myself = method.args.args[0].arg
        for inner in ast.walk(method):
            if isinstance(inner, ast.Assign | ast.AnnAssign | ast.AugAssign) and name in assigned(inner, of=myself):
                yield inner


def kind_of(node: ast.AST) -> Kind:
    """Return the kind of a definition."""
    if isinstance(node, ast.ClassDef):
        return "class"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if any(ast.unparse(decorator) in PROPERTIES for decorator in node.decorator_list):
            return "property"
        return "async function" if isinstance(node, ast.AsyncFunctionDef) else "function"
    return "value"
