"""Lookup of the contract in a source tree of LiteLLM, without running it."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from evenkeel_lab.compat.resolve import Found, Missing, Resolver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkeel_lab.compat.contract import Entry
    from evenkeel_lab.compat.source import Function, Tree

PACKAGE = "litellm"
# What an entry may be, as the source has it. A property is read as an attribute is.
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
    elsewhere: tuple[str, ...] = ()
    """Modules of that version with the same name."""


def breaks(tree: Tree, version: str, entries: Iterable[Entry]) -> list[Break]:
    """Return the breaks of the entries that apply to `version`."""
    search = _Search(tree)
    return [found for entry in entries if entry.applies_to(version) for found in search.of(entry, version)]


class _Search:
    def __init__(self, tree: Tree) -> None:
        self._tree, self._resolver = tree, Resolver(tree)

    def of(self, entry: Entry, version: str) -> Iterator[Break]:
        """Yield the breaks of an entry."""
        for problem, elsewhere in self._problems(entry):
            yield Break(
                version=version,
                name=entry.name,
                problem=problem,
                needed_by=entry.needed_by,
                why=entry.why,
                elsewhere=elsewhere,
            )

    def _problems(self, entry: Entry) -> Iterator[tuple[str, tuple[str, ...]]]:
        if entry.kind in {"metric", "text"}:
            yield from self._text(entry)
            return
        tried = [self._resolver.resolve(name) for name in entry.names]
        found = next((one for one in tried if isinstance(one, Found)), None)
        if found is None:
            missing = next(one for one in tried if isinstance(one, Missing))
            missing = replace(missing, is_module=missing.is_module or entry.kind == "module")
            yield _said(missing), self._elsewhere(missing)
            return
        if found.kind == "outside":
            return
        yield from ((problem, ()) for problem in _form(entry, found))
        for base in entry.bases:
            if not self._is_derived(found, base):
                yield f"is not derived from {base}", ()
        for member in entry.members:
            if self._resolver.member(found, member) is None:
                yield f"has no {member}", ()

    def _text(self, entry: Entry) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Look for a string in modules: for what has no name in the source, such as a metric."""
        modules = [self._tree.module(name) for name in entry.within]
        if not any(entry.name in module.texts for module in modules if module is not None):
            pattern = re.compile(rf"""["']{re.escape(entry.name)}["']""")
            yield f"is not in {' or '.join(entry.within)}", self._places(pattern)

    def _is_derived(self, found: Found, base: str) -> bool:
        wanted = self._resolver.resolve(base)
        if isinstance(wanted, Missing):
            return False
        seen, waiting = 0, [found]
        while waiting and seen < MOST_BASES:
            one = waiting.pop()
            seen += 1
            if one.kind == "class":
                if one.node is wanted.node:
                    return True
                waiting += self._resolver.bases(one)
        return False

    def _elsewhere(self, missing: Missing) -> tuple[str, ...]:
        """Return where else in the tree something has the name."""
        if missing.is_module:
            return tuple(one for one, _ in self._tree.files(PACKAGE) if one.rpartition(".")[2] == missing.name)[:MOST]
        # Names lose and get an underscore in front as they become public and private.
        name = f"_*{re.escape(missing.name.lstrip('_'))}"
        return self._places(
            re.compile(rf"^ *(?:(?:async )?def|class) ({name})\b|^ *(?:self\.)?({name})(?::[^=\n]*)? = ", re.MULTILINE)
        )

    def _places(self, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """Return the modules in which a pattern is, each with what it has matched."""
        places: list[str] = []
        for module, path in self._tree.files(PACKAGE):
            match = pattern.search(path.read_text(errors="replace"))
            if match is not None:
                name = next((group for group in match.groups() if group), None)
                places.append(module if name is None else f"{module}.{name}")
                if len(places) == MOST:
                    break
        return tuple(places)


def _said(missing: Missing) -> str:
    if missing.is_module:
        return f"there is no module {missing.owner}.{missing.name}".replace(" .", " ")
    return f"there is no {missing.name} in {missing.owner}"


def _form(entry: Entry, found: Found) -> Iterator[str]:
    """Yield what is otherwise with what was found: its kind, then its parameters."""
    allowed = ALLOWED[entry.kind]
    if found.kind not in allowed:
        yield f"is {_a(found.kind)}, not {_a(next(iter(allowed)))}"
    elif isinstance(found.node, ast.FunctionDef | ast.AsyncFunctionDef) and found.kind != "property":
        yield from _parameters(entry, found.node)


def _parameters(entry: Entry, node: Function) -> Iterator[str]:
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    names = [one.arg for one in [*plain, *arguments.kwonlyargs] if one.arg not in {"self", "cls"}]
    if entry.parameters is None:
        return
    if arguments.kwarg is None:
        yield from (f"has no parameter {name}" for name in entry.parameters if name not in names)
    known = {*entry.parameters, *entry.optional_parameters}
    if entry.kind.endswith("hook"):
        if not entry.takes_any:
            yield from (f"is called with {name}, which ours does not take" for name in names if name not in known)
        return
    with_default = {one.arg for one in plain[len(plain) - len(arguments.defaults) :]}
    with_default |= {
        one.arg for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value is not None
    }
    yield from (
        f"needs the parameter {name}, which ours does not pass"
        for name in names
        if name not in with_default and name not in known
    )


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"
