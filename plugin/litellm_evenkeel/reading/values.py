"""Reads one value as a type of ours, or says where it stands, what it is and what may stand there.

Whatever comes from the environment is text, so every kind can be written as text.
"""

from __future__ import annotations

import difflib
import json
import re
import types
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union, get_args, get_origin

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.reading.keys import shown_name
from litellm_evenkeel.reading.kinds import Bounds
from litellm_evenkeel.rotation.durations import number, span

if TYPE_CHECKING:
    from collections.abc import Iterable

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
