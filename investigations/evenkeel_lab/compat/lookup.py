"""Lookup of the contract in a source tree of LiteLLM, without running it."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from evenkeel_lab.compat.resolve import Definition, Missing, Resolver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkeel_lab.compat.contract import Entry
    from evenkeel_lab.compat.source import Function, Tree

PACKAGE = "litellm"
# Kinds of a definition that an entry may have. A property is read like an attribute.
ALLOWED = {
    "module": {"module"},
    "class": {"class"},
    "function": {"function"},
    "async function": {"async function"},
    "hook": {"function"},
    "async hook": {"async function"},
    "attribute": {"value", "property"},
    "setting": {"value"},
}
MOST, MOST_BASES = 3, 200


class Break(BaseModel):
    """An entry of the contract that a version lacks, or has in another form."""

    model_config = ConfigDict(frozen=True)

    version: str
    name: str
    problem: str
    needed_by: tuple[str, ...]
    why: str
    similar: tuple[str, ...] = ()
    """Names of that version that may have replaced it."""


def breaks(tree: Tree, version: str, entries: Iterable[Entry]) -> list[Break]:
    """Return the breaks of the entries that apply to `version`."""
    search = _Search(tree)
    return [broken for entry in entries if entry.applies_to(version) for broken in search.of(entry, version)]


class _Search:
    def __init__(self, tree: Tree) -> None:
        self._tree, self._resolver = tree, Resolver(tree)

    def of(self, entry: Entry, version: str) -> Iterator[Break]:
        """Yield the breaks of an entry."""
        for problem, similar in self._problems(entry):
            yield Break(
                version=version,
                name=entry.name,
                problem=problem,
                needed_by=entry.needed_by,
                why=entry.why,
                similar=similar,
            )

    def _problems(self, entry: Entry) -> Iterator[tuple[str, tuple[str, ...]]]:
        if entry.kind in {"metric", "text"}:
            yield from self._text(entry)
            return
        results = [self._resolver.resolve(name) for name in entry.names]
        definition = next((result for result in results if isinstance(result, Definition)), None)
        if definition is None:
            missing = next(result for result in results if isinstance(result, Missing))
            missing = replace(missing, is_module=missing.is_module or entry.kind == "module")
            yield _describe(missing), self._similar(missing)
            return
        if definition.kind == "outside":
            return
        yield from ((problem, ()) for problem in _form(entry, definition))
        for base in entry.bases:
            if not self._is_derived(definition, base):
                yield f"is not derived from {base}", ()
        for member in entry.members:
            if self._resolver.member(definition, member) is None:
                yield f"has no {member}", ()

    def _text(self, entry: Entry) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Check that modules have a string, for entries without a name in the source, such as metrics."""
        modules = [self._tree.module(name) for name in entry.within]
        if not any(entry.name in module.texts for module in modules if module is not None):
            pattern = re.compile(rf"""["']{re.escape(entry.name)}["']""")
            yield f"is not in {' or '.join(entry.within)}", self._matches(pattern)

    def _is_derived(self, definition: Definition, base: str) -> bool:
        wanted = self._resolver.resolve(base)
        if isinstance(wanted, Missing):
            return False
        seen, waiting = 0, [definition]
        while waiting and seen < MOST_BASES:
            current = waiting.pop()
            seen += 1
            if current.kind == "class":
                if current.node is wanted.node:
                    return True
                waiting += self._resolver.bases(current)
        return False

    def _similar(self, missing: Missing) -> tuple[str, ...]:
        """Return other definitions with the same name."""
        if missing.is_module:
            return tuple(name for name, _ in self._tree.files(PACKAGE) if name.rpartition(".")[2] == missing.name)[
                :MOST
            ]
        # Names lose or get a leading underscore when they become public or private.
        name = f"_*{re.escape(missing.name.lstrip('_'))}"
        return self._matches(
            re.compile(rf"^ *(?:(?:async )?def|class) ({name})\b|^ *(?:self\.)?({name})(?::[^=\n]*)? = ", re.MULTILINE)
        )

    def _matches(self, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """Return the modules that match a pattern, each with the matched name."""
        matches: list[str] = []
        for module, path in self._tree.files(PACKAGE):
            match = pattern.search(path.read_text(errors="replace"))
            if match is not None:
                name = next((group for group in match.groups() if group), None)
                matches.append(module if name is None else f"{module}.{name}")
                if len(matches) == MOST:
                    break
        return tuple(matches)


def _describe(missing: Missing) -> str:
    if missing.is_module:
        return f"there is no module {missing.owner}.{missing.name}".replace(" .", " ")
    return f"there is no {missing.name} in {missing.owner}"


def _form(entry: Entry, definition: Definition) -> Iterator[str]:
    """Yield differences in form: of the kind, else of the parameters."""
    allowed = ALLOWED[entry.kind]
    if definition.kind not in allowed:
        yield f"is {_a(definition.kind)}, not {_a(next(iter(allowed)))}"
    elif isinstance(definition.node, ast.FunctionDef | ast.AsyncFunctionDef) and definition.kind != "property":
        yield from _parameters(entry, definition.node)


def _parameters(entry: Entry, node: Function) -> Iterator[str]:
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    names = [argument.arg for argument in [*plain, *arguments.kwonlyargs] if argument.arg not in {"self", "cls"}]
    if entry.parameters is None:
        return
    if arguments.kwarg is None:
        yield from (f"has no parameter {name}" for name in entry.parameters if name not in names)
    known = {*entry.parameters, *entry.optional_parameters}
    if entry.kind.endswith("hook"):
        if not entry.takes_any:
            yield from (f"is called with {name}, which ours does not take" for name in names if name not in known)
        return
    with_default = {argument.arg for argument in plain[len(plain) - len(arguments.defaults) :]}
    with_default |= {
        argument.arg
        for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if value is not None
    }
    yield from (
        f"needs the parameter {name}, which ours does not pass"
        for name in names
        if name not in with_default and name not in known
    )


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"
