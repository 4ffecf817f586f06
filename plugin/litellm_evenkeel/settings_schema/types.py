"""Types of settings, such as durations and addresses, and the base class of all settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, TypeGuard, TypeVar, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr, ValidationInfo, field_validator
from pydantic.json_schema import WithJsonSchema
from pydantic_core import PydanticCustomError

from litellm_evenkeel.support import durations
from litellm_evenkeel.support.redis_address import CLUSTER_SCHEMES, REDIS_SCHEMES, SENTINEL_SCHEMES, SERVER_SCHEMES

DURATION = "a duration, such as 10s, 5m or 7d"
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,15}")
POSTGRES_SCHEMES = ("postgresql://", "postgres://")
OFF, LITELLM = "off", "litellm"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Expected:
    """Valid values of a setting in words, for error messages and the settings page."""

    text: str


class SettingsModel(BaseModel):
    """Base class of settings: immutable, without unknown keys, described by the docstrings of its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    RENAMED: ClassVar[Mapping[str, str]] = {}
    """Former names of settings and of their choices, and the names now."""

    @field_validator("*", mode="before")
    @classmethod
    def _read_text(cls, value: object, info: ValidationInfo) -> object:
        """Read text as it stands in an environment variable: JSON, a list with commas, or the name of a choice."""
        kind = strip_optional(cls.model_fields[info.field_name or ""].annotation)
        if get_origin(kind) is tuple and isinstance(value, str) and value.lstrip().startswith("["):
            return parse_json(value)
        if get_origin(kind) is tuple and isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        if is_choice(kind):
            # YAML 1.1 reads a bare `off` as `False`.
            return OFF if value is False else str(value).strip().lower()
        return parse_json(value) if is_section(kind) else value


def strip_optional(kind: Any) -> Any:
    """Return `X` for `X | None`."""
    parts = [part for part in get_args(kind) if part is not type(None)]
    return parts[0] if len(parts) == 1 and type(None) in get_args(kind) else kind


def is_choice(kind: Any) -> bool:
    """Return whether a type is a choice among names."""
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def is_settings(kind: Any) -> TypeGuard[type[SettingsModel]]:
    """Return whether a type is a section with settings of its own."""
    return isinstance(kind, type) and issubclass(kind, SettingsModel)


def is_section(kind: Any) -> bool:
    """Return whether a type has settings or names of its own, so that an empty value means defaults."""
    return is_settings(kind) or get_origin(kind) is Mapping


def parse_json(value: object) -> object:
    """Parse a text, such as an environment variable, as JSON. Other values are returned as they are."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise PydanticCustomError("json", "a mapping is expected") from None


def _read_by(parse: Callable[[object], float | None]) -> BeforeValidator:
    def read(value: object) -> float:
        number = parse(value)
        if number is None:
            raise PydanticCustomError("unreadable", "another form is expected")
        return number

    return BeforeValidator(read)


def _whole(value: object) -> int:
    text = str(value).strip()
    if isinstance(value, bool | float) or not WHOLE_NUMBER.fullmatch(text):
        raise PydanticCustomError("whole_number", "a whole number is expected")
    return int(text)


def _share(value: object) -> float | None:
    text = str(value).strip()
    percent = durations.number(text.removesuffix("%")) if text.endswith("%") else None
    return durations.number(value) if percent is None else percent / 100


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def _address(*schemes: str, words: tuple[str, ...] = ()) -> Callable[[ServerUrl], ServerUrl]:
    def check(address: ServerUrl) -> ServerUrl:
        text = address.get_secret_value()
        if text not in words and not text.lower().startswith(schemes):
            raise PydanticCustomError("address", "an address is expected")
        return address

    return check


def _off_as_text(value: object) -> object:
    return OFF if value is False else value


class ServerUrl(SecretStr):
    """The address of a server, which may contain a password, or a word such as `litellm`. It is never shown."""

    @classmethod
    def __get_pydantic_json_schema__(cls, *_: object) -> dict[str, Any]:
        return {"type": "string"}

    @property
    def is_off(self) -> bool:
        """Whether no server is used."""
        return self.get_secret_value() == OFF

    @property
    def is_litellm(self) -> bool:
        """Whether LiteLLM's own server is used."""
        return self.get_secret_value() == LITELLM


_TIME_SCHEMA = WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]})
_SWITCH_SCHEMA = WithJsonSchema({"anyOf": [{"type": "boolean"}, {"enum": ["on", "off"]}]})
_ADDRESSES = ", ".join(f"`{scheme}`" for scheme in (*SERVER_SCHEMES, CLUSTER_SCHEMES[0], SENTINEL_SCHEMES[0]))

Duration = Annotated[float, Ge(0), _read_by(durations.span), Expected(f"{DURATION}; 0 for none"), _TIME_SCHEMA]
PositiveDuration = Annotated[float, Gt(0), _read_by(durations.span), Expected(f"{DURATION}, above 0"), _TIME_SCHEMA]
PositiveNumber = Annotated[float, Gt(0), _read_by(durations.number), Expected("a number above 0")]
Factor = Annotated[float, Ge(1), _read_by(durations.number), Expected("a number of 1 or more")]
Ratio = Annotated[float, Ge(0), Le(1), _read_by(durations.number), Expected("a number from 0 to 1")]
Share = Annotated[float, Ge(0), Lt(1), _read_by(_share), Expected("a share below 1, such as 20% or 0.2"), _TIME_SCHEMA]
Count = Annotated[int, Ge(0), BeforeValidator(_whole), Expected("a whole number of 0 or more")]
PositiveCount = Annotated[int, Ge(1), BeforeValidator(_whole), Expected("a whole number of 1 or more")]
Switch = Annotated[bool, BeforeValidator(_stripped), Expected("`on` or `off`"), _SWITCH_SCHEMA]
Text = Annotated[str, Expected("a text")]
RedisUrl = Annotated[
    ServerUrl,
    AfterValidator(_address(*REDIS_SCHEMES, words=(LITELLM,))),
    Expected(f"`litellm` for the Redis that LiteLLM uses, or an address: {_ADDRESSES}"),
]
OptionalRedisUrl = Annotated[
    ServerUrl,
    BeforeValidator(_off_as_text),
    AfterValidator(_address(*REDIS_SCHEMES, words=(OFF, LITELLM))),
    Expected(f"`off`, `litellm` for the Redis that LiteLLM uses, or an address: {_ADDRESSES}"),
]
StoreUrl = Annotated[
    ServerUrl,
    AfterValidator(_address(*REDIS_SCHEMES, *POSTGRES_SCHEMES, words=(LITELLM,))),
    Expected("`litellm` for the server that LiteLLM uses, or an address"),
]
PostgresUrl = Annotated[
    ServerUrl,
    AfterValidator(_address(*POSTGRES_SCHEMES, words=(LITELLM,))),
    Expected("`litellm` for LiteLLM's own database, or an address: `postgresql://`"),
]


def frozen_mapping(mapping: Mapping[str, T]) -> Mapping[str, T]:
    """Return an immutable view of a mapping."""
    return MappingProxyType(dict(mapping))
