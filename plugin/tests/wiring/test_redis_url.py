"""Addresses of a Redis that can be read, and those that cannot."""

from __future__ import annotations

import pytest

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.wiring.prometheus import require_redis_url


@pytest.mark.parametrize(
    "url", ["redis://h", "rediss://u:p%23@h:1/2?ssl_cert_reqs=none", "unix:///run/redis.sock?db=3"]
)
def test_what_can_be_read_is_let_through(url: str) -> None:
    require_redis_url(url, "evenkeel.budgets.redis")


@pytest.mark.parametrize("url", ["redis://default:hunter2#x@h:6379/0", "redis://:hunter2/x@h", "http://u:hunter2@h"])
def test_what_cannot_is_refused_and_nothing_of_it_is_shown(url: str) -> None:
    with pytest.raises(SettingsError, match=r"evenkeel\.budgets\.redis: expected the address .* %23") as refused:
        require_redis_url(url, "evenkeel.budgets.redis")
    assert "hunter2" not in repr(refused.value)
    assert refused.value.__cause__ is None
