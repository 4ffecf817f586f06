"""Reads a section of YAML, and `EVENKEEL_*` variables over it, into settings; errors say where, what and a hint.

A setting has a path such as `rotation.cooldown.initial`, and so a variable, `EVENKEEL_ROTATION_COOLDOWN_INITIAL`. Names
contain underscores themselves: a variable is looked up among those that exist, never taken apart.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from pydantic import ValidationError

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings_schema.types import (
    Expected,
    ServerUrl,
    SettingsModel,
    bare_type,
    is_choice,
    is_section,
    strip_optional,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=SettingsModel)

PREFIX = "EVENKEEL"
# Kubernetes sets such variables for every service; the name of a service may begin like a setting.
SERVICE_VARIABLE = re.compile(r"_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)$")
# A variable that resembles no setting this much belongs to something else, such as the toolkit.
MIN_SIMILARITY = 0.75
MAX_SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Leaf:
    """One setting."""

    path: tuple[str, ...]
    field: FieldInfo

    @property
    def name(self) -> str:
        """Its name in YAML."""
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "_".join((PREFIX, *self.path)).upper()


def load(model: type[Model], section: object, path: str = "", environ: Mapping[str, str] | None = None) -> Model:
    """Return the settings from `section`, with defaults for what it lacks. Raise SettingsError for the first error.

    `path` is where the section stands, for error messages. `environ` is laid over it.
    """
    data = _mapping(section, path or "the settings")
    if environ is not None:
        data = _overlay(model, data, environ)
    _refuse_empty(model, data, path)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise SettingsError(_describe(model, error.errors(include_url=False)[0], path)) from None


def leaves(model: type[SettingsModel], path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Yield all settings of a tree."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, SettingsModel):
            yield from leaves(kind, (*path, name))
        else:
            yield Leaf((*path, name), field)


def expected(field: FieldInfo) -> str:
    """Return what may be written for a setting, in words."""
    for item in field.metadata:
        if isinstance(item, Expected):
            return item.text
    return _expected_of(field.annotation)


def nearest(name: object, names: Iterable[str]) -> str:
    """Return a hint for an unknown name: the nearest known one, or all of them."""
    names = tuple(names)
    near = difflib.get_close_matches(str(name).lower(), names, 1)
    return f"Hint: did you mean {near[0]}?" if near else f"Hint: write one of {', '.join(names)}."


def _expected_of(kind: Any) -> str:
    kind = strip_optional(kind)
    for item in get_args(kind)[1:]:
        if isinstance(item, Expected):
            return item.text
    if is_choice(kind):
        return ", ".join(f"`{choice}`" for choice in kind)
    if get_origin(kind) is tuple:
        return f"a list, each {_expected_of(get_args(kind)[0])}; in the environment with commas"
    if is_section(kind):
        return "a mapping; in the environment as JSON"
    return "a text"


def _mapping(section: object, path: str) -> dict[str, Any]:
    if section is None:
        return {}
    if not isinstance(section, Mapping):
        raise SettingsError(f"{path}: expected a mapping of names to values, got {type(section).__name__}.")
    return _copy(section)


def _overlay(model: type[SettingsModel], section: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the section with the variables of an environment over it. An empty variable counts as not set."""
    data = _copy(section)
    known = {leaf.variable: leaf for leaf in leaves(model)}
    sections = tuple(f"{PREFIX}_{name.upper()}_" for name in model.model_fields)
    for variable, text in sorted(environ.items()):
        if not variable.startswith(f"{PREFIX}_") or not text:
            continue
        if variable not in known:
            if not SERVICE_VARIABLE.search(variable):
                _refuse_variable(model, variable, known, sections)
            continue
        *parents, name = known[variable].path
        below = data
        for parent in parents:
            if below.get(parent) is None:
                below[parent] = {}
            below = below[parent]
            if not isinstance(below, dict):
                raise SettingsError(f"{parent}: expected a mapping, because {variable} is set over a part of it.")
        below[name] = text
    return data


def _refuse_variable(
    model: type[SettingsModel], variable: str, known: Mapping[str, Leaf], sections: tuple[str, ...]
) -> None:
    renamed = dict(_former_variables(model, (PREFIX,), (PREFIX,))).get(variable)
    if renamed is not None:
        raise SettingsError(f"environment: {variable} was renamed. Hint: set {renamed}.")
    # The prefix that all have in common makes nothing similar.
    name = variable.removeprefix(PREFIX)
    near = difflib.get_close_matches(name, [each.removeprefix(PREFIX) for each in known], 1, MIN_SIMILARITY)
    if near:
        raise SettingsError(f"environment: unknown variable {variable}. Hint: did you mean {PREFIX}{near[0]}?")
    if variable.startswith(sections):
        raise SettingsError(f"environment: unknown variable {variable}. Hint: unset it; see docs/settings.md.")


def _former_variables(
    model: type[SettingsModel], former: tuple[str, ...], current: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield the environment variables by the former names of settings, and the variables by their current names."""
    for name, field in model.model_fields.items():
        for spelling in (name, *(old for old, new in model.RENAMED.items() if new == name)):
            before, after = (*former, spelling), (*current, name)
            if isinstance(field.annotation, type) and issubclass(field.annotation, SettingsModel):
                yield from _former_variables(field.annotation, before, after)
            elif before != after:
                yield "_".join(before).upper(), "_".join(after).upper()


def _refuse_empty(model: type[SettingsModel], data: Mapping[str, Any], path: str) -> None:
    """Refuse settings that are null, which LiteLLM makes of a variable that is not set; sections may be empty."""
    for name, value in data.items():
        field = model.model_fields.get(name)
        if field is None:
            continue
        here, kind = f"{path}.{name}" if path else name, strip_optional(field.annotation)
        if value is None and not is_section(kind):
            raise SettingsError(f"{here}: expected a value, got none. Hint: set its variable, or leave it out.")
        if isinstance(value, Mapping):
            nested = kind if isinstance(kind, type) and issubclass(kind, SettingsModel) else None
            if nested is not None:
                _refuse_empty(nested, value, here)
    for name in [name for name, value in data.items() if value is None and name in model.model_fields]:
        if isinstance(data, dict):
            del data[name]


def _copy(section: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): _copy(value) if isinstance(value, Mapping) else value for name, value in section.items()}


def _describe(model: type[SettingsModel], error: ErrorDetails, root: str) -> str:
    """Return an error as `path: expected X, got Y. Hint: Z`."""
    cause = error.get("ctx", {}).get("error")
    where, parent, kind, metadata = _locate(model, error["loc"], root)
    if isinstance(cause, SettingsError):
        return str(cause) if str(cause).startswith(root or " ") else f"{where}{cause}"
    if error["type"] == "extra_forbidden" and parent is not None:
        name = str(error["loc"][-1])[:MAX_SHOWN_CHARACTERS]
        above = where.rpartition(".")[0] or root or "the settings"
        if name in parent.RENAMED:
            return f"{above}: {name!r} was renamed. Hint: write {parent.RENAMED[name]}."
        return f"{above}: unknown setting {name!r}. {nearest(name, parent.model_fields)}"
    text = next((item.text for item in metadata if isinstance(item, Expected)), None) or _expected_of(kind)
    shown = _shown(error["input"], kind)
    choices = [str(choice) for choice in strip_optional(kind)] if is_choice(strip_optional(kind)) else []
    hint = f" {nearest(error['input'], choices)}" if choices else ""
    return f"{where}: expected {text}, got {shown}.{hint}"


def _locate(
    model: type[SettingsModel], loc: Sequence[int | str], root: str
) -> tuple[str, type[SettingsModel] | None, Any, list[Any]]:
    """Return the path of an error, the settings that contain it, and the type and metadata of the setting."""
    path = root
    parent: type[SettingsModel] | None = None
    kind: Any = model
    metadata: list[Any] = []
    for part in loc:
        kind = strip_optional(kind)
        if isinstance(part, int):
            path += f"[{part + 1}]"
            kind, metadata = get_args(kind)[0], []
            continue
        path = f"{path}.{part}" if path else part
        if isinstance(kind, type) and issubclass(kind, SettingsModel):
            parent, field = kind, kind.model_fields.get(part)
            kind, metadata = (field.annotation, field.metadata) if field else (None, [])
        elif get_origin(kind) is Mapping:
            kind, metadata = get_args(kind)[1], []
    return path, parent, kind, metadata


def _shown(value: object, kind: Any) -> str:
    """Return a value as an error may show it: short, and never an address, which may contain a password."""
    kind, text = bare_type(kind), f"{value:g}" if isinstance(value, float) else str(value)
    if (isinstance(kind, type) and issubclass(kind, ServerUrl)) or "://" in text or "@" in text:
        return "something else"
    return repr(text[:MAX_SHOWN_CHARACTERS])
