"""Remaining limits of a group: the same for a second in a large group, exact in a small one."""

from __future__ import annotations

from typing import Any

from litellm_evenkeel.lean.deployments.usage_headers import LARGE_GROUP, SECONDS, shared


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Router:
    """A router with one request less at each call."""

    def __init__(self, deployments: int) -> None:
        self._deployments, self.asked = deployments, 0

    def get_model_list(self, *, model_name: str) -> list[str]:
        return [model_name] * self._deployments

    async def remaining(self, model_group: str) -> dict[str, int]:
        self.asked += 1
        return {"x-ratelimit-remaining-requests": 100 - self.asked}


async def left(router: Router, method: Any) -> int:
    usage: dict[str, int] = await method(router, "group")
    return usage["x-ratelimit-remaining-requests"]


async def test_a_large_group_is_read_once_in_a_second() -> None:
    router, clock = Router(LARGE_GROUP + 1), Clock()
    method = shared(Router.remaining, "get_model_list", clock)
    assert [await left(router, method) for _ in range(3)] == [99, 99, 99]
    clock.now += SECONDS
    assert [await left(router, method) for _ in range(3)] == [98, 98, 98]


async def test_a_small_group_is_read_each_time() -> None:
    router = Router(LARGE_GROUP)
    method = shared(Router.remaining, "get_model_list", Clock())
    assert [await left(router, method) for _ in range(3)] == [99, 98, 97]


async def test_who_changes_the_answer_changes_only_their_own() -> None:
    router = Router(LARGE_GROUP + 1)
    method = shared(Router.remaining, "get_model_list", Clock())
    for _ in range(2):
        (await method(router, "group")).clear()
    assert await left(router, method) == 99
