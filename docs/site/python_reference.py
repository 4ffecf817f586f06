"""Write the reference of the Python interfaces, `docs/python.md`, from their docstrings.

`python docs/site/python_reference.py > docs/python.md`. A test compares both.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import textwrap
from dataclasses import dataclass
from typing import Any

WIDTH = 120
INTRODUCTION = """\
# Python interfaces

What programs may import. Only the names of callbacks in `litellm_evenkeel.proxy` are part of the
[promise](versioning.md) about versions; everything else may change with a minor version. This page is made from the
docstrings: `python docs/site/python_reference.py > docs/python.md`.
"""


@dataclass(frozen=True)
class Section:
    """Names of one module that programs use for one purpose."""

    title: str
    about: str
    module: str
    names: tuple[str, ...]


SECTIONS = (
    Section(
        "Callbacks of a proxy",
        "For `callbacks` in a proxy's YAML: `litellm_evenkeel.proxy.rotation`, `prometheus`, `lean`, `gc_freeze`, "
        "`journal`. The first access to a name creates its callback.",
        "litellm_evenkeel.proxy",
        (),
    ),
    Section(
        "Strategies of the rotation",
        "[CONTRIBUTING.md](../CONTRIBUTING.md#a-new-strategy) shows how to add one.",
        "litellm_evenkeel.rotation.selection.strategies",
        ("Strategy",),
    ),
    Section(
        "Supported LiteLLM versions",
        "What the plugin checks at its start.",
        "litellm_evenkeel",
        ("judge", "Verdict", "OLDEST_SUPPORTED"),
    ),
    Section(
        "Results of investigations",
        "For notebooks: results as pandas frames. See [investigations](investigations.md#notebooks).",
        "evenkeel_lab.notebook",
        ("investigation", "MeasuredInvestigation"),
    ),
    Section(
        "Arms that are functions",
        "An investigation can compare functions of your own, by `function` and `arguments` of an arm. A function gets "
        "a seed and its arguments, and returns a number, or `Measured`.",
        "evenkeel_lab.runner.function",
        ("Measured",),
    ),
    Section(
        "Statistics",
        "The verdicts on differences within pairs, without any measurement. See [verdicts](verdicts.md).",
        "evenkeel_lab.stats",
        ("equivalence_test", "Verdict", "Kind", "Margin", "Scale", "permutation_p_value", "detectable"),
    ),
    Section(
        "The journal",
        "Read access to the records of requests. See [journal](journal.md).",
        "evenkeel_lab.journal_reader",
        ("open_journal", "Address"),
    ),
    Section(
        "Load scenarios",
        "Base class of locustfiles. See [load](load.md).",
        "evenkeel_load.locust_side.load_user",
        ("LoadUser",),
    ),
)


def page() -> str:
    """Return the page."""
    return "\n".join([INTRODUCTION, *(_section(section) for section in SECTIONS)])


def _section(section: Section) -> str:
    module = importlib.import_module(section.module)
    parts = [f"## {section.title}", _folded(f"`{section.module}`. {section.about}")]
    for name in section.names:
        parts += _described(name, getattr(module, name))
    return "\n\n".join(parts) + "\n"


def _described(name: str, thing: Any) -> list[str]:
    if inspect.isfunction(thing):
        return [f"### `{name}`", _signature(name, thing), _docstring(thing)]
    if not inspect.isclass(thing):
        return [f"### `{name}`", f"`{thing!r}`"]
    rows = [*_fields(thing), *_members(thing)]
    table = "\n".join(["| name | meaning |", "|---|---|", *(f"| `{member}` | {text} |" for member, text in rows)])
    return [f"### `{name}`", _docstring(thing), *([table] if rows else [])]


def _signature(name: str, function: Any) -> str:
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    decorators = [f"@{ast.unparse(decorator)}" for decorator in node.decorator_list]
    parameters = [*_positional(node.args), *_keyword_only(node.args)]
    line = f"def {name}({', '.join(parameters)}){result}: ..."
    if len(line) > WIDTH:
        line = f"def {name}(\n    {', '.join(parameters)}\n){result}: ..."
    return "\n".join(["```python", *decorators, line, "```"])


def _positional(arguments: ast.arguments) -> list[str]:
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    return [_parameter(argument, default) for argument, default in zip(arguments.args, defaults, strict=True)]


def _keyword_only(arguments: ast.arguments) -> list[str]:
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    own = [_parameter(argument, default) for argument, default in pairs]
    return ["*", *own] if own else []


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    written = ast.unparse(argument)
    return written if default is None else f"{written} = {ast.unparse(default)}".replace("'", '"')


def _docstring(thing: Any) -> str:
    paragraphs = inspect.getdoc(thing) or ""
    return "\n\n".join(_folded(paragraph) for paragraph in paragraphs.split("\n\n"))


def _fields(cls: type) -> list[tuple[str, str]]:
    """Return the public fields and constants of a class, each with the text below it."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    found: list[tuple[str, str]] = []
    for statement in body.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found.append((statement.target.id, f"`{ast.unparse(statement.annotation)}`"))
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found.append((statement.targets[0].id, f"`{ast.unparse(statement.value)}`"))
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and found:
            name, kind = found.pop()
            found.append((name, f"{kind}. {' '.join(str(statement.value.value).split())}"))
    return [(name, text.replace("|", "\\|")) for name, text in found if not name.startswith("_")]


def _members(cls: type) -> list[tuple[str, str]]:
    """Return the public methods and properties that a class defines, each with its docstring."""
    found = []
    for name, member in vars(cls).items():
        target = getattr(member, "func", None) or getattr(member, "fget", None) or member
        if name.startswith("_") or not inspect.isfunction(target):
            continue
        shown = name if target is not member else f"{name}({', '.join(_names(target))})"
        found.append((shown, " ".join((inspect.getdoc(target) or "").split("\n\n")[0].split())))
    return found


def _names(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def _folded(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.stdout.write(page())
