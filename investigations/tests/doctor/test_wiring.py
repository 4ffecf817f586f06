from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from evenkeel_lab.doctor import Facts, Finding, Level, ProxyConfig, check_wiring, read
from evenkeel_lab.doctor.callbacks import Modules
from evenkeel_lab.doctor.examine import facts, reachable
from evenkeel_lab.doctor.plugin_names import Kind, names_in, plugin_modules
from evenkeel_lab.doctor.stores import database_url, redis_targets
from evenkeel_lab.errors import WrongUse

if TYPE_CHECKING:
    from pathlib import Path

ROTATION = "litellm_evenkeel.proxy.rotation"
PROMETHEUS = "litellm_evenkeel.proxy.prometheus"
KEY = {"LITELLM_MASTER_KEY": "sk-0123456789abcdef"}
PLUGIN = Modules(
    plugin={
        "litellm_evenkeel": {"Account": Kind.OTHER},
        "litellm_evenkeel.proxy": {"rotation": Kind.OTHER, "prometheus": Kind.OTHER, "Rotation": Kind.CLASS},
    },
    version="9.9",
)


def examined(
    text: str, environment: dict[str, str] | None = None, modules: Modules = PLUGIN, **facts: Any
) -> list[Finding]:
    config = ProxyConfig(yaml.safe_load(dedent(text)))
    return check_wiring(config, KEY if environment is None else environment, Facts(modules=modules, **facts))


def of(check: str, findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.level.value, finding.what) for finding in findings if finding.check == check]


def callbacks(setting: str, **options: Any) -> list[tuple[str, str]]:
    return of("callbacks", examined(f"litellm_settings: {{{setting}}}", **options))


def pool(size: int, rest: str = "") -> str:
    items = "".join(
        f"\n  - {{model_name: gpt, litellm_params: {{model: openai/gpt, api_key: k{number}}}}}"
        for number in range(size)
    )
    return f"model_list:{items}\n{dedent(rest)}"


def test_a_sound_configuration_has_only_ok_findings_in_a_fixed_order() -> None:
    findings = examined(pool(2, f"litellm_settings: {{callbacks: [{ROTATION}, {PROMETHEUS}]}}"))
    assert {finding.level for finding in findings} == {Level.OK}
    checks = list(dict.fromkeys(finding.check for finding in findings))
    assert checks == [
        "config",
        "references",
        "master key",
        "callbacks",
        "workers",
        "accounts",
        "retries",
        "routing",
        "rotation",
        "redis",
    ]


def test_every_finding_that_is_not_ok_has_a_cure() -> None:
    findings = examined(
        pool(
            9,
            f"""
            litellm_settings: {{callbacks: [{PROMETHEUS}, prometheus, x.Y], success_callback: x, num_retries: 1}}
            router_settings: {{routing_strategy: usage-based-routing, redis_host: x}}
            general_settings: {{master_key: os.environ/NOPE, database_url: os.environ/NOPE2}}
            """,
        ),
        {},
        workers=3,
    )
    assert sum(finding.level is not Level.OK for finding in findings) >= 7
    assert all(finding.cure for finding in findings if finding.level is not Level.OK)


@pytest.mark.parametrize(
    ("setting", "level", "words"),
    [
        (f"callbacks: [{ROTATION}]", "ok", "is there"),
        (f"callbacks: {ROTATION}", "ok", "is there"),
        ("callbacks: [langfuse]", "ok", "left to LiteLLM"),
        ("callbacks: [my_company.callbacks.handler]", "ok", "imported by the proxy"),
        ("callbacks: ['s3://bucket/callbacks.handler']", "ok", "fetched by the proxy"),
        ("callbacks: [litellm_evenkeel.proxy.journal]", "error", "(9.9) has no callback"),
        ("callbacks: [litellm_evenkeel.proxy.prometeus]", "error", "there is no"),
        ("callbacks: [litellm_evenkeel.proxy]", "error", "is a module"),
        ("callbacks: [litellm_evenkeel.proxy.Rotation]", "error", "is a class"),
        ("callbacks: [litellm-evenkeel.proxy.rotation]", "warning", "misspelling"),
        ("callbacks: [promethues]", "warning", "misspelling"),
        ("callbacks: [handlers.MyLogger]", "warning", "looks like a class"),
        ("callbacks: [./handlers.py]", "error", "path of a file"),
        ("callbacks: [handlers.py]", "error", "path of a file"),
        ("callbacks: prometheus", "error", "not a list"),
        ("callbacks: ", "error", "not a list"),
        ("callbacks: [{prometheus: true}]", "error", "not text"),
        ("success_callback: langfuse", "error", "not a list"),
        (f"success_callback: [{PROMETHEUS}]", "error", "stands in `success_callback`"),
        (f"callbacks: [{ROTATION}, {ROTATION}]", "error", "listed 2 times"),
        ("callbacks: [langfuse, langfuse]", "warning", "listed 2 times"),
        (f"callbacks: [{PROMETHEUS}, prometheus]", "error", "listed beside"),
        (f"callbacks: [{PROMETHEUS}], failure_callback: [prometheus]", "error", "listed beside"),
    ],
)
def test_callbacks(setting: str, level: str, words: str) -> None:
    found = callbacks(setting)
    assert any(level == seen and words in what for seen, what in found), found


def test_stock_prometheus_may_be_in_two_lists_and_alone() -> None:
    assert {level for level, _ in callbacks("success_callback: [prometheus], failure_callback: [prometheus]")} == {"ok"}


def test_the_nearest_name_is_offered() -> None:
    findings = examined("litellm_settings: {callbacks: [litellm_evenkeel.proxy.prometeus]}")
    assert any(f"Did you mean {PROMETHEUS}?" in finding.cure for finding in findings)


def test_a_plugin_without_callbacks_says_its_version() -> None:
    found = callbacks(f"callbacks: [{ROTATION}]", modules=Modules(plugin={"litellm_evenkeel": {}}, version="0.0.1"))
    assert found == [("error", f"the installed litellm-evenkeel (0.0.1) has no callback {ROTATION}")]


def test_a_module_that_makes_its_names_up_is_trusted() -> None:
    assert callbacks(f"callbacks: [{ROTATION}]", modules=Modules(plugin={"litellm_evenkeel.proxy": None}))[0][0] == "ok"


def test_files_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "litellm_evenkeel").mkdir()
    (tmp_path / "litellm_evenkeel" / "proxy.py").write_text("rotation = 1\n")
    (tmp_path / "mine.py").write_text("class Handler: ...\nhandler = Handler()\n")
    file = tmp_path / "proxy.yaml"
    file.write_text(f"litellm_settings: {{callbacks: [{ROTATION}, mine.handler, mine.Handler, mine.other]}}\n")
    config = read(file)
    found = of("callbacks", check_wiring(config, KEY, facts(config, {})))
    assert any("litellm_evenkeel/proxy.py lies beside" in what for _, what in found)
    assert ("ok", "mine.handler comes from mine.py") in found
    assert any(level == "error" and "mine.Handler is a class" in what for level, what in found)
    assert ("error", "mine.py defines no `other`") in found


def test_names_are_read_without_importing(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text(
        "raise SystemExit\nimport a.b\nfrom c import d as e\nx = y, z = 1, 2\nw: int = 3\nv: int\n"
        "class K: ...\ntry:\n    def f(): ...\nexcept: pass\n"
    )
    assert names_in(source) == {
        **dict.fromkeys("aexyzwf", Kind.OTHER),
        "K": Kind.CLASS,
    }
    source.write_text("def __getattr__(name): ...\n")
    assert names_in(source) is None
    source.write_text("def (")
    assert names_in(source) is None
    assert (plugin_modules()["litellm_evenkeel"] or {}).keys() >= {"Account", "judge"}


@pytest.mark.parametrize(
    ("settings", "late"),
    [
        (f"{{callbacks: [{PROMETHEUS}], custom_prometheus_metadata_labels: [a]}}", True),
        (f"{{custom_prometheus_metadata_labels: [a], callbacks: [{PROMETHEUS}]}}", False),
        (f"{{callbacks: [{PROMETHEUS}], request_timeout: 3}}", False),
        ("{callbacks: [prometheus], custom_prometheus_metadata_labels: [a]}", False),
    ],
)
def test_settings_that_a_callback_reads_on_import_come_first(settings: str, late: bool) -> None:  # noqa: FBT001
    found = of("callbacks", examined(f"litellm_settings: {settings}"))
    assert any("listed after `callbacks`" in what for _, what in found) is late


@pytest.mark.parametrize(
    ("names", "environment", "options", "level"),
    [
        (PROMETHEUS, {}, {}, "ok"),
        (PROMETHEUS, {}, {"workers": 2}, "error"),
        (PROMETHEUS, {"NUM_WORKERS": "2"}, {}, "error"),
        (PROMETHEUS, {"NUM_WORKERS": "2"}, {"workers": 1}, "ok"),
        (PROMETHEUS, {"NUM_WORKERS": "many"}, {}, "error"),
        ("prometheus", {}, {"workers": 2}, "warning"),
        ("langfuse", {}, {"workers": 2}, "ok"),
        (PROMETHEUS, {"PROMETHEUS_MULTIPROC_DIR": "/x"}, {"workers": 2, "multiprocess_folder_usable": True}, "ok"),
        (PROMETHEUS, {"PROMETHEUS_MULTIPROC_DIR": "/x"}, {"workers": 2, "multiprocess_folder_usable": False}, "error"),
        (PROMETHEUS, {"PROMETHEUS_MULTIPROC_DIR": "/x"}, {"multiprocess_folder_usable": False}, "error"),
        ("prometheus", {"PROMETHEUS_MULTIPROC_DIR": "/x"}, {"workers": 2, "multiprocess_folder_usable": False}, "ok"),
    ],
)
def test_workers(names: str, environment: dict[str, str], options: dict[str, Any], level: str) -> None:
    found = of("workers", examined(f"litellm_settings: {{callbacks: [{names}]}}", environment, **options))
    assert [seen for seen, _ in found] == [level]


@pytest.mark.parametrize(
    ("general", "environment", "level", "words"),
    [
        ("{}", {}, "error", "it is not set"),
        ("{}", KEY, "ok", "it is set"),
        ("{master_key: sk-1234}", KEY, "error", "well-known"),
        ("{master_key: ' sk-1234 '}", KEY, "error", "well-known"),
        ("{master_key: ''}", KEY, "error", "empty"),
        ("{master_key: }", KEY, "error", "not set"),
        ("{master_key: 1234}", KEY, "error", "not text"),
        ("{master_key: sk-short}", {}, "warning", "fewer than 16"),
        ("{master_key: os.environ/K}", {}, "error", "K is not set"),
        ("{master_key: os.environ/K}", {"K": "sk-0123456789abcdef"}, "ok", "it is set"),
        ("{master_key: os.environ/K, key_management_system: aws_kms}", {}, "ok", "secret manager"),
        ("{master_key: sk-1234, dangerously_permit_weak_or_unset_master_key: true}", {}, "warning", "nevertheless"),
        ("{master_key: sk-1234}", {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "True"}, "warning", ""),
    ],
)
def test_master_key(general: str, environment: dict[str, str], level: str, words: str) -> None:
    ((seen, what),) = of("master key", examined(f"general_settings: {general}", environment))
    assert seen == level
    assert words in what


def test_references() -> None:
    text = """
    environment_variables: {ONLY_HERE: x}
    model_list:
      - {model_name: a, litellm_params: {model: m, api_key: os.environ/UNSET, api_base: os.environ/ONLY_HERE}}
      - {model_name: b, litellm_params: {model: m, api_key: os.environ/EMPTY, pointer_ref: os.environ/LEFT_ALONE}}
      - {model_name: c, litellm_params: {model: m, api_key: os.environ/SET, tags: [os.environ/IN_A_LIST]}}
    """
    found = of("references", examined(text, {"SET": "x", "EMPTY": ""}))
    assert [what.split()[0] for _, what in found] == ["UNSET", "ONLY_HERE", "EMPTY"]
    assert {level for level, _ in found} == {"warning"}
    assert "after it has resolved references" in found[1][1]
    assert (
        of("references", examined(text + "\n    general_settings: {key_management_system: aws_kms}", {}))[0][0] == "ok"
    )


@pytest.mark.parametrize(
    ("rest", "level", "words"),
    [
        ("", "warning", "is 2 by default"),
        ("router_settings: {num_retries: 3}", "ok", "enough"),
        ("litellm_settings: {num_retries: 3}", "ok", "enough"),
        ("litellm_settings: {num_retries: 3}\nrouter_settings: {num_retries: 1}", "warning", "`num_retries` is 1"),
        ("router_settings: {num_retries: '3'}", "error", "not a whole number"),
        ("router_settings: {num_retries: os.environ/N}", "error", "not a whole number"),
        ("router_settings: {num_retries: 3, retry_policy: {RateLimitErrorRetries: 0}}", "warning", "RateLimitError"),
        (
            """
            router_settings:
              num_retries: 3
              retry_policy: {RateLimitErrorRetries: 0}
              model_group_retry_policy: {gpt: {RateLimitErrorRetries: 3}}
            """,
            "ok",
            "enough",
        ),
        ("router_settings: {num_retries: 3, retry_policy: {BadRequestErrorRetries: 0}}", "ok", "enough"),
    ],
)
def test_retries_reach_every_account(rest: str, level: str, words: str) -> None:
    found = of("retries", examined(pool(4, rest), {**KEY, "N": "3"}))
    assert [seen for seen, _ in found] == [level]
    assert words in found[0][1]


def test_a_deployment_can_have_its_own_number_of_retries() -> None:
    models = pool(4) + "  - {model_name: gpt, litellm_params: {model: m, api_key: k5, num_retries: 1}}\n"
    router = "router_settings: {num_retries: 4}"
    assert of("retries", examined(models.replace("retries: 1", "retries: '4'") + router))[0][0] == "ok"
    found = of("retries", examined(models + router))
    assert [level for level, _ in found] == ["warning"]
    assert "`litellm_params.num_retries` is 1" in found[0][1]


def test_accounts_are_told_apart_by_what_their_references_lead_to() -> None:
    text = "model_list:" + "".join(
        f"\n  - {{model_name: gpt, litellm_params: {{model: m, api_key: os.environ/{name}}}}}" for name in "ABCDE"
    )
    same = dict.fromkeys("ABCDE", "one")
    assert ("ok", "1 account in 1 model group") in of("accounts", examined(text, same))
    assert ("ok", "5 accounts in 1 model group") in of("accounts", examined(text, {}))
    assert ("ok", "2 accounts in 1 model group") in of("accounts", examined(text, {**same, "E": "two"}))


def test_deployments_that_cannot_be_told_apart_are_named() -> None:
    text = """
    model_list:
      - {model_name: b, litellm_params: {model: bedrock/x, aws_region_name: eu}}
      - {model_name: b, litellm_params: {model: bedrock/x, aws_region_name: us}}
    """
    assert "count as one account" in of("accounts", examined(text))[0][1]
    named = text.replace("us}", "us}, model_info: {account: second}")
    assert of("accounts", examined(named)) == [("ok", "2 accounts in 1 model group")]


@pytest.mark.parametrize(
    ("router", "words"),
    [
        ("routing_strategy: usage-based-routing", "old path"),
        ("optional_pre_call_checks: [deployment_affinity]", "deployment_affinity"),
    ],
)
def test_what_keeps_the_rotation_from_choosing(router: str, words: str) -> None:
    with_rotation = f"litellm_settings: {{callbacks: [{ROTATION}]}}\nrouter_settings: {{{router}}}"
    ((level, what),) = of("routing", examined(with_rotation))
    assert level == "warning"
    assert words in what
    assert of("routing", examined(f"router_settings: {{{router}}}"))[0][0] == "ok"


@pytest.mark.parametrize("strategy", ["simple-shuffle", "usage-based-routing-v2", "least-busy"])
def test_strategies_that_ask_the_hooks(strategy: str) -> None:
    text = f"litellm_settings: {{callbacks: [{ROTATION}]}}\nrouter_settings: {{routing_strategy: {strategy}}}"
    assert of("routing", examined(text))[0][0] == "ok"


def named(text: str) -> str:
    return f"litellm_settings: {{callbacks: [{ROTATION}]}}\n{text}"


def test_what_the_rotation_does_not_understand() -> None:
    ((level, what),) = of("rotation", examined(named("evenkeel: {rotation: {stratgy: headroom}}")))
    assert level == "error"
    assert "strategy" in what
    limits = "model_list: [{model_name: a, litellm_params: {model: a}, model_info: {limits: {rpm: none}}}]"
    ((level, what),) = of("rotation", examined(named(limits)))
    assert level == "error"
    assert "rpm" in what
    assert of("rotation", examined(limits)) == []


@pytest.mark.parametrize(
    ("rotation", "words"),
    [
        ("accounts: {acem: {weight: 2}}", "rotation.accounts.acem: no deployment"),
        ("accounts: {acme: {models: {gpt-5: {rpm: 1}}}}", "acme.models.gpt-5: no deployment"),
        ("sticky: {backend: redis}", "cluster"),
        ("shared: {redis_url: proxy}", "cluster"),
    ],
)
def test_what_the_rotation_understands_and_would_do_nothing(rotation: str, words: str) -> None:
    deployment = "{model_name: a, litellm_params: {model: openai/a}, model_info: {account: acme}}"
    text = named(f"model_list: [{deployment}]\nevenkeel: {{rotation: {{{rotation}}}}}")
    nodes = KEY | {"REDIS_CLUSTER_NODES": '[{"host": "here", "port": 7000}]'}
    (first, *_) = of("rotation", examined(text, environment=nodes))
    assert first[0] == "warning"
    assert words in first[1]


def test_an_account_that_is_called_like_a_key_is_not_shown() -> None:
    deployment = "{model_name: a, litellm_params: {model: openai/a}, model_info: {account: sk-hush}}"
    (first, *_) = of("rotation", examined(named(f"model_list: [{deployment}]")))
    assert first[0] == "warning"
    assert "looks like a key" in first[1]
    assert "hush" not in first[1]


def test_workers_that_know_nothing_of_each_other() -> None:
    assert of("rotation", examined(named(""), workers=2))[0][0] == "warning"
    assert of("rotation", examined(named(""), workers=1))[0][0] == "ok"
    shared = "evenkeel: {rotation: {shared: {redis_url: proxy}}}"
    assert of("rotation", examined(named(shared), workers=2))[0][0] == "ok"


def test_several_workers_without_redis() -> None:
    assert of("redis", examined(pool(2), workers=2))[0][0] == "warning"
    assert of("redis", examined(pool(2), workers=1))[0][0] == "ok"
    assert of("redis", examined(pool(1), workers=2))[0][0] == "ok"
    assert of("redis", examined(pool(2, "router_settings: {redis_url: 'redis://x'}"), workers=2)) == []


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
def test_which_redis_the_proxy_would_use(text: str, environment: dict[str, str], addresses: list[str]) -> None:
    targets, _ = redis_targets(ProxyConfig(yaml.safe_load(text)), environment)
    assert [target.address for target in targets] == addresses
    assert "secret" not in repr(targets)


def test_the_redis_client_gets_password_and_database() -> None:
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
def test_which_database_the_proxy_would_use(
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
async def test_addresses_that_are_not_text(tmp_path: Path, text: str, what: str) -> None:
    file = tmp_path / "proxy.yaml"
    file.write_text(text)
    config = read(file)
    found = [finding for finding in check_wiring(config, KEY, Facts()) if what in finding.what]
    assert [(finding.level, finding.where) for finding in found] == [(Level.ERROR, "proxy.yaml:1")]
    assert all(finding.level is Level.OK for finding in await reachable(config, {}))


WORDS = (
    *(
        "model",
        "type",
        "host",
        "port",
        "gpt",
        ROTATION,
        PROMETHEUS,
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
    include=VALUES,
).filter(lambda values: isinstance(values, dict) and values)


@st.composite
def configs(draw: st.DrawFn) -> Any:
    return draw(CONFIGS)


def ask_everything(config: ProxyConfig) -> None:
    environment = {"A": "x", **KEY}
    check_wiring(config, environment, facts(config, environment))
    targets, _ = redis_targets(config, environment)
    assert all(target.address for target in targets)
    database_url(config, environment)


@given(configs())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_values_make_it_fail(values: dict[Any, Any]) -> None:
    ask_everything(ProxyConfig(values))


@given(configs(), configs())
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_files_make_it_fail(tmp_path_factory: pytest.TempPathFactory, first: Any, second: Any) -> None:
    folder = tmp_path_factory.mktemp("configuration")
    (folder / "proxy.yaml").write_text(yaml.safe_dump({"include": ["more.yaml"], **first}, allow_unicode=True), "utf-8")
    (folder / "more.yaml").write_text(yaml.safe_dump(second, allow_unicode=True), "utf-8")
    ask_everything(read(folder / "proxy.yaml"))


@pytest.mark.parametrize(
    ("first", "second", "where"),
    [
        ("on: {a: 1}", "on: {b: 2}", "more.yaml:1"),
        ("1: {a: 1}", "'0': x\n1: {b: 2}", "more.yaml:2"),
        (".nan: 1", ".nan: 2", "more.yaml:1"),
        ("x: &x\n  section: {a: 1}\n<<: *x", "section: {b: 2}", "more.yaml:1"),
        ("section: {a: 1}", "x: &x\n  section: {b: 2}\n<<: *x", "more.yaml:2"),
    ],
)
def test_keys_of_any_kind_are_merged(tmp_path: Path, first: str, second: str, where: str) -> None:
    (tmp_path / "proxy.yaml").write_text(f"include: [more.yaml]\n{first}\n")
    (tmp_path / "more.yaml").write_text(f"{second}\n")
    replaced = [problem for problem in read(tmp_path / "proxy.yaml").problems if "replaces" in problem.what]
    assert [problem.where for problem in replaced] == [where]
    assert all("the one of proxy.yaml" in problem.what for problem in replaced)


def test_places_of_keys_that_are_not_text_and_of_merged_ones(tmp_path: Path) -> None:
    file = tmp_path / "proxy.yaml"
    file.write_text("base: &base\n  master_key: x\ngeneral_settings:\n  <<: *base\n  1: 2\n")
    config = read(file)
    assert config.where("general_settings", 1) == "proxy.yaml:5"
    assert config.where("general_settings", "master_key") == "proxy.yaml:2"


@pytest.mark.parametrize("entry", ["x" * 300, "a\0b", "loop", "proxy.yaml/below", ""])
def test_an_include_that_is_no_path(tmp_path: Path, entry: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    file = tmp_path / "proxy.yaml"
    file.write_text(json.dumps({"include": [entry]}))
    assert [problem.level for problem in read(file).problems] == [Level.ERROR]


def test_includes_are_merged_as_litellm_does(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "proxy.yaml").write_text(
        "include: [sub/more.yaml, sub/more.yaml, gone.yaml]\nmodel_list:\n  - model_name: a\ngeneral_settings: {x: 1}\n"
    )
    (tmp_path / "sub" / "more.yaml").write_text(
        "include: [nested.yaml, ../proxy.yaml]\nmodel_list:\n  - model_name: b\ngeneral_settings:\n  y: 2\n"
    )
    (tmp_path / "sub" / "nested.yaml").write_text("model_list:\n\n  - model_name: c\n")
    config = read(tmp_path / "proxy.yaml")
    assert [model["model_name"] for model in config.values["model_list"]] == ["a", "b", "c"]
    assert config.section("general_settings") == {"y": 2}
    assert "include" not in config.values
    assert config.where("model_list", 0, "model_name") == "proxy.yaml:3"
    assert config.where("model_list", 1) == "sub/more.yaml:3"
    assert config.where("model_list", 2, "model_name") == "nested.yaml:3"
    assert config.where("general_settings", "y", "deeper") == "sub/more.yaml:5"
    assert config.where("nowhere") == "proxy.yaml"
    includes = [(problem.level.value, problem.where) for problem in config.problems if problem.check == "include"]
    assert includes == [("warning", "sub/more.yaml:4"), ("error", "proxy.yaml:1")]


def test_sections_of_the_wrong_shape_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "proxy.conf"
    file.write_text("litellm_settings: [1]\nrouter_settings:\nmodel_list:\n  - just text\ninclude: more.yaml\n")
    config = read(file)
    assert {problem.level for problem in config.problems} == {Level.ERROR}
    assert [problem.where for problem in config.problems] == [
        "proxy.conf",
        "proxy.conf:1",
        "proxy.conf:4",
        "proxy.conf:5",
    ]
    assert check_wiring(config, KEY, Facts())[0].level is Level.ERROR


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n",
        "just text",
        "a: [1\n",
        "a: *hunter2\n",
        "a: !hunter2 b\n",
        "\x00hunter2",
        "{[a]: b}",
        "a: 2026-99-99",
    ],
)
def test_what_is_no_configuration_is_wrong_use_and_not_quoted(tmp_path: Path, text: str) -> None:
    file = tmp_path / "proxy.yaml"
    file.write_text(text)
    with pytest.raises(WrongUse) as raised:
        read(file)
    assert "hunter2" not in str(raised.value)


def test_a_configuration_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(WrongUse):
            read(path)


def test_anchors_that_repeat_or_contain_themselves_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "proxy.yaml"
    file.write_text("general_settings: &a\n  self: *a\nother: [*a, *a]\n")
    config = read(file)
    assert config.where("general_settings", "self") == "proxy.yaml:2"
    assert check_wiring(config, KEY, Facts())
