"""Reads a mapping into a tree of frozen dataclasses, and the environment over it.

A setting has a path, `rotation.holds.first`, and so a variable, `EVENKEEL_ROTATION_HOLDS_FIRST`. Names may have
underscores of their own: a variable is looked up among those that there are, never taken apart.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.reading.values import hint, is_mapping, mapping, value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.reading.values import Form

T = TypeVar("T")

PREFIX = "EVENKEEL"
# Kubernetes writes such variables for every service; one of them may be called like a setting of ours begins.
OF_SERVICES = re.compile(r"_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)$")
# A variable that resembles none of ours as much belongs to somebody else, such as the toolkit.
LIKENESS = 0.75


@dataclass(frozen=True, slots=True)
class Leaf:
    """A setting."""

    path: tuple[str, ...]
    form: Form
    default: object
    owner: type
    """The dataclass that it is a field of."""

    @property
    def name(self) -> str:
        """What it is called in YAML."""
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """What it is called in the environment."""
        return "_".join((PREFIX, *self.path)).upper()


def read(kind: type[T], told: object, where: str = "") -> T:
    """Read a mapping; what it does not name keeps its default."""
    hints = _hints(cast("type", kind))
    given: dict[str, object] = {}
    for name, one in mapping(told or {}, where or "the settings").items():
        if name not in hints:
            raise SettingsError(f"{where or 'the settings'}: there is no {str(name)[:40]!r}. {hint(name, hints)}")
        here = f"{where}.{name}" if where else name
        if one is not None:
            given[name] = value(hints[name], one, here, read)
        elif not _is_section(hints[name]):
            # LiteLLM makes this of a variable that is not set; what was to go to an address is not to go elsewhere.
            raise SettingsError(
                f"{here}: nothing is written here, or a variable that is not set. Set it, or leave this out."
            )
    for field in fields(cast("Any", kind)):
        if field.name not in given and field.default is MISSING and field.default_factory is MISSING:
            raise SettingsError(f"{where}.{field.name}: this is missing.")
    return kind(**given)


def leaves(kind: type, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Yield all settings of a tree."""
    hints = _hints(kind)
    empty = kind()
    for field in fields(kind):
        form, here = hints[field.name], (*path, field.name)
        if _is_tree(form):
            yield from leaves(form, here)
        else:
            yield Leaf(here, form, getattr(empty, field.name), _owner(kind, field.name))


def overlaid(kind: type, told: object, environ: Mapping[str, str]) -> dict[str, Any]:
    """Lay the variables of an environment over a mapping; one that is empty counts as not set."""
    result = _copy(mapping(told or {}, "the settings"))
    known = {leaf.variable: leaf for leaf in leaves(kind)}
    sections = tuple(f"{PREFIX}_{field.name.upper()}_" for field in fields(kind))
    for variable, text in sorted(environ.items()):
        if not variable.startswith(f"{PREFIX}_") or not text:
            continue
        if variable not in known:
            if OF_SERVICES.search(variable):
                continue
            _refuse(variable, known, sections)
            continue
        *parents, name = known[variable].path
        place = result
        for parent in parents:
            below = place.setdefault(parent, {})
            if below is None:
                below = place[parent] = {}
            if not isinstance(below, dict):
                raise SettingsError(f"{parent}: this is a mapping, so {variable} cannot be laid over it.")
            place = below
        place[name] = text
    return result


def _refuse(variable: str, known: Mapping[str, Leaf], sections: tuple[str, ...]) -> None:
    # What all have in common likens nothing to anything.
    told = variable.removeprefix(PREFIX)
    near = difflib.get_close_matches(told, [one.removeprefix(PREFIX) for one in known], 1, LIKENESS)
    if near:
        raise SettingsError(f"The environment: there is no {variable}. Did you mean {PREFIX}{near[0]}?")
    if variable.startswith(sections):
        raise SettingsError(f"The environment: there is no {variable}. Unset it; docs/settings.md lists all there are.")


def _is_tree(form: Form) -> bool:
    return isinstance(form, type) and is_dataclass(form) and not hasattr(form, "of")


def _is_section(form: Form) -> bool:
    """Return whether other lines stand below it, which may all be comments."""
    return _is_tree(form) or is_mapping(form)


def _copy(told: Mapping[Any, Any]) -> dict[Any, Any]:
    return {name: _copy(one) if isinstance(one, Mapping) else one for name, one in told.items()}


@cache
def _hints(kind: type) -> dict[str, Form]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(cast("Any", kind))}


def _owner(kind: type, name: str) -> type:
    return next(one for one in kind.__mro__ if name in inspect.get_annotations(one))
