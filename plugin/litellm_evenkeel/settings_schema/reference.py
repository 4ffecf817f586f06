"""The table of all settings in the documentation, made from the dataclasses themselves."""

from __future__ import annotations

import ast
import inspect
import textwrap
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, get_args

from litellm_evenkeel.settings_schema.loader import bounds, is_list, is_mapping, leaves, optional, part

if TYPE_CHECKING:
    from litellm_evenkeel.settings_schema.loader import Form, Leaf

HEAD = ("setting", "default", "what may be written", "what it does")
# The largest first; what is no multiple of one is told in the next.
UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def table(kind: type, path: tuple[str, ...] = ()) -> str:
    """Return the table as Markdown; the path is where the tree stands in a larger one."""
    rows = [HEAD, tuple("---" for _ in HEAD)]
    rows += [(f"`{leaf.name}`", _default(leaf), written(leaf.form), description(leaf)) for leaf in leaves(kind, path)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def description(leaf: Leaf) -> str:
    """Return what is written below the field in its class, on one line; nothing if nothing is."""
    return _descriptions(leaf.owner).get(leaf.path[-1], "")


def written(form: Form) -> str:
    """Tell what may be written for a form."""
    inner = optional(form)
    if inner is not None:
        return written(inner)
    if is_list(form):
        return f"a list, each {written(part(form))}; in the environment with commas"
    if is_mapping(form):
        return "a mapping; in the environment as JSON"
    if get_args(form):
        return bounds(form).said + (", without a fraction" if get_args(form)[0] is int else "")
    if issubclass(form, StrEnum):
        return ", ".join(f"`{one}`" for one in form)
    plain = {bool: "`on` or `off`", str: "a text", float: "a number", int: "a whole number"}
    return plain.get(form) or " ".join((inspect.getdoc(form) or "").split()).rstrip(".")


def _default(leaf: Leaf) -> str:
    one = leaf.default
    if isinstance(one, bool):
        return "`on`" if one else "`off`"
    if isinstance(one, int | float):
        return f"`{_duration(one)}`" if bounds(leaf.form).is_time else f"`{one:g}`"
    if isinstance(one, tuple):
        one = ", ".join(map(str, one))
    return f"`{one}`" if one else "none"


def _duration(seconds: float) -> str:
    return next(
        (f"{seconds / each:g}{unit}" for unit, each in UNITS if seconds and seconds % each == 0), f"{seconds:g}s"
    )


@cache
def _descriptions(kind: type) -> dict[str, str]:
    (parsed,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(parsed, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(parsed.body, parsed.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            found[field.target.id] = " ".join(below.value.value.split())
    return found
