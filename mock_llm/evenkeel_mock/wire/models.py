"""The list of models, `GET /v1/models` and `GET /v1/models/{name}`, as OpenAI writes it and as Anthropic does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from orjson import dumps

from evenkeel_mock.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

OWNER = "evenkeel"
_NOT_FOUND = 404


def openai_list(names: Sequence[str], created: int) -> bytes:
    """Return all models, as OpenAI does."""
    return dumps({"object": "list", "data": [_openai(name, created) for name in names]})


def openai_one(names: Sequence[str], name: str, created: int) -> bytes:
    """Return one model, as OpenAI does."""
    _known(names, name)
    return dumps(_openai(name, created))


def anthropic_list(names: Sequence[str], created: int) -> bytes:
    """Return all models, as Anthropic does: one page holds them all."""
    return dumps(
        {
            "data": [_anthropic(name, created) for name in names],
            "has_more": False,
            "first_id": names[0] if names else None,
            "last_id": names[-1] if names else None,
        }
    )


def anthropic_one(names: Sequence[str], name: str, created: int) -> bytes:
    """Return one model, as Anthropic does."""
    _known(names, name)
    return dumps(_anthropic(name, created))


def _known(names: Sequence[str], name: str) -> None:
    if name not in names:
        raise BadRequest(_NOT_FOUND, f"The model '{name}' does not exist.", "model", "model_not_found")


def _openai(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": OWNER}


def _anthropic(name: str, created: int) -> dict[str, Any]:
    at = datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": "model", "id": name, "display_name": name, "created_at": at, "lifecycle": "active"}
