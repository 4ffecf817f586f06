"""Settings of a team: those of LiteLLM, without a copy of the rest of the configuration."""

from __future__ import annotations

import copy
import sys
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from litellm_evenkeel.lean.team_settings import copy_team_settings_only

if TYPE_CHECKING:
    from collections.abc import Mapping


class Uncopied:
    """A part of the configuration that must not be copied."""

    def __deepcopy__(self, _: object) -> Uncopied:
        raise AssertionError("this has been copied")


class ProxyConfig:
    """LiteLLM's own, as far as it reads settings of teams."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config

    def load_team_config(self, team_id: str) -> Any:
        settings = self.get_config_state().get("litellm_settings", {})
        return {each["team_id"]: each for each in settings.get("default_team_settings") or ()}.get(team_id, {})

    def get_config_state(self) -> Mapping[str, Any]:
        return MappingProxyType({name: copy.deepcopy(value) for name, value in self.config.items()})


@pytest.fixture
def proxy_config(monkeypatch: pytest.MonkeyPatch) -> type[ProxyConfig]:
    """Make the change to a class of the test's own."""
    server: Any = ModuleType("litellm.proxy.proxy_server")
    server.ProxyConfig = type("ProxyConfig", (ProxyConfig,), {})
    monkeypatch.setitem(sys.modules, "litellm.proxy.proxy_server", server)
    copy_team_settings_only()
    return server.ProxyConfig  # type: ignore[no-any-return]


def test_only_the_section_with_the_settings_is_copied(proxy_config: type[ProxyConfig]) -> None:
    blue = {"team_id": "blue", "success_callback": ["langfuse"]}
    config = {"model_list": Uncopied(), "litellm_settings": {"default_team_settings": [blue]}}
    proxy = proxy_config(config)
    found = proxy.load_team_config("blue")
    assert found == blue
    assert found is not blue
    assert proxy.load_team_config("red") == {}
    assert proxy.config is config


@pytest.mark.parametrize("config", [{}, {"litellm_settings": {}}, {"model_list": Uncopied()}])
def test_a_team_without_settings_has_none(proxy_config: type[ProxyConfig], config: dict[str, Any]) -> None:
    assert proxy_config(config).load_team_config("blue") == {}
