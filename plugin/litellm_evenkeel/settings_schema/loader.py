"""Loader of settings from a section of YAML and from `EVENKEEL_*` variables, which take precedence.

A setting with the path `rotation.cooldown.initial` has the variable `EVENKEEL_ROTATION_COOLDOWN_INITIAL`. Names contain
underscores too, so a variable is looked up among those of all settings, and never split at its underscores.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings_schema.types import (
    Expected,
    ServerUrl,
    SettingsModel,
    is_choice,
    is_section,
    is_settings,
    strip_optional,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=SettingsModel)

PREFIX = "EVENKEEL"
# Kubernetes sets such variables for every service; the name of a service may begin like a setting.
SERVICE_VARIABLE = re.compile(r"_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_\w+)?)?)$")
# An unknown variable that is less similar than this to each known one belongs to something else, such as the toolkit.
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
    """Return the settings from `section`, with defaults for what it lacks. Raise SettingsError for all errors.

    `path` is the path of the section, for error messages. Variables of `environ` take precedence over the section.
    """
    if section is not None and not isinstance(section, Mapping):
        raise SettingsError(
            f"{path or 'the settings'}: expected a mapping of names to values, got {type(section).__name__}."
        )
    data = _copy(section or {})
    if environ is not None:
        _overlay(model, data, environ)
    _remove_empty(model, data, path)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = [_describe(model, details, path) for details in error.errors(include_url=False)]
        raise SettingsError(*dict.fromkeys(problems)) from None


def leaves(model: type[SettingsModel], path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Yield all settings of a tree."""
    for name, field in model.model_fields.items():
        if is_settings(field.annotation):
            yield from leaves(field.annotation, (*path, name))
        else:
            yield Leaf((*path, name), field)


def expected(field: FieldInfo) -> str:
    """Return the valid values of a setting, in words."""
    kind = strip_optional(field.annotation)
    # Pydantic leaves the annotations of `X | None` at `X`.
    for item in (*field.metadata, *get_args(kind)[1:]):
        if isinstance(item, Expected):
            return item.text
    if is_choice(kind):
        return ", ".join(f"`{choice}`" for choice in kind)
    if get_origin(kind) is tuple:
        each = expected(FieldInfo.from_annotation(get_args(kind)[0]))
        return f"a list, each {each}; in the environment with commas"
    return "a mapping; in the environment as JSON" if is_section(kind) else "a text"


def nearest(name: object, names: Iterable[str]) -> str:
    """Return a hint for an unknown name: the nearest known one, or all of them."""
    names = tuple(names)
    near = difflib.get_close_matches(str(name).lower(), names, 1)
    return f"Hint: did you mean {near[0]}?" if near else f"Hint: write one of {', '.join(names)}."


def _overlay(model: type[SettingsModel], data: dict[str, Any], environ: Mapping[str, str]) -> None:
    """Replace settings in `data` by those of the environment. An empty variable counts as not set."""
    known = {leaf.variable: leaf for leaf in leaves(model)}
    for variable, text in sorted(environ.items()):
        if not variable.startswith(f"{PREFIX}_") or not text:
            continue
        if variable not in known:
            if not SERVICE_VARIABLE.search(variable):
                _refuse_variable(model, variable, known)
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


def _refuse_variable(model: type[SettingsModel], variable: str, known: Iterable[str]) -> None:
    """Raise SettingsError for an unknown variable, unless it belongs to something else."""
    renamed = dict(_former_variables(model, (PREFIX,), (PREFIX,))).get(variable)
    if renamed is not None:
        raise SettingsError(f"environment: {variable} was renamed. Hint: set {renamed}.")
    # The common prefix must not count as similarity.
    name = variable.removeprefix(PREFIX)
    near = difflib.get_close_matches(name, [each.removeprefix(PREFIX) for each in known], 1, MIN_SIMILARITY)
    if near:
        raise SettingsError(f"environment: unknown variable {variable}. Hint: did you mean {PREFIX}{near[0]}?")
    if variable.startswith(tuple(f"{PREFIX}_{section.upper()}_" for section in model.model_fields)):
        raise SettingsError(f"environment: unknown variable {variable}. Hint: unset it; see docs/settings.md.")


def _former_variables(
    model: type[SettingsModel], former: tuple[str, ...], current: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield the environment variables by the former names of settings, and the variables by their current names."""
    for name, field in model.model_fields.items():
        for spelling in (name, *(old for old, new in model.RENAMED.items() if new == name)):
            before, after = (*former, spelling), (*current, name)
            if is_settings(field.annotation):
                yield from _former_variables(field.annotation, before, after)
            elif before != after:
                yield "_".join(before).upper(), "_".join(after).upper()


def _remove_empty(model: type[SettingsModel], data: dict[str, Any], path: str) -> None:
    """Remove sections that are null. Raise SettingsError for other nulls: LiteLLM writes them for unset variables."""
    for name, field in model.model_fields.items():
        if name not in data:
            continue
        here, kind = f"{path}.{name}" if path else name, strip_optional(field.annotation)
        if isinstance(data[name], dict) and is_settings(kind):
            _remove_empty(kind, data[name], here)
        elif data[name] is None:
            if not is_section(kind):
                raise SettingsError(f"{here}: expected a value, got none. Hint: set its variable, or leave it out.")
            del data[name]


def _copy(section: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): _copy(value) if isinstance(value, Mapping) else value for name, value in section.items()}


def _describe(model: type[SettingsModel], error: ErrorDetails, root: str) -> str:
    """Return an error as `path: expected X, got Y. Hint: Z`."""
    cause = error.get("ctx", {}).get("error")
    where, parent, field = _locate(model, error["loc"], root)
    if isinstance(cause, SettingsError):
        return str(cause) if str(cause).startswith(root or " ") else f"{where}{cause}"
    if error["type"] == "extra_forbidden" and parent is not None:
        name = str(error["loc"][-1])[:MAX_SHOWN_CHARACTERS]
        above = where.rpartition(".")[0] or root or "the settings"
        if name in parent.RENAMED:
            return f"{above}: {name!r} was renamed. Hint: write {parent.RENAMED[name]}."
        return f"{above}: unknown setting {name!r}. {nearest(name, parent.model_fields)}"
    kind = strip_optional(field.annotation)
    hint = ""
    if is_choice(kind):
        renamed = parent.RENAMED.get(str(error["input"])) if parent is not None else None
        hint = f" Hint: it was renamed to {renamed}." if renamed else f" {nearest(error['input'], kind)}"
    return f"{where}: expected {expected(field)}, got {_shown(error['input'], kind)}.{hint}"


def _locate(
    model: type[SettingsModel], loc: Sequence[int | str], root: str
) -> tuple[str, type[SettingsModel] | None, FieldInfo]:
    """Return the path of an error, the section that contains it, and the setting."""
    path, parent = root, None
    field = FieldInfo.from_annotation(model)
    for part in loc:
        kind = strip_optional(field.annotation)
        if isinstance(part, int):
            path += f"[{part + 1}]"
            field = FieldInfo.from_annotation(get_args(kind)[0])
            continue
        path = f"{path}.{part}" if path else part
        if is_settings(kind):
            parent, field = kind, kind.model_fields.get(part, field)
        elif get_origin(kind) is Mapping:
            field = FieldInfo.from_annotation(get_args(kind)[1])
    return path, parent, field


def _shown(value: object, kind: Any) -> str:
    """Return a value for an error message: shortened, and never an address, which may contain a password."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if ServerUrl in (kind, *get_args(kind)) or "://" in text or "@" in text:
        return "something else"
    return repr(text[:MAX_SHOWN_CHARACTERS])
