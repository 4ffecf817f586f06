"""Addresses of LiteLLM's own servers, in all forms in which LiteLLM reads them."""

from __future__ import annotations

from typing import Any

import pytest

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.wiring import server_urls

PATH = "evenkeel.rotation.shared.redis_url"


@pytest.mark.parametrize(
    ("config", "environ", "url"),
    [
        ({"router_settings": {"redis_url": "redis://a"}}, {}, "redis://a"),
        ({"router_settings": {"redis_host": "a", "redis_port": 7}}, {}, "redis://a:7/0"),
        ({"litellm_settings": {"cache_params": {"host": "a", "password": "p/"}}}, {}, "redis://:p%2F@a:6379/0"),
        ({}, {"REDIS_HOST": "a", "REDIS_SSL": "True", "REDIS_PASSWORD": "p"}, "rediss://:p@a:6379/0"),
        ({}, {"REDIS_CLUSTER_NODES": '[{"host": "a", "port": "1"}]'}, "redis+cluster://a:1"),
        (
            {"litellm_settings": {"cache_params": {"redis_startup_nodes": [{"host": "a", "port": 1}]}}},
            {},
            "redis+cluster://a:1",
        ),
        # As in LiteLLM, a cluster comes first.
        ({}, {"REDIS_CLUSTER_NODES": '[{"host": "a", "port": 1}]', "REDIS_URL": "redis://b"}, "redis+cluster://a:1"),
        (
            {},
            {"REDIS_SENTINEL_NODES": '[["a", 1], ["b", 2]]', "REDIS_SERVICE_NAME": "m", "REDIS_SENTINEL_PASSWORD": "s"},
            "redis+sentinel://a:1,b:2/m/0?sentinel_password=s",
        ),
        # Settings and variables are read together, and a server that the settings name comes first.
        (
            {"litellm_settings": {"cache_params": {"redis_startup_nodes": [{"host": "a", "port": 1}]}}},
            {"REDIS_PASSWORD": "p", "REDIS_URL": "redis://b"},
            "redis+cluster://:p@a:1",
        ),
        (
            {"litellm_settings": {"cache_params": {"sentinel_nodes": [["a", 1]]}}},
            {"REDIS_SERVICE_NAME": "m", "REDIS_URL": "redis://b"},
            "redis+sentinel://a:1/m/0",
        ),
        ({"litellm_settings": {"cache_params": {"password": "p"}}}, {"REDIS_HOST": "b"}, "redis://:p@b:6379/0"),
    ],
)
def test_redis_is_found_as_litellm_finds_it(config: dict[str, Any], environ: dict[str, str], url: str) -> None:
    assert server_urls.redis(config, environ, PATH) == url


@pytest.mark.parametrize("nodes", ["[", "[1]", '[{"host": "hunter2"}]', '[["hunter2"]]', '[["hunter2", "x"]]', "{}x"])
def test_nodes_that_cannot_be_read_are_an_error(nodes: str) -> None:
    with pytest.raises(SettingsError, match=r"redis_url: LiteLLM's cluster_nodes cannot be read\. Hint") as error:
        server_urls.redis({}, {"REDIS_CLUSTER_NODES": nodes}, PATH)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    "environ",
    [
        {"REDIS_URL": "redis://:hunter2/secret@h:6379"},
        {"REDIS_CLUSTER_NODES": '[{"host": "", "port": 6379}]', "REDIS_PASSWORD": "hunter2"},
        {"REDIS_SENTINEL_NODES": '[["a", 1]]', "REDIS_SERVICE_NAME": "m", "REDIS_DB": "hunter2"},
    ],
)
def test_an_invalid_address_is_not_shown(environ: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="redis_url: ") as error:
        server_urls.redis({}, environ, PATH)
    assert "hunter2" not in str(error.value)


def test_without_any_server_the_error_names_all_sources() -> None:
    with pytest.raises(SettingsError, match=r"LiteLLM uses no Redis: .*REDIS_SENTINEL_NODES name none"):
        server_urls.redis({}, {"REDIS_SENTINEL_NODES": '[["a", 1]]'}, PATH)
