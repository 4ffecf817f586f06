"""Which Redis and which database a configuration names, and what of that cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from evenkeel_lab.doctor import Facts, Level, ProxyConfig, check_config, read
from evenkeel_lab.doctor.run_checks import reachable
from evenkeel_lab.doctor.stores import database_url, redis_targets

if TYPE_CHECKING:
    from pathlib import Path


KEY = {"LITELLM_MASTER_KEY": "sk-0123456789abcdef"}


@pytest.mark.parametrize(
    ("text", "environment", "addresses"),
    [
        ("router_settings: {redis_host: a, redis_port: 1}", {}, ["a:1"]),
        ("router_settings: {redis_url: 'redis://:secret@a:1/0'}", {}, ["a:1"]),
        ("router_settings: {redis_host: a}", {}, []),
        ("litellm_settings: {cache: true, cache_params: {host: a}}", {"REDIS_URL": "redis://b"}, ["a:6379"]),
        ("litellm_settings: {cache: true}", {"REDIS_HOST": "b", "REDIS_PORT": "2"}, ["b:2"]),
        ("litellm_settings: {cache: true}", {}, []),
        ("litellm_settings: {cache: true, cache_params: {type: s3}}", {}, []),
        ("litellm_settings: {cache_params: {host: a}}", {}, []),
        ("general_settings: {coordination_redis: {url: os.environ/MINE}}", {"MINE": "redis://c:3"}, ["c:3"]),
        ("{}", {"REDIS_URL": "redis://b"}, ["b:6379"]),
        ("environment_variables: {REDIS_HOST: d}", {"REDIS_HOST": "b"}, ["d:6379"]),
        ("{}", {"REDIS_CLUSTER_NODES": '[{"host": "n", "port": 7}]'}, ["n:7"]),
        ("{}", {"REDIS_CLUSTER_NODES": '[["n", 1e999]]', "REDIS_HOST": "b"}, ["b:6379"]),
        ("{}", {"REDIS_CLUSTER_NODES": "[" * 9999, "REDIS_HOST": "b"}, ["b:6379"]),
        ("litellm_settings: {cache: true, cache_params: {type: [s3]}}", {}, []),
        ("litellm_settings: {cache: true, cache_params: {sentinel_nodes: [[s, 26379]]}}", {}, ["s:26379"]),
        ("router_settings: {redis_url: 'redis://:half/secret@a'}", {}, ["an address that cannot be read"]),
    ],
)
def test_the_redis_servers_of_the_proxy_are_listed(
    text: str, environment: dict[str, str], addresses: list[str]
) -> None:
    targets, _ = redis_targets(ProxyConfig(yaml.safe_load(text)), environment)
    assert [target.address for target in targets] == addresses
    assert "secret" not in repr(targets)


def test_the_redis_client_has_password_and_database() -> None:
    config = ProxyConfig(
        {"litellm_settings": {"cache": True, "cache_params": {"host": "a", "password": "os.environ/P"}}}
    )
    ((target,), _) = redis_targets(config, {"P": "secret", "REDIS_DB": "3", "REDIS_PASSWORD": "other"})
    assert target.options == {"host": "a", "password": "secret", "db": "3"}


@pytest.mark.parametrize(
    ("general", "environment", "url"),
    [
        ({"database_url": "postgresql://a"}, {"DATABASE_URL": "postgresql://b"}, "postgresql://a"),
        ({"database_url": "os.environ/MINE"}, {"MINE": "postgresql://a"}, "postgresql://a"),
        ({"database_url": "os.environ/MINE"}, {"DATABASE_URL": "postgresql://b"}, "postgresql://b"),
        (
            {},
            {"DATABASE_HOST": "h", "DATABASE_USERNAME": "u", "DATABASE_PASSWORD": "p/w", "DATABASE_NAME": "d"},
            "postgresql://u:p%2Fw@h/d",
        ),
        ({}, {}, None),
    ],
)
def test_the_database_of_the_proxy_is_listed(
    general: dict[str, str], environment: dict[str, str], url: str | None
) -> None:
    assert database_url(ProxyConfig({"general_settings": general}), environment)[0] == url


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("router_settings: {redis_url: 4}", "`redis_url` of `router_settings` is not text"),
        ("router_settings: {redis_host: [a], redis_port: 1}", "`redis_host` of `router_settings` is not text"),
        ("router_settings: {redis_host: a, redis_port: b}", "`redis_port` of `router_settings` is not a number"),
        ("litellm_settings: {cache: true, cache_params: {url: 4}}", "`url` of `cache_params` is not text"),
        ("general_settings: {coordination_redis: {host: a, port: .inf}}", "`port` of `coordination_redis` is not a"),
        ("general_settings: {database_url: 3}", "`database_url` is not text: the proxy would not start"),
    ],
)
async def test_addresses_that_are_not_text_are_errors(tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "proxy.yaml"
    file.write_text(text)
    config = read(file)
    found = [finding for finding in check_config(config, KEY, Facts()) if what in finding.what]
    assert [(finding.level, finding.where) for finding in found] == [(Level.ERROR, "proxy.yaml:1")]
    assert all(finding.level is Level.OK for finding in await reachable(config, {}))


async def test_redis_addresses_of_the_rotation_are_checked() -> None:
    config = ProxyConfig(
        {
            "litellm_settings": {"callbacks": ["litellm_evenkeel.proxy.rotation"]},
            "evenkeel": {
                "rotation": {
                    "shared": {"redis_url": "os.environ/SHARED"},
                    "affinity": {"backend": "redis", "url": "redis://127.0.0.1:2/0"},
                }
            },
        }
    )
    found = await reachable(config, {"SHARED": "redis://:secret@127.0.0.1:1/0"})
    assert [(one.level, one.what.partition(": ")[0]) for one in found[:2]] == [
        (Level.ERROR, "`shared.redis_url`, 127.0.0.1:1"),
        (Level.ERROR, "`affinity.url`, 127.0.0.1:2"),
    ]
    assert "secret" not in str(found)


async def test_all_nodes_of_a_cluster_and_all_sentinels_are_checked() -> None:
    rotation = {
        "shared": {"redis_url": "redis+cluster://:secret@127.0.0.1:1,127.0.0.1:2"},
        "affinity": {"backend": "redis", "url": "redis+sentinel://127.0.0.1:3/main?sentinel_password=secret"},
    }
    callbacks = {"callbacks": ["litellm_evenkeel.proxy.rotation"]}
    config = ProxyConfig({"litellm_settings": callbacks, "evenkeel": {"rotation": rotation}})
    checked = await reachable(config, {})
    assert [finding.what.partition(": ")[0] for finding in checked[:3]] == [
        "`shared.redis_url`, 127.0.0.1:1",
        "`shared.redis_url`, 127.0.0.1:2",
        "`affinity.url`, 127.0.0.1:3",
    ]
    assert "secret" not in str(checked)
