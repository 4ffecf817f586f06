"""The language of the plugin: words that names may not use, and docstrings that a stranger understands.

`docs/glossary.md` says what is written instead.
"""

from __future__ import annotations

import ast
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import litellm_evenkeel

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.docs

PACKAGE = Path(litellm_evenkeel.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# A docstring begins with what a function does or what a thing is.
FORBIDDEN_OPENING = re.compile(r"(Know|Let|Say|Tell|See to|Have|Be|What|Who|Whose|Whoever|How|That)\b")
# As a whole name, these say nothing.
FORBIDDEN_NAMES = frozenset({"told", "found", "one", "several", "who", "said", "asked"})
# As a part of a name, these are not the field's word for anything in the plugin; the glossary has the field's words.
FORBIDDEN_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        bury child children desk elsewhere glance gossip graves heir
        hints hub meanwhile mishap mishaps obstacle pace patience place
        places refusal refusals said seat seats sender side sides
        standing stock told twin twins who whose will
        """,
    )
)
# Machines are no persons, and nobody has to guess what "so much" means.
FORBIDDEN_PHRASES = re.compile(
    r"\b(nobody|whoever|whomever|somebody|of whom|who asks|is told|are told|has heard|hears of|has died|have died|"
    r"knows of|is asked|are asked|so much|so many|so long|so soon)\b",
    re.IGNORECASE,
)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments and strings of a module, each with its line."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type in {tokenize.COMMENT, tokenize.STRING} or token.type == getattr(
                tokenize, "FSTRING_MIDDLE", None
            ):
                yield token.start[0], token.string


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of modules, classes, functions and attributes, each with its line."""
    for node in ast.walk(tree):
        for statement in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            if (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            ):
                yield statement.lineno, statement.value.value.strip()


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names that a module gives, each with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case _:
                pass


def words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_language_of_a_module_is_plain(path: Path) -> None:
    tree = ast.parse(path.read_text())
    mistakes = [
        f"{line}: a docstring begins with {match[0]!r}"
        for line, text in docstrings(tree)
        if (match := FORBIDDEN_OPENING.match(text))
    ]
    mistakes += [
        f"{line}: {match[0]!r} in {text.strip()[:60]!r}"
        for line, text in texts(path)
        if (match := FORBIDDEN_PHRASES.search(text))
    ]
    given = [(0, path.stem), *names(tree)]
    mistakes += [f"{line}: the name {name}" for line, name in given if name.strip("_") in FORBIDDEN_NAMES]
    mistakes += [
        f"{line}: {word!r} in the name {name}" for line, name in given for word in {*words(name)} & FORBIDDEN_WORDS
    ]
    assert not mistakes, f"{path.name}\n" + "\n".join(mistakes)
