"""Base of all tables of `investigation.toml` and `study.toml`: fields are described, unknown ones rejected."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator

NAME = r"^[a-z0-9][a-z0-9_-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Effect = Annotated[float, Field(gt=-1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Part(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        is_switch = cls.model_fields[info.field_name or ""].annotation is bool
        if isinstance(value, bool) != is_switch:
            raise ValueError("expected true or false" if is_switch else "expected a value, got true or false")
        return value
