"""Comparisons of paths with patterns of routes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from litellm.proxy._types import LiteLLMRoutes
from litellm.proxy.auth.route_checks import RouteChecks

from litellm_evenkeel.lean.routes import remember_route_matches

STOCK = staticmethod(RouteChecks._route_matches_pattern)
PATTERNS = sorted({pattern for routes in LiteLLMRoutes for pattern in routes.value if isinstance(pattern, str)})
PARTS = st.sampled_from(["v1", "chat", "threads", "thread_49", "key", "a:generateContent", "", "\n"])


@pytest.fixture(autouse=True, scope="module")
def remembered() -> object:
    remember_route_matches()
    yield
    RouteChecks._route_matches_pattern = STOCK  # type: ignore[method-assign]


@given(st.lists(PARTS, max_size=4).map(lambda parts: "/" + "/".join(parts)) | st.sampled_from(PATTERNS))
def test_answers_are_those_of_litellm(path: str) -> None:
    for pattern in PATTERNS:
        stock = STOCK(route=path, pattern=pattern)
        assert RouteChecks._route_matches_pattern(route=path, pattern=pattern) is stock
        assert RouteChecks._route_matches_pattern(route=path, pattern=pattern) is stock


def test_a_pattern_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(RouteChecks, "_route_matches_pattern", staticmethod(lambda route, pattern: compared.append(1)))
    remember_route_matches()
    for _ in range(3):
        RouteChecks._route_matches_pattern(route="/v1/chat/completions", pattern="/v1/chat/completions")
    assert len(compared) == 1


def test_long_paths_and_what_is_no_path_are_left_to_litellm() -> None:
    for path in ("/" + "a" * 300, ["/v1/models"], None):
        for _ in range(2):
            assert not RouteChecks._route_matches_pattern(route=path, pattern="/v1/models")  # type: ignore[arg-type]
