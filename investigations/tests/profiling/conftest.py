from __future__ import annotations

import pytest

from evenkeel_lab.profiling.profile import ArmProfile, Profile
from evenkeel_lab.profiling.stacks import Stack, functions

LOGGED = ("litellm/logging.py:success", "litellm/integrations/prometheus.py:log")


def taken(stacks: dict[Stack, int], requests: int = 500, **told: object) -> ArmProfile:
    whole = sum(stacks.values())
    fields = {
        "sampler": "py-spy 0.4.3",
        "why": "",
        "rate": 100,
        "seconds": 15.0,
        "requests": requests,
        "unit": "request",
        "samples": 1500,
        "cpu_ms": whole / 1000 / requests,
        "covered": 0.9,
        "slowdown": 0.12,
        "surcharge": 0.05,
    }
    return ArmProfile(**fields | told, stacks=stacks, functions=functions(stacks))  # type: ignore[arg-type]


@pytest.fixture
def profile() -> Profile:
    """Two arms, of which one has a callback that the other lacks."""
    below: dict[Stack, int] = {
        ("uvicorn/h11.py:run_asgi", "fastapi/app.py:call", "litellm/router.py:complete"): 6_000_000,
        ("uvicorn/h11.py:run_asgi", "fastapi/app.py:call", "litellm/auth.py:check"): 3_000_000,
        ("litellm/logging.py:success",): 1_000_000,
    }
    above = below | {LOGGED: 2_000_000, (*LOGGED, "prometheus_client/metrics.py:labels"): 1_500_000}
    arms = {"off": taken(below), "stock": taken(above, why="py-spy has no permission.")}
    return Profile("callback_cost", "0" * 12, "off", {"machine": "x86_64"}, arms, {"mock": "it is the mock"})
