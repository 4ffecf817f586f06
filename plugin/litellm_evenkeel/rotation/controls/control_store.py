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
# Larger than any control: the texts of one have at most 1,224 characters, which JSON may write in 12 bytes each.
MAX_STORED_BYTES = 16_384
# The field of the store's epoch: after a loss of its content, the store gets another one.
EPOCH_FIELD = "epoch"
# Longer than clocks differ: a worker whose clock is ahead removes no control that is in force for others.
KEEP_ENDED_SECONDS = 86_400.0
# A control that has ended is removed, unless another worker has replaced it.
REMOVE_SCRIPT = """
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
"""


class ControlStore(Protocol):
    """Store that all workers read and write."""

    async def load(self, new_epoch: str) -> tuple[list[Control], str]:
        """Return all controls in force, and the store's epoch: `new_epoch` if it has none yet."""

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

    async def load(self, new_epoch: str) -> tuple[list[Control], str]:
        """Return all controls in force, and the store's epoch. Damaged controls are left out."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            stored = await self._read()
            if EPOCH_FIELD not in stored:
                await self._connection.client.hsetnx(self._key, EPOCH_FIELD, new_epoch)
                stored = await self._read()
            epoch = _text(stored.pop(EPOCH_FIELD, new_epoch))
            in_force, now = [], self._clock()
            for field, value in stored.items():
                control = decode(value)
                if control is not None and control.ends_at() > now:
                    in_force.append(control)
                elif control is not None and control.ends_at() <= now - KEEP_ENDED_SECONDS:
                    await self._remove(keys=[self._key], args=[field, value])
        return in_force, epoch

    async def _read(self) -> dict[str, Any]:
        stored = await self._connection.client.hgetall(self._key)
        return {_text(field): value for field, value in stored.items()}

    async def save(self, changes: Mapping[ControlKey, Control | None]) -> None:
        """Store controls. `None` removes one."""
        fields = {json.dumps(key): control for key, control in changes.items()}
        written: dict[Any, str] = {
            field: control.model_dump_json() for field, control in fields.items() if control is not None
        }
        removed = [field for field, control in fields.items() if control is None]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            if written:
                await self._connection.client.hset(self._key, mapping=written)
            if removed:
                await self._connection.client.hdel(self._key, *removed)

    async def close(self) -> None:
        """Close all connections."""
        await self._connection.close()


def _text(value: bytes | str) -> str:
    """Return a value of Redis as text: some addresses let the driver decode it."""
    return value.decode() if isinstance(value, bytes) else value


def decode(text: bytes | str) -> Control | None:
    """Return a stored control; `None` if it is damaged."""
    if len(text) > MAX_STORED_BYTES:
        return None
    try:
        return Control.model_validate_json(text)
    except ValidationError:
        return None
