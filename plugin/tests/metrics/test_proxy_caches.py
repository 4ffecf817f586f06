"""The running proxy's memory is read from LiteLLM's own caches, whatever parts they have."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from litellm.caching.caching import DualCache
from litellm.proxy.common_utils.user_api_key_cache import UserApiKeyCache

from litellm_evenkeel.budgets import BudgetEntity
from litellm_evenkeel.metrics.proxy_caches import peek
from litellm_evenkeel.proxy_process import SERVER

KEY, TEAM = "a" * 64, "crew"


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Any:
    server = SimpleNamespace(user_api_key_cache=UserApiKeyCache(), spend_counter_cache=DualCache())
    monkeypatch.setitem(sys.modules, SERVER, server)
    return server


@pytest.mark.parametrize(
    ("kind", "who", "name"), [(BudgetEntity.KEY, KEY, KEY), (BudgetEntity.TEAM, TEAM, f"team_id:{TEAM}")]
)
def test_a_row_that_authentication_has_read_is_found(proxy: Any, kind: BudgetEntity, who: str, name: str) -> None:
    proxy.user_api_key_cache.set_cache(key=name, value={"spend": 3.0, "max_budget": 10.0})
    found = peek(kind, who)
    assert found is not None
    assert (found.spend, found.maximum) == (3.0, 10.0)


def test_what_was_spent_until_now_goes_beyond_the_row(proxy: Any) -> None:
    proxy.user_api_key_cache.set_cache(key=KEY, value={"spend": 3.0, "max_budget": 10.0})
    proxy.spend_counter_cache.set_cache(key=f"spend:key:{KEY}", value=4.0)
    found = peek(BudgetEntity.KEY, KEY)
    assert found is not None
    assert found.spend == 4.0


def test_nothing_is_known_of_whom_the_proxy_has_not_read(proxy: Any) -> None:
    assert peek(BudgetEntity.KEY, KEY) is None
