"""The language of the code: words that names may not use, and docstrings that a stranger understands.

`docs/glossary.md` says what is written instead.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[2]
PLUGIN = "plugin/litellm_evenkeel"
FOLDERS = (
    "investigations/evenkeel_lab",
    "investigations/tests/bench/prometheus_callback",
    "investigations/tests/diagnosis",
    "investigations/tests/investigation_spec",
    "investigations/tests/notebook",
    "investigations/tests/report",
    "loadtest/evenkeel_load",
    "loadtest/scenarios",
    "mock_llm/evenkeel_mock",
    PLUGIN,
)
TESTS = [
    path
    for folder in ("investigations", "loadtest", "mock_llm", "plugin")
    for path in sorted((ROOT / folder / "tests").rglob("*.py"))
    if path not in {Path(__file__), Path(__file__).with_name("test_prose.py")}
]
MODULES = [
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))),
    *sorted((ROOT / "investigations").glob("*/notebook.py")),
]

# A docstring begins with what a function does or what a thing is.
FORBIDDEN_OPENING = re.compile(r"(Know|Let|Say|Tell|See to|Have|Be|What|Who|Whose|Whoever|How|That)\b")
# As a whole name, these say nothing.
FORBIDDEN_NAMES = frozenset({"told", "found", "one", "several", "who", "said", "asked"})
# As a part of a name, these are not the field's word for anything here; the glossary has the field's words.
FORBIDDEN_WORDS = re.compile(
    "bury|desk|doubts?|elsewhere|glance|gossip|graves|heir|hub|meanwhile|mishaps?|obstacle|patience|places?|refusals?|"
    "said|seats?|sender|sides?|standing|told|twins?|untold|who|whose|will"
)
# Once the plugin's words for series, budgets, headroom and quota windows. In the lab, a process has children, an error
# has a hint, a stream has a pace, and LiteLLM's own callback is the stock one.
FORBIDDEN_IN_THE_PLUGIN = re.compile("child|children|hints|pace|stock")
# Machines are no persons, and nobody has to guess what "so much" means.
FORBIDDEN_PHRASES = re.compile(
    r"\b(nobody|whoever|whomever|somebody|of whom|who asks|is told|are told|has heard|hears of|has died|have died|"
    r"knows of|is asked|are asked|can be told|cannot be told|untold|doubts?|so much|so many|so long|so soon)\b",
    re.IGNORECASE,
)


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments and strings of a module, each with its line."""
    # Python 3.11 has f-strings as single tokens.
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in kinds:
            yield token.start[0], token.string


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of modules, classes, functions and attributes, each with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text.strip()
            case _:
                pass


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


def forbidden_words(name: str, forbidden: re.Pattern[str] = FORBIDDEN_WORDS) -> list[str]:
    """Return the words of a name, which is in snake case or in camel case, that it may not have."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return [word for word in words if forbidden.fullmatch(word.lower())]


def mistakes_of_texts(source: str) -> Iterator[str]:
    """Yield what is wrong with the docstrings, comments and strings of a module, each with its line."""
    for line, text in docstrings(ast.parse(source)):
        if match := FORBIDDEN_OPENING.match(text):
            yield f"{line}: a docstring begins with {match[0]!r}"
    for line, text in texts(source):
        if match := FORBIDDEN_PHRASES.search(text):
            yield f"{line}: {match[0]!r} in {text.strip()[:60]!r}"


def mistakes(name: str, source: str) -> Iterator[str]:
    """Yield what is wrong with the language of a module, each with its line."""
    yield from mistakes_of_texts(source)
    for line, given in ((0, name), *names(ast.parse(source))):
        if given.strip("_") in FORBIDDEN_NAMES:
            yield f"{line}: the name {given}"
        for word in forbidden_words(given):
            yield f"{line}: {word!r} in the name {given}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_language_of_a_module_is_plain(path: Path) -> None:
    listed = list(mistakes(path.stem, path.read_text()))
    assert not listed, "\n".join(listed)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_texts_of_a_test_are_plain(path: Path) -> None:
    listed = list(mistakes_of_texts(path.read_text()))
    assert not listed, "\n".join(listed)


@pytest.mark.parametrize("path", sorted((ROOT / PLUGIN).rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_plugin_uses_the_words_of_the_glossary(path: Path) -> None:
    given = [path.stem, *(name for _, name in names(ast.parse(path.read_text())))]
    assert not [name for name in given if forbidden_words(name, FORBIDDEN_IN_THE_PLUGIN)]


@pytest.mark.parametrize(
    ("source", "mistake"),
    [
        ('def failed():\n    """Know of a failure."""', "2: a docstring begins with 'Know'"),
        ("x = 1  # Nobody asks.", "1: 'Nobody' in '# Nobody asks.'"),
        ("def find(told): ...", "1: the name told"),
        ("freeSeats = 1", "1: 'Seats' in the name freeSeats"),
        ("self.side_of = 1", "1: 'side' in the name side_of"),
    ],
)
def test_the_lint_finds_a_mistake(source: str, mistake: str) -> None:
    assert mistake in list(mistakes("module", source))


def test_the_lint_accepts_words_that_contain_a_forbidden_one() -> None:
    assert not list(mistakes("willing", 'def consider(placeholder):\n    """Consider `placeholder`."""'))
