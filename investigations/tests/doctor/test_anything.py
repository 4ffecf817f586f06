"""Whatever a configuration holds, it is examined to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml
from hypothesis import HealthCheck, example, given, settings, strategies as st

from evenkeel_lab.doctor import ProxyConfig, check_config, read
from evenkeel_lab.doctor.run_checks import facts
from evenkeel_lab.doctor.stores import database_url, redis_targets

if TYPE_CHECKING:
    import pytest

KEY = {"LITELLM_MASTER_KEY": "sk-0123456789abcdef"}


WORDS = (
    *(
        "model",
        "type",
        "host",
        "port",
        "gpt",
        "litellm_evenkeel.proxy.rotation",
        "litellm_evenkeel.proxy.prometheus",
        "litellm_evenkeel.proxy.journal",
        "redis",
        "prometheus",
        "os.environ/A",
        "os.environ/",
    ),
    *("redis://h:1", "[[1e999]]", '[["h", 1e999]]', "\u00b2", "x" * 300 + ".y", "\0.y", "/", "."),
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(WORDS) | st.dates()
)
KEYS = SCALARS.filter(lambda key: key == key)  # noqa: PLR0124 - not a number is no key
RECURSIVE = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def anything(draw: st.DrawFn) -> Any:  # of a short `repr`, which hypothesis insists on
    return draw(RECURSIVE)


VALUES = anything()


def mapping(*names: str, **values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly a mapping with some of these keys, sometimes anything else."""
    known = st.fixed_dictionaries({}, optional=dict.fromkeys(names, VALUES) | values)
    return known | known | st.builds(lambda other, mine: other | mine, st.dictionaries(KEYS, VALUES), known) | VALUES


REDIS = mapping("type", "url", "host", "port", "db", "password", "ssl", "startup_nodes", "sentinel_nodes")
POLICY = mapping("DefaultRetries")
CONFIGS = mapping(
    environment_variables=mapping("A", "REDIS_HOST", "REDIS_PORT", "REDIS_CLUSTER_NODES", "REDIS_DB"),
    litellm_settings=mapping(
        *("callbacks", "success_callback", "num_retries"), cache=st.just(value=True), cache_params=REDIS
    ),
    general_settings=mapping("database_url", "master_key", "key_management_system", coordination_redis=REDIS),
    router_settings=mapping(
        *("redis_url", "redis_host", "redis_port", "redis_db", "num_retries", "routing_strategy"),
        *("optional_pre_call_checks", "enable_tag_filtering"),
        retry_policy=POLICY,
        model_group_retry_policy=mapping(gpt=POLICY),
    ),
    model_list=st.lists(
        mapping(
            model_name=st.just("gpt"),
            litellm_params=mapping("model", "api_key", "api_base", "num_retries"),
            model_info=mapping("account"),
        ),
        max_size=3,
    ),
    evenkeel=mapping(journal=mapping("store", "copy_to", "path", "url")),
    include=VALUES,
).filter(lambda values: isinstance(values, dict) and values)


LOADED = {"litellm_settings": {"callbacks": "litellm_evenkeel.proxy.rotation"}}


@st.composite
def configs(draw: st.DrawFn) -> Any:
    return draw(CONFIGS)


def ask_everything(config: ProxyConfig) -> None:
    environment = {"A": "x", **KEY}
    check_config(config, environment, facts(config, environment))
    targets, _ = redis_targets(config, environment)
    assert all(target.address for target in targets)
    database_url(config, environment)


# YAML makes null and numbers of such keys.
@example({**LOADED, "evenkeel": {None: None}})
@example({**LOADED, "evenkeel": {"journal": {5: 5}}})
@given(configs())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_configuration_values_raise_an_exception(values: dict[Any, Any]) -> None:
    ask_everything(ProxyConfig(values))


@given(configs(), configs())
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_configuration_files_raise_an_exception(
    tmp_path_factory: pytest.TempPathFactory, first: Any, second: Any
) -> None:
    folder = tmp_path_factory.mktemp("configuration")
    (folder / "proxy.yaml").write_text(yaml.safe_dump({"include": ["more.yaml"], **first}, allow_unicode=True), "utf-8")
    (folder / "more.yaml").write_text(yaml.safe_dump(second, allow_unicode=True), "utf-8")
    ask_everything(read(folder / "proxy.yaml"))
