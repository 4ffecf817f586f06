"""The settings of the plugin, as operators write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.model.limits import Limits, RateLimit, Unit
from litellm_evenkeel.rotation.settings import (
    AccountSettings,
    RotationSettings,
    SharingSettings,
    StrategyName,
)
from litellm_evenkeel.settings import Settings, settings
from litellm_evenkeel.settings_schema.loader import leaves
from litellm_evenkeel.settings_schema.reference import description
from litellm_evenkeel.settings_schema.types import ServerUrl

if TYPE_CHECKING:
    from litellm_evenkeel.settings_schema.loader import Leaf

LEAVES = [*leaves(Settings), *leaves(AccountSettings)]


def test_without_any_setting_it_works() -> None:
    assert settings(None, {}) == Settings()


def test_a_section_is_read() -> None:
    section = {
        "rotation": {
            "strategy": "fill_first",
            "snapshot_ttl": "2m",
            "cooldown": {"initial": "2s", "max_quota": "7d"},
            "shared": {"redis_url": "rediss://:pa55@cache:6379/1"},
            "accounts": {"acme": {"weight": 2, "limits": {"rpm": 500}, "models": {"gpt": {"concurrent": 3}}}},
        }
    }
    read = settings(section, {}).rotation
    assert (read.strategy, read.snapshot_ttl) == (StrategyName.FILL_FIRST, 120.0)
    assert (read.cooldown.initial, read.cooldown.max_quota) == (2.0, 604_800.0)
    assert read.shared == SharingSettings(redis_url=ServerUrl("rediss://:pa55@cache:6379/1"))
    assert read.accounts == {
        "acme": AccountSettings(
            weight=2.0,
            limits=Limits((RateLimit(Unit.REQUESTS, 500, 60),)),
            models={"gpt": Limits(concurrent=3)},
        )
    }
    assert "pa55" not in repr(read)


def test_a_variable_wins() -> None:
    section = {"rotation": {"strategy": "fill_first", "queue_timeout": "1s"}}
    read = settings(section, {"EVENKEEL_ROTATION_STRATEGY": "Weighted"}).rotation
    assert read == RotationSettings(strategy=StrategyName.WEIGHTED, queue_timeout=1.0)


def test_litellms_own_redis_has_a_name() -> None:
    read = settings({"rotation": {"shared": {"redis_url": "litellm"}}}, {}).rotation.shared.redis_url
    assert read is not None
    assert read.is_litellm


@pytest.mark.parametrize(
    ("section", "variables", "words"),
    [
        ({"rotaton": {}}, {}, "evenkeel: unknown setting 'rotaton'. Hint: did you mean rotation?"),
        ({"rotation": {"strategy": "headrom"}}, {}, "evenkeel.rotation.strategy: .* did you mean headroom?"),
        (
            {"rotation": {"accounts": {"a": {"limits": {"rmp": 1}}}}},
            {},
            "accounts.a.limits: expected a known name, got 'rmp'",
        ),
        ({"rotation": {"accounts": {"a": {"weight": 0}}}}, {}, "accounts.a.weight: expected a number above 0, got '0'"),
        (
            {"rotation": {"shared": {"redis_url": "host:pa55"}}},
            {},
            "redis_url: expected `litellm` .*, got something else",
        ),
        ({}, {"EVENKEEL_ROTATION_STRATGY": "x"}, "did you mean EVENKEEL_ROTATION_STRATEGY?"),
        ({}, {"EVENKEEL_ROTATION_RESERVATION_TTL": "0"}, "evenkeel.rotation.reservation_ttl: expected a duration"),
        ({"rotation": {"wait": "1s"}}, {}, "evenkeel.rotation: 'wait' was renamed. Hint: write queue_timeout."),
        ({"collector": {}}, {}, "evenkeel: 'collector' was renamed. Hint: write gc_freeze."),
        ({"rotation": {"strategy": "least_loaded"}}, {}, "Hint: it was renamed to least_busy."),
    ],
)
def test_what_cannot_be_is_refused(section: object, variables: dict[str, str], words: str) -> None:
    with pytest.raises(SettingsError, match=words) as raised:
        settings(section, variables)
    assert "pa55" not in str(raised.value)


@pytest.mark.parametrize("variable", ["EVENKEEL_CACHE", "EVENKEEL_ENGINE_REGISTRY", "EVENKEEL_LOAD_API_KEY"])
def test_the_variables_of_the_toolkit_are_left_alone(variable: str) -> None:
    assert settings(None, {variable: "x"}) == Settings()


def test_no_two_settings_have_the_same_variable() -> None:
    assert len({leaf.variable for leaf in leaves(Settings)}) == len(list(leaves(Settings)))


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.name)
def test_every_setting_is_described(leaf: Leaf) -> None:
    assert description(leaf).endswith(".")


def test_what_kubernetes_writes_of_a_service_is_no_setting() -> None:
    names = ("PORT", "SERVICE_HOST", "SERVICE_PORT", "PORT_80_TCP_ADDR", "SERVICE_PORT_HTTP")
    environ = {f"EVENKEEL_ROTATION_{name}": "tcp://10.0.0.1:80" for name in names}
    assert settings(None, environ) == settings(None, {})


@pytest.mark.parametrize(
    ("rotation", "words"),
    [
        ({"cooldown": {"initial": "10s", "max": "5s"}}, "rotation.cooldown.max: expected at least the 10s .* got 5s"),
        ({"shared": {"prefix": " "}}, "rotation.shared.prefix: expected a text, got an empty one"),
        ({"shared": {"redis_url": "redis://:pa55/x@h:6379"}}, "shared.redis_url: .* got one that cannot be parsed"),
        ({"affinity": {"backend": "redis", "url": "redis://h:pa55"}}, "affinity.url: .* got one that cannot be parsed"),
        ({"affinity": {"url": "redis://:pa55@h"}}, "rotation.affinity.url: expected no address with backend: memory"),
        ({"affinity": {"backend": "redis", "url": "postgresql://:pa55@h"}}, "affinity.url: .* of a redis server"),
        ({"affinity": {"backend": "postgres", "url": "redis://:pa55@h"}}, "affinity.url: .* of a postgres server"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(rotation: dict[str, object], words: str) -> None:
    with pytest.raises(SettingsError, match=words) as raised:
        settings({"rotation": rotation}, {})
    assert "pa55" not in str(raised.value)


@pytest.mark.parametrize("backend", ["redis", "postgres"])
def test_pins_may_have_an_address_of_their_own(backend: str) -> None:
    url = {"redis": "rediss://cache/1", "postgres": "postgresql://db/pins"}[backend]
    affinity = settings({"rotation": {"affinity": {"backend": backend, "url": url}}}, {}).rotation.affinity
    assert affinity.url.get_secret_value() == url


def test_a_name_that_looks_like_a_key_is_in_no_error() -> None:
    with pytest.raises(SettingsError) as raised:
        settings({"rotation": {"accounts": {"sk-hush": {"weight": 0}}}}, {})
    assert "hush" not in str(raised.value)


def test_all_mistakes_are_named_at_once() -> None:
    section = {"rotation": {"strategy": "fast", "cooldown": {"initial": "soon"}}, "jurnal": {}}
    with pytest.raises(SettingsError) as raised:
        settings(section, {})
    assert {problem.partition(":")[0] for problem in raised.value.problems} == {
        "evenkeel.rotation.cooldown.initial",
        "evenkeel.rotation.strategy",
        "evenkeel",
    }
    assert str(raised.value).count("\n") == 2
