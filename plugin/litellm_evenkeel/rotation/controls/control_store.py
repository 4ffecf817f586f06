"""Store of controls in Redis or Valkey, for all workers and for those that start later."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ValidationError

from litellm_evenkeel.rotation.model.control import Control
from litellm_evenkeel.support.redis_connection import RedisConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.controls.control_table import ControlKey

TIMEOUT_SECONDS = 2.0
MAX_STORED_BYTES = 4096
# A field that is always there. If it is missing, the store has lost its content.
MARKER = b"version"
# A control that has ended is removed, unless another worker has replaced it.
REMOVE_SCRIPT = """
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
"""


class ControlStore(Protocol):
    """Store that all workers read and write."""

    async def load(self) -> list[Control] | None:
        """Return all controls in force; `None` if the store has lost its content. Damaged controls are left out."""

    async def save(self, changes: Mapping[ControlKey, Control | None]) -> None:
        """Store controls. `None` removes one."""

    async def close(self) -> None:
        """Close all connections."""


class RedisControlStore:
    """Store in one hash, with a field for each control."""

    def __init__(self, url: str, prefix: str, clock: Callable[[], float]) -> None:
        self._connection = RedisConnection(url, connect_timeout=TIMEOUT_SECONDS)
        self._key = f"{{{prefix.strip('{}') or 'evenkeel'}}}:controls"
        self._clock = clock
        self._remove = self._connection.client.register_script(REMOVE_SCRIPT)

    async def load(self) -> list[Control] | None:
        """Return all controls in force; `None` if the store has lost its content. Damaged controls are left out."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            stored = dict(await self._connection.client.hgetall(self._key))
            if stored.pop(MARKER, None) is None:
                return None
            in_force, now = [], self._clock()
            for field, text in stored.items():
                control = decode(text)
                if control is not None and control.ends_at() <= now:
                    await self._remove(keys=[self._key], args=[field, text])
                elif control is not None:
                    in_force.append(control)
        return in_force

    async def save(self, changes: Mapping[ControlKey, Control | None]) -> None:
        """Store controls. `None` removes one."""
        fields = {json.dumps(key): control for key, control in changes.items()}
        written: dict[Any, str] = {MARKER: "1"}
        written |= {field: control.model_dump_json() for field, control in fields.items() if control is not None}
        removed = [field for field, control in fields.items() if control is None]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await self._connection.client.hset(self._key, mapping=written)
            if removed:
                await self._connection.client.hdel(self._key, *removed)

    async def close(self) -> None:
        """Close all connections."""
        await self._connection.close()


def decode(text: bytes | str) -> Control | None:
    """Return a stored control; `None` if it is damaged."""
    if len(text) > MAX_STORED_BYTES:
        return None
    try:
        return Control.model_validate_json(text)
    except ValidationError:
        return None
