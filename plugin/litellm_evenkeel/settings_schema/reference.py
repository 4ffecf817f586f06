"""Table of settings for the documentation, and JSON schema for editors, both generated from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from litellm_evenkeel.settings_schema.loader import expected, leaves
from litellm_evenkeel.settings_schema.types import DURATION, ServerUrl

if TYPE_CHECKING:
    from litellm_evenkeel.settings_schema.loader import Leaf
    from litellm_evenkeel.settings_schema.types import SettingsModel

DIALECT = "https://json-schema.org/draft/2020-12/schema"
HEADER = ("setting", "default", "expected", "meaning")
# From the largest to the smallest: a duration is written in the first unit that divides it.
UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def table(model: type[SettingsModel], path: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> str:
    """Return the table of a tree of settings as Markdown. `path` is its path in a larger tree.

    `only` names the settings to list, in that order; by default all are listed.
    """
    rows = {leaf.name: leaf for leaf in leaves(model, path)}
    listed = [rows[name] for name in only] if only else list(rows.values())
    lines = [HEADER, tuple("---" for _ in HEADER)]
    lines += [(f"`{leaf.name}`", default(leaf), expected(leaf.field), description(leaf)) for leaf in listed]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def description(leaf: Leaf) -> str:
    """Return the meaning of a setting on one line."""
    return " ".join((leaf.field.description or "").split())


def default(leaf: Leaf) -> str:
    """Return the default of a setting as Markdown."""
    value = leaf.field.get_default(call_default_factory=True)
    if isinstance(value, bool):
        return "`on`" if value else "`off`"
    if isinstance(value, int | float):
        is_duration = expected(leaf.field).startswith(DURATION)
        return f"`{_duration(value)}`" if is_duration else f"`{value:g}`"
    if isinstance(value, ServerUrl):
        value = value.get_secret_value()
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    return f"`{value}`" if value else "none"


def schema(model: type[SettingsModel], section: str) -> dict[str, Any]:
    """Return a JSON schema of a file whose `section` has the settings of a tree; other sections may be anything."""
    document = model.model_json_schema(schema_generator=_Schema)
    definitions = document.pop("$defs")
    return {
        "$schema": DIALECT,
        "type": "object",
        "properties": {section: document},
        "$defs": definitions,
    }


class _Schema(GenerateJsonSchema):
    """Generator for editors: without titles, which only repeat the names, and with each description on one line."""

    def encode_default(self, dft: Any) -> Any:
        """Return a default. It is never an address with a password, so it can be shown."""
        return super().encode_default(dft.get_secret_value() if isinstance(dft, ServerUrl) else dft)

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        """Keep the order of the settings, remove titles, and put each description on one line."""
        del parent_key
        shown: JsonSchemaValue = _on_one_line(value)
        return shown


def _on_one_line(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: " ".join(part.split()) if name == "description" and isinstance(part, str) else _on_one_line(part)
            for name, part in value.items()
            if name != "title" or not isinstance(part, str)
        }
    return [_on_one_line(part) for part in value] if isinstance(value, list) else value


def _duration(seconds: float) -> str:
    return next(
        (f"{seconds / size:g}{unit}" for unit, size in UNITS if seconds and seconds % size == 0), f"{seconds:g}s"
    )
