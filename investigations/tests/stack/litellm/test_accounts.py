"""Accounts in the settings of the mock provider and in the configuration of a proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from evenkeel_lab.stack.litellm.accounts import MAX_ACCOUNTS, Account, mock_settings, unequal_accounts
from evenkeel_lab.stack.litellm.config import ROTATION, Prometheus, ProxySpec, Rotation, proxy_config
from evenkeel_lab.stack.yaml_file import write_yaml
from evenkeel_mock.config import parse
from litellm_evenkeel.rotation.model.limits import Limits

if TYPE_CHECKING:
    from pathlib import Path


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file, read with libyaml where PyYAML has it: its own parser takes seconds."""
    return yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe


@pytest.mark.parametrize("count", [10, 300, pytest.param(MAX_ACCOUNTS, marks=pytest.mark.slow)])
def test_the_mock_provider_and_the_proxy_have_the_same_accounts(count: int, tmp_path: Path) -> None:
    accounts = unequal_accounts(count)
    write_yaml(mock_settings(accounts), tmp_path / "mock.yaml")
    write_yaml(proxy_config(ProxySpec(accounts=accounts), "http://mock"), tmp_path / "config.yaml")
    known = parse(read_yaml(tmp_path / "mock.yaml"), 1).accounts
    deployments = read_yaml(tmp_path / "config.yaml")["model_list"]
    assert len(deployments) == len(known.listed) == count
    assert len({deployment["model_info"]["account"] for deployment in deployments}) == count
    for deployment in deployments:
        params, about = deployment["litellm_params"], deployment["model_info"]
        account = known.listed[params["api_key"]]
        (window,) = account.limits.windows
        (limit,) = Limits.of(about["limits"], "here").windows
        assert (account.name, window.limit, params["rpm"]) == (about["account"], limit.amount, limit.amount)
        assert params["api_base"] == "http://mock/v1"


def test_a_quota_is_in_the_settings_of_the_mock_only() -> None:
    account = Account("a", 10, {"name": "5h", "for": "5h", "requests": 3})
    (known,) = parse(mock_settings([account]), 1).accounts.listed.values()
    assert [(window.name, window.limit) for window in known.limits.windows] == [("rpm", 10), ("5h", 3)]
    assert "5h" not in str(account.deployment("gpt", "http://mock"))


def test_the_rotation_callback_is_loaded_only_if_it_is_selected() -> None:
    def callbacks(spec: ProxySpec) -> object:
        return proxy_config(spec, "http://m")["litellm_settings"].get("callbacks")

    assert callbacks(ProxySpec()) is None
    assert callbacks(ProxySpec(rotation=Rotation.EVENKEEL)) == [ROTATION]
    both = ProxySpec(rotation=Rotation.EVENKEEL, prometheus=Prometheus.STOCK)
    assert callbacks(both) == [ROTATION, "prometheus"]
