"""Accounts, as the mock knows them and as a proxy is told of them."""

from __future__ import annotations

from evenkeel_lab.stack.litellm.accounts import Account, provider, unequal
from evenkeel_lab.stack.litellm.config import ROTATION, Prometheus, Rotation, Subject, proxy_config
from evenkeel_mock.config import parse
from litellm_evenkeel.rotation.model.limits import Limits


def test_the_provider_and_the_proxy_know_the_same_accounts() -> None:
    accounts = unequal(10)
    known = parse(provider(accounts), 1).accounts
    deployments = proxy_config(Subject(accounts=accounts), "http://mock")["model_list"]
    assert len(deployments) == len(known.listed) == 10
    assert len({one["model_info"]["account"] for one in deployments}) == 10
    for one in deployments:
        params, about = one["litellm_params"], one["model_info"]
        account = known.listed[params["api_key"]]
        (window,) = account.limits.windows
        (limit,) = Limits.of(about["limits"], "here").windows
        assert (account.name, window.limit, params["rpm"]) == (about["account"], limit.amount, limit.amount)
        assert params["api_base"] == "http://mock/v1"


def test_of_a_quota_only_the_provider_knows() -> None:
    account = Account("a", 10, {"name": "5h", "for": "5h", "requests": 3})
    (known,) = parse(provider([account]), 1).accounts.listed.values()
    assert [(window.name, window.limit) for window in known.limits.windows] == [("rpm", 10), ("5h", 3)]
    assert "5h" not in str(account.deployment("gpt", "http://mock"))


def test_the_rotation_is_a_callback_beside_others_and_only_when_asked_for() -> None:
    def callbacks(subject: Subject) -> object:
        return proxy_config(subject, "http://m")["litellm_settings"].get("callbacks")

    assert callbacks(Subject()) is None
    assert callbacks(Subject(rotation=Rotation.EVENKEEL)) == [ROTATION]
    both = Subject(rotation=Rotation.EVENKEEL, prometheus=Prometheus.STOCK)
    assert callbacks(both) == [ROTATION, "prometheus"]
