"""Unknown names of accounts in the settings are reported, except for those that may be keys."""

from __future__ import annotations

import pytest

from litellm_evenkeel.rotation.model.account import Account
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.settings_check import settings_warnings
from litellm_evenkeel.settings import settings
from litellm_evenkeel.support.redaction import looks_like_key


def deployment(account: str | None, model: str = "openai/gpt-4o") -> dict[str, object]:
    return {"model_name": "chat", "litellm_params": {"model": model}, "model_info": {"id": "d", "account": account}}


def told(accounts: dict[str, object], *deployments: dict[str, object]) -> list[str]:
    terms = settings({"rotation": {"accounts": accounts}}, {}).rotation
    return [str(one) for one in settings_warnings(terms.accounts, deployments, "accounts")]


@pytest.mark.parametrize("name", ["openai/gpt-4o", "gpt-4o", "chat"])
def test_a_model_may_be_named_with_its_provider_or_without_or_as_its_group(name: str) -> None:
    assert told({"acme": {"models": {name: {"rpm": 5}}}}, deployment("acme")) == []
    terms = settings({"rotation": {"accounts": {"acme": {"models": {name: {"rpm": 5}}}}}}, {}).rotation
    assert DeploymentSpec.from_litellm(deployment("acme"), terms.accounts).model_limits.windows[0].amount == 5


def test_a_deployment_may_say_it_of_its_account_too() -> None:
    one = deployment("acme", "gpt-4o")
    one["model_info"] = {"id": "d", "account": "acme", "models": {"openai/gpt-4o": {"rpm": 5}, "other": {"rpm": 7}}}
    assert DeploymentSpec.from_litellm(one, {}).model_limits.windows[0].amount == 5
    one["model_info"] = {"id": "d", "account": "acme", "models": ["another-model"]}
    assert DeploymentSpec.from_litellm(one, {}).model_limits.windows == ()


def test_an_account_that_nobody_is_is_told_with_the_nearest_that_there_is() -> None:
    (warning,) = told({"acem": {"weight": 2}}, deployment("acme"), deployment("south"))
    assert warning.startswith("accounts.acem: no deployment in the configuration has this account.")
    assert "did you mean acme?" in warning
    # Without deployments in the configuration, the names are unknown.
    assert told({"acem": {"weight": 2}}) == []


def test_a_model_that_an_account_has_not_is_told() -> None:
    (warning,) = told({"acme": {"models": {"gpt4o": {"rpm": 5}, "chat": {"rpm": 5}, "gpt-4o": {}}}}, deployment("acme"))
    assert warning.startswith("accounts.acme.models.gpt4o: ")
    assert "gpt-4o" in warning.partition("did you mean")[2]


def test_an_account_that_is_called_like_a_key_is_called_otherwise() -> None:
    one = deployment("sk-hush")
    terms = settings({"rotation": {"accounts": {"sk-hush": {"weight": 7}}}}, {}).rotation
    spec = DeploymentSpec.from_litellm(one, terms.accounts)
    assert spec.weight == 7
    assert spec.account == Account.from_deployment({}, {"account": "sk-hush"}).name
    (warning,) = [str(found) for found in settings_warnings(terms.accounts, [one], "accounts")]
    assert spec.account in warning
    assert "hush" not in warning + spec.account + repr(terms)


@pytest.mark.parametrize("name", ["acme", "skyline", "team-sk-1", "acct-0123456789ab"])
def test_what_is_no_key_is_a_name(name: str) -> None:
    assert not looks_like_key(name)
    assert Account.from_deployment({}, {"account": name}).name == name
