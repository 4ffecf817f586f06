"""A share of each limit that is never used: of limits in the settings, and of those that providers state."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.providers.limit_headers import LimitReading
from litellm_evenkeel.rotation.model.account import AccountSettings
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.settings_schema.loader import load


def spec(**info: Any) -> DeploymentSpec:
    deployment = {
        "model_name": "chat",
        "litellm_params": {"model": "openai/gpt", "api_key": "key"},
        "model_info": {"id": "id", "account": "north", **info},
    }
    return DeploymentSpec.from_litellm(deployment, {})


@pytest.mark.parametrize("keep", ["20%", "0.2", 0.2, " 20 %"])
def test_limits_leave_the_share_unused(keep: object) -> None:
    kept = spec(limits={"rpm": 100, "concurrent": 4}, model_limits={"tpm": 1000}, keep=keep)
    assert [limit.amount for limit in kept.limits.windows] == pytest.approx([80.0])
    assert kept.limits.concurrent == 4
    assert [limit.amount for limit in kept.model_limits.windows] == pytest.approx([800.0])


def test_the_settings_take_precedence() -> None:
    settings = {"north": load(AccountSettings, {"keep": "50%"}, "accounts.north")}
    deployment = {
        "litellm_params": {"model": "m"},
        "model_info": {"account": "north", "keep": 0.1, "limits": {"rpm": 100}},
    }
    assert DeploymentSpec.from_litellm(deployment, settings).limits.windows[0].amount == pytest.approx(50.0)


@pytest.mark.parametrize("keep", ["100%", 1, -0.1, "much", True])
def test_a_wrong_share_is_refused(keep: object) -> None:
    with pytest.raises(SettingsError, match="a share below 1"):
        spec(keep=keep)


@given(
    share=st.floats(0, 0.95),
    limit=st.floats(1, 1e6),
    used=st.floats(0, 1.2),
)
def test_what_a_reading_leaves_never_exceeds_the_rest(share: float, limit: float, used: float) -> None:
    remaining = max(limit * (1 - used), 0.0)
    kept = LimitReading("requests", 60.0, limit, remaining, used, 10.0).keeping(share)
    assert kept.limit is not None
    assert kept.remaining is not None
    assert kept.remaining == pytest.approx(max(remaining - share * limit, 0.0))
    assert kept.remaining <= kept.limit + 1e-6
    subscription = LimitReading("unified-5h", 18000.0, None, None, used, 10.0).keeping(share)
    # Exhausted once only the share is left.
    assert subscription.is_exhausted == (used / (1 - share) >= 1)


def test_without_a_share_nothing_changes() -> None:
    limits = Limits.of({"rpm": 100}, "limits")
    assert limits.keeping(0.0) is limits
