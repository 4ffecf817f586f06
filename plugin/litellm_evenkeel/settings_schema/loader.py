"""Reads a mapping into a tree of frozen dataclasses, and the environment over it.

A setting has a path, `rotation.holds.first`, and so a variable, `EVENKEEL_ROTATION_HOLDS_FIRST`. Names may have
underscores of their own: a variable is looked up among those that there are, never taken apart.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings_schema.types import Bounds
from litellm_evenkeel.support.durations import number, span
from litellm_evenkeel.support.redaction import shown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SWITCHES = {
    "on": True, "true": True, "yes": True, "1": True,
    "off": False, "false": False, "no": False, "0": False,
}  # fmt: skip
LONGEST_SHOWN = 40
WHOLE = re.compile(r"-?[0-9]{1,15}")

Form: TypeAlias = Any
"""A type as `typing.get_type_hints` gives it."""
Nested: TypeAlias = Callable[[type, object, str], object]
"""What reads a dataclass: its type, what was told, and where that stands."""


def value(form: Form, told: object, where: str, nested: Nested) -> object:
    """Read what was told as a form; dataclasses go to `nested`."""
    inner = optional(form)
    if inner is not None:
        return None if told is None else value(inner, told, where, nested)
    each = part(form)
    if is_list(form):
        return tuple(value(each, one, f"{where}[{place}]", nested) for place, one in enumerate(_list(told, where), 1))
    if is_mapping(form):
        names = {shown_name(str(name)): one for name, one in mapping(told, where).items()}
        read = {name: value(each, one, f"{where}.{name}", nested) for name, one in names.items()}
        return types.MappingProxyType(read)
    return _single(form, told, where, nested)


def optional(form: Form) -> Form | None:
    """Return what stands in `X | None`, and None for what is nothing like it."""
    if get_origin(form) not in {Union, types.UnionType}:
        return None
    (inner,) = (one for one in get_args(form) if one is not type(None))
    return inner


def bounds(form: Form) -> Bounds:
    """Return between what a number lies."""
    return next((one for one in get_args(form)[1:] if isinstance(one, Bounds)), Bounds())


def is_list(form: Form) -> bool:
    """Say whether it is a tuple of any length."""
    return _origin(form) is tuple


def is_mapping(form: Form) -> bool:
    """Say whether it is a mapping from names."""
    return isinstance(_origin(form), type) and issubclass(_origin(form), Mapping)


def part(form: Form) -> Form:
    """Return what each element of a list, or each value of a mapping, is."""
    if not is_list(form):
        return get_args(form)[-1] if is_mapping(form) else None
    return get_args(form)[0]


def mapping(told: object, where: str) -> Mapping[Any, Any]:
    """Return a mapping; one in the environment is written as JSON."""
    told = _parsed(told, where)
    if not isinstance(told, Mapping):
        raise SettingsError(f"{where}: this is a mapping of names to values; in the environment it is written as JSON.")
    return told


def hint(told: object, names: Iterable[str]) -> str:
    """Return the cure for a name that is none: the nearest that is one, or all of them."""
    names = tuple(names)
    near = difflib.get_close_matches(str(told).lower(), names, 1)
    return f"Did you mean {near[0]}?" if near else f"There are {', '.join(names)}."


def shown(told: object) -> str:
    """Return a value as an error may show it: short, and no address, for there may be a password in it."""
    text = str(told)
    return "what stands there" if "://" in text or "@" in text else repr(text[:LONGEST_SHOWN])


def _origin(form: Form) -> Any:
    return get_origin(form)


def _single(form: Form, told: object, where: str, nested: Nested) -> object:
    limits = bounds(form)
    plain: dict[object, Callable[[], object]] = {
        bool: lambda: _switch(told, where),
        float: lambda: _number(told, where, limits),
        int: lambda: _whole(told, where, limits),
        str: lambda: _text(told, where),
    }
    bare = get_args(form)[0] if _origin(form) is Annotated else form
    if bare in plain:
        return plain[bare]()
    if issubclass(bare, StrEnum):
        return _choice(bare, told, where)
    if hasattr(bare, "of"):
        return bare.of(_parsed(told, where), where)
    return nested(bare, told, where)


def _parsed(told: object, where: str) -> object:
    if not isinstance(told, str) or not told.lstrip().startswith("{"):
        return told
    try:
        return json.loads(told)
    except ValueError:
        raise SettingsError(f"{where}: this is not JSON. In the environment, a mapping is written as JSON.") from None


def _list(told: object, where: str) -> list[object] | tuple[object, ...]:
    if isinstance(told, str):
        return [one.strip() for one in told.split(",") if one.strip()]
    if isinstance(told, list | tuple):
        return told
    raise SettingsError(f"{where}: this is a list.")


def _switch(told: object, where: str) -> bool:
    if isinstance(told, bool):
        return told
    found = SWITCHES.get(str(told).strip().lower())
    if found is None:
        raise SettingsError(f"{where}: {shown(told)} is no switch. Write on or off.")
    return found


def _number(told: object, where: str, bounds: Bounds) -> float:
    found = span(told) if bounds.is_time else number(told)
    if found is None or not bounds.hold(found):
        raise SettingsError(f"{where}: {shown(told)} cannot be. Write {bounds.said}.")
    return found


def _whole(told: object, where: str, bounds: Bounds) -> int:
    text = str(told).strip()
    if isinstance(told, bool | float) or not WHOLE.fullmatch(text) or not bounds.hold(int(text)):
        raise SettingsError(f"{where}: {shown(told)} cannot be. Write {bounds.said}, without a fraction.")
    return int(text)


def _text(told: object, where: str) -> str:
    if isinstance(told, str):
        return told
    raise SettingsError(f"{where}: {shown(told)} is no text. Put it in quotes.")


def _choice(form: type[StrEnum], told: object, where: str) -> StrEnum:
    names = [str(one) for one in form]
    if str(told).strip().lower() in names:
        return form(str(told).strip().lower())
    raise SettingsError(f"{where}: there is no {shown(told)}. {hint(told, names)}")


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
