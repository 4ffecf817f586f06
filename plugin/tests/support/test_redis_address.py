"""Addresses of Redis that can be parsed, and those that cannot."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.support.redis_address import (
    RedisAddress,
    Topology,
    cluster_url,
    parse_address,
    require_valid_address,
    sentinel_url,
)

HOSTS = st.sampled_from(["h", "redis-0.example.com", "10.0.0.1", "::1", "2001:db8::7"])
NODES = st.lists(st.tuples(HOSTS, st.integers(1, 65535)), min_size=1, max_size=4)
SECRETS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)


@pytest.mark.parametrize(
    "url",
    [
        "redis://h",
        "rediss://u:p%23@h:1/2?ssl_cert_reqs=none",
        "unix:///run/redis.sock?db=3",
        "redis+cluster://h",
        "rediss+cluster://u:p%40@h:7000,h2:7001/",
        "redis+sentinel://h,h2:26380/main",
        "redis+sentinel://:p@h/main/3?sentinel_password=s%26",
    ],
)
def test_valid_addresses_are_accepted(url: str) -> None:
    require_valid_address(url, "evenkeel.budgets.redis")


@pytest.mark.parametrize(
    "url",
    [
        "redis://default:hunter2#x@h:6379/0",
        "redis://:hunter2/x@h",
        "http://u:hunter2@h",
        "redis+cluster://:hunter2#@h",
        "redis+cluster://:hunter2@h:x",
        "redis+cluster://:hunter2@h,",
        "redis+cluster://:hunter2@h/3",
        "redis+cluster://:hunter2@h?db=3",
        "redis+cluster://user:12#hunter2@h:1",
        "redis+cluster://:hunter2@h:1,:hunter2@h2:2",
        "redis+cluster://:hunter2@h:0",
        "redis+sentinel://:hunter2@h/main/-1",
        "redis+sentinel://:hunter2@h",
        "redis+sentinel://:hunter2@h/main/three",
        "redis+sentinel://:hunter2@h/main?password=x",
        "redis+sentinel://:hunter2@h/main?sentinel_password",
    ],
)
def test_an_invalid_address_is_an_error_that_shows_nothing_of_it(url: str) -> None:
    with pytest.raises(SettingsError, match=r"evenkeel\.budgets\.redis: expected an address .* %23") as error:
        require_valid_address(url, "evenkeel.budgets.redis")
    assert "hunter2" not in repr(error.value)
    assert error.value.__cause__ is None


def test_default_ports() -> None:
    assert parse_address("redis+cluster://a,b:1").nodes == (("a", 6379), ("b", 1))
    assert parse_address("redis+sentinel://a/main").nodes == (("a", 26379),)


@given(nodes=NODES, username=SECRETS, password=SECRETS, ssl=st.booleans())
def test_the_address_of_a_cluster_is_parsed_as_it_was_written(
    nodes: list[tuple[str, int]], username: str, password: str, *, ssl: bool
) -> None:
    address = parse_address(cluster_url(nodes, username=username, password=password, ssl=ssl))
    options = {"username": username, "password": password, "ssl": ssl}
    assert address == RedisAddress(
        Topology.CLUSTER, nodes=tuple(nodes), options={name: value for name, value in options.items() if value}
    )


@given(
    nodes=NODES,
    service=SECRETS.filter(bool),
    password=SECRETS,
    db=st.integers(0, 15),
    ssl=st.booleans(),
    sentinel_password=SECRETS,
)
def test_the_address_of_sentinels_is_parsed_as_it_was_written(
    nodes: list[tuple[str, int]], service: str, password: str, db: int, *, ssl: bool, sentinel_password: str
) -> None:
    url = sentinel_url(nodes, service, password=password, db=db, ssl=ssl, sentinel_password=sentinel_password)
    address = parse_address(url)
    assert (address.topology, address.nodes, address.service) == (Topology.SENTINEL, tuple(nodes), service)
    assert address.options.get("password", "") == password
    assert address.options["db"] == db
    assert address.sentinel_options.get("password", "") == sentinel_password
    assert address.options.get("ssl", False) == address.sentinel_options.get("ssl", False) == ssl


def test_passwords_are_not_shown() -> None:
    url = sentinel_url([("h", 1)], "main", password="hunter2", sentinel_password="hunter3")
    assert "hunter" not in repr(parse_address(url))
    assert "hunter" not in repr(parse_address("redis://:hunter2@h"))
