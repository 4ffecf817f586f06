"""Entities that a proxy must know before a load: created users, and a key for each simulated user."""

from __future__ import annotations

import contextlib
import logging
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import httpx

from evenkeel_load.errors import LoadFailed
from evenkeel_load.options import PER_USER, YES
from evenkeel_load.user_modes import CreatedUser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenkeel_load.plan import Plan

AT_ONCE = 16
DELETED_AT_ONCE = 100
TIMEOUT_SECONDS = 60.0
# Short, because the user waits for the end of the load.
DELETE_SECONDS = 5.0

log = logging.getLogger("evenkeel")


def key_of(plan: Plan, user: int) -> str:
    """Return the key of a simulated user, which every process can compute."""
    digest = blake2b(f"{plan.seed} {plan.run} {user}".encode(), key=plan.admin_key.encode()[:64], digest_size=16)
    return f"sk-evenkeel-{digest.hexdigest()}"


def user_ids(plan: Plan) -> list[str]:
    """Return the user ids that have to exist before the load."""
    mode = plan.mode()
    if not isinstance(mode, CreatedUser):
        return []
    turns = -(-(plan.expected or plan.users) // plan.users)
    return mode.user_ids(plan.users, turns)


@contextlib.contextmanager
def entities(plan: Plan, host: str, before_removal: Callable[[], None]) -> Iterator[None]:
    """Create the entities of a plan, and remove them at the end."""
    ids = user_ids(plan) if plan.create_users == YES else []
    keys = [key_of(plan, user) for user in range(plan.users)] if plan.key_mode == PER_USER else []
    headers = {"authorization": f"Bearer {plan.admin_key}"}
    with httpx.Client(base_url=host, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False) as asking:
        if ids or keys:
            log.info("Creating %d users and %d keys in the proxy.", len(ids), len(keys))
        try:
            _each(asking, "/customer/new", [{"user_id": user_id} for user_id in ids])
            _each(asking, "/key/generate", [{"key": key, "models": []} for key in keys])
            yield
        finally:
            if ids:
                before_removal()
            _remove(asking, "/customer/delete", "user_ids", ids)
            _remove(asking, "/key/delete", "keys", keys)


def _each(asking: httpx.Client, path: str, bodies: Sequence[dict[str, Any]]) -> None:
    def create(body: dict[str, Any]) -> None:
        try:
            answer = asking.post(path, json=body)
        except httpx.TransportError as error:
            raise LoadFailed(f"{path} gets no answer: {error}.", hint="Check that the proxy runs.") from error
        if not answer.is_success:
            raise LoadFailed(
                f"The proxy rejects {path} with {answer.status_code}.",
                hint="Give its master key with --admin-key. The proxy needs a database.",
            )

    if bodies:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(create, bodies))


def _remove(asking: httpx.Client, path: str, name: str, ids: Sequence[str]) -> None:
    for start in range(0, len(ids), DELETED_AT_ONCE):
        batch = ids[start : start + DELETED_AT_ONCE]
        try:
            asking.post(path, json={name: batch}, timeout=DELETE_SECONDS).raise_for_status()
        except httpx.HTTPError as error:
            # Entities that were never created cannot be removed, and the proxy may be gone.
            log.warning("%s of %d that this load created: %s", path, len(batch), error)
