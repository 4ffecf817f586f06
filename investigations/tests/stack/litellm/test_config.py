"""The generated configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml
from hypothesis import given, strategies as st

from evenkeel_lab.stack.litellm.config import REDIS, Prometheus, ProxySpec, merged, proxy_config
from evenkeel_lab.stack.yaml_file import write_yaml

if TYPE_CHECKING:
    from pathlib import Path

scalars = st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
flat = st.dictionaries(st.sampled_from("abc"), scalars, max_size=3)
mappings = st.dictionaries(st.sampled_from("abc"), scalars | flat, max_size=3)


def leaves(tree: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if isinstance(tree, dict) and tree:
        return {key: value for name, below in tree.items() for key, value in leaves(below, (*path, name)).items()}
    return {path: tree}


@given(mappings, mappings)
def test_merging_replaces_overridden_values_and_keeps_all_else(base: dict[str, Any], over: dict[str, Any]) -> None:
    both = leaves(merged(base, over))
    for path, value in leaves(over).items():
        if path and value != {}:
            assert both[path] == value
    covered = set(leaves(over))
    for path, value in leaves(base).items():
        untouched = not any(path[: len(other)] == other or other[: len(path)] == path for other in covered)
        if path and untouched:
            assert both[path] == value


@given(mappings)
def test_merging_with_nothing_or_with_itself_changes_nothing(base: dict[str, Any]) -> None:
    assert merged(base, {}) == merged(base, base) == base


def test_the_configuration_contains_no_secret(tmp_path: Path) -> None:
    write_yaml(proxy_config(ProxySpec(), "http://127.0.0.1:1"), tmp_path / "config.yaml")
    config = yaml.safe_load((tmp_path / "config.yaml").read_text())
    secrets = [config["general_settings"][name] for name in ("master_key", "database_url")]
    secrets += [config["litellm_settings"]["cache_params"]["url"], config["router_settings"]["redis_url"]]
    assert all(secret.startswith("os.environ/") for secret in secrets)


def test_the_prometheus_callback_is_loaded_only_if_it_is_selected() -> None:
    def callbacks(prometheus: Prometheus) -> object:
        return proxy_config(ProxySpec(prometheus=prometheus), "http://m")["litellm_settings"].get("callbacks")

    assert callbacks(Prometheus.OFF) is None
    assert callbacks(Prometheus.STOCK) == ["prometheus"]


def test_a_bare_proxy_uses_the_provider_only() -> None:
    config = proxy_config(ProxySpec(bare=True), "http://m")
    assert "database_url" not in config["general_settings"]
    assert "cache" not in config["litellm_settings"]
    assert "redis_url" not in config["router_settings"]
    assert config["model_list"] == proxy_config(ProxySpec(), "http://m")["model_list"]


def test_settings_override_the_generated_configuration() -> None:
    spec = ProxySpec(settings={"router_settings": {"num_retries": 7}, "litellm_settings": {"cache": False}})
    config = proxy_config(spec, "http://m")
    assert config["router_settings"]["num_retries"] == 7
    assert config["router_settings"]["redis_url"] == REDIS
    assert config["litellm_settings"]["cache"] is False
