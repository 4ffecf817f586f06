from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from evenkeel_lab.doctor import Facts, Finding, Level, ProxyConfig, check_config, read
from evenkeel_lab.doctor.callbacks import Modules
from evenkeel_lab.doctor.plugin_names import Kind, names_in, plugin_modules
from evenkeel_lab.doctor.run_checks import facts

if TYPE_CHECKING:
    from pathlib import Path

ROTATION = "litellm_evenkeel.proxy.rotation"
PROMETHEUS = "litellm_evenkeel.proxy.prometheus"
JOURNAL = "litellm_evenkeel.proxy.journal"
LEAN = "litellm_evenkeel.proxy.lean"
# Another callback, which makes its series when it is imported.
FOREIGN = "mine.prometheus.logger"
KEY = {"LITELLM_MASTER_KEY": "sk-0123456789abcdef"}
PLUGIN = Modules(
    plugin={
        "litellm_evenkeel": {"Account": Kind.OTHER},
        "litellm_evenkeel.proxy": {"rotation": Kind.OTHER, "prometheus": Kind.OTHER, "lean": Kind.OTHER}
        | {"Rotation": Kind.CLASS},
    },
    version="9.9",
)


def examined(
    text: str, environment: dict[str, str] | None = None, modules: Modules = PLUGIN, **facts: Any
) -> list[Finding]:
    config = ProxyConfig(yaml.safe_load(dedent(text)))
    return check_config(config, KEY if environment is None else environment, Facts(modules=modules, **facts))


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
    findings = examined(pool(2, f"litellm_settings: {{callbacks: [{ROTATION}, {PROMETHEUS}, {LEAN}]}}"))
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
        "settings",
        "routing",
        "rotation",
        "redis",
    ]


def test_every_error_and_warning_has_a_hint() -> None:
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
    assert all(finding.hint for finding in findings if finding.level is not Level.OK)


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
def test_mistakes_in_callback_names_are_reported(setting: str, level: str, words: str) -> None:
    found = callbacks(setting)
    assert any(level == seen and words in what for seen, what in found), found


def test_stock_prometheus_may_be_in_two_lists() -> None:
    assert {level for level, _ in callbacks("success_callback: [prometheus], failure_callback: [prometheus]")} == {"ok"}


def test_the_hint_names_the_most_similar_callback() -> None:
    findings = examined("litellm_settings: {callbacks: [litellm_evenkeel.proxy.prometeus]}")
    assert any(f"Did you mean {PROMETHEUS}?" in finding.hint for finding in findings)


def test_an_installed_plugin_without_the_callback_is_named_with_its_version() -> None:
    found = callbacks(f"callbacks: [{ROTATION}]", modules=Modules(plugin={"litellm_evenkeel": {}}, version="0.0.1"))
    assert found == [("error", f"the installed litellm-evenkeel (0.0.1) has no callback {ROTATION}")]


def test_a_module_that_creates_its_names_at_run_time_is_trusted() -> None:
    assert callbacks(f"callbacks: [{ROTATION}]", modules=Modules(plugin={"litellm_evenkeel.proxy": None}))[0][0] == "ok"


@pytest.mark.parametrize(
    ("name", "words"),
    [("rotaton", "there is no"), ("journal", "is there"), ("rotation", "is there"), ("prometheus", "is there")],
)
def test_only_listed_callbacks_of_the_installed_plugin_exist(name: str, words: str) -> None:
    ((level, what),) = callbacks(f"callbacks: [litellm_evenkeel.proxy.{name}]", modules=Modules(plugin_modules()))
    assert words in what
    assert (level == "ok") == (words == "is there")


def test_files_next_to_the_configuration_precede_modules(tmp_path: Path) -> None:
    (tmp_path / "litellm_evenkeel").mkdir()
    (tmp_path / "litellm_evenkeel" / "proxy.py").write_text("rotation = 1\n")
    (tmp_path / "mine.py").write_text("class Handler: ...\nhandler = Handler()\n")
    file = tmp_path / "proxy.yaml"
    file.write_text(f"litellm_settings: {{callbacks: [{ROTATION}, mine.handler, mine.Handler, mine.other]}}\n")
    config = read(file)
    found = of("callbacks", check_config(config, KEY, facts(config, {})))
    assert any("litellm_evenkeel/proxy.py lies beside" in what for _, what in found)
    assert ("ok", "mine.handler comes from mine.py") in found
    assert any(level == "error" and "mine.Handler is a class" in what for level, what in found)
    assert ("error", "mine.py defines no `other`") in found


def test_names_are_read_without_importing_the_module(tmp_path: Path) -> None:
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
    source.write_text("CALLBACKS = ('one',)\ndef __getattr__(name): ...\n")
    assert (names_in(source) or {}).keys() == {"one", "CALLBACKS", "__getattr__"}
    source.write_text("def (")
    assert names_in(source) is None
    assert (plugin_modules()["litellm_evenkeel"] or {}).keys() >= {"Account", "judge"}


@pytest.mark.parametrize(
    ("settings", "late"),
    [
        (f"{{callbacks: [{FOREIGN}], custom_prometheus_metadata_labels: [a]}}", True),
        (f"{{custom_prometheus_metadata_labels: [a], callbacks: [{FOREIGN}]}}", False),
        (f"{{callbacks: [{FOREIGN}], request_timeout: 3}}", False),
        (f"{{callbacks: [{PROMETHEUS}], custom_prometheus_metadata_labels: [a]}}", False),
        ("{callbacks: [prometheus], custom_prometheus_metadata_labels: [a]}", False),
    ],
)
def test_settings_below_a_callback_that_reads_them_on_import_are_reported(settings: str, late: bool) -> None:  # noqa: FBT001
    found = of("callbacks", examined(f"litellm_settings: {settings}"))
    assert any("listed after `callbacks`" in what for _, what in found) is late


@pytest.mark.parametrize(
    ("names", "environment", "options", "level"),
    [
        (PROMETHEUS, {}, {}, "ok"),
        (PROMETHEUS, {}, {"workers": 2}, "ok"),
        (FOREIGN, {}, {"workers": 2}, "error"),
        (FOREIGN, {"NUM_WORKERS": "2"}, {}, "error"),
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
def test_the_metrics_folder_of_several_workers_is_checked(
    names: str, environment: dict[str, str], options: dict[str, Any], level: str
) -> None:
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
def test_weak_or_missing_master_keys_are_reported(
    general: str, environment: dict[str, str], level: str, words: str
) -> None:
    ((seen, what),) = of("master key", examined(f"general_settings: {general}", environment))
    assert seen == level
    assert words in what


def test_references_to_variables_that_are_not_set_are_reported() -> None:
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
def test_too_few_retries_for_all_accounts_are_reported(rest: str, level: str, words: str) -> None:
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


def test_accounts_are_distinguished_by_resolved_references() -> None:
    text = "model_list:" + "".join(
        f"\n  - {{model_name: gpt, litellm_params: {{model: m, api_key: os.environ/{name}}}}}" for name in "ABCDE"
    )
    same = dict.fromkeys("ABCDE", "one")
    assert ("ok", "1 account in 1 model group") in of("accounts", examined(text, same))
    assert ("ok", "5 accounts in 1 model group") in of("accounts", examined(text, {}))
    assert ("ok", "2 accounts in 1 model group") in of("accounts", examined(text, {**same, "E": "two"}))


def test_identical_deployments_are_reported() -> None:
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
def test_settings_that_bypass_the_rotation_are_reported(router: str, words: str) -> None:
    with_rotation = f"litellm_settings: {{callbacks: [{ROTATION}]}}\nrouter_settings: {{{router}}}"
    ((level, what),) = of("routing", examined(with_rotation))
    assert level == "warning"
    assert words in what
    assert of("routing", examined(f"router_settings: {{{router}}}"))[0][0] == "ok"


def test_checks_that_are_applied_before_the_pick_are_ok() -> None:
    router = "optional_pre_call_checks: [responses_api_deployment_check, {a: b}]"
    text = f"litellm_settings: {{callbacks: [{ROTATION}]}}\nrouter_settings: {{{router}}}"
    assert [level for level, _ in of("routing", examined(text))] == ["ok"]


@pytest.mark.parametrize("strategy", ["simple-shuffle", "usage-based-routing-v2", "least-busy"])
def test_strategies_that_call_the_rotation_are_ok(strategy: str) -> None:
    text = f"litellm_settings: {{callbacks: [{ROTATION}]}}\nrouter_settings: {{routing_strategy: {strategy}}}"
    assert of("routing", examined(text))[0][0] == "ok"


def named(text: str) -> str:
    return f"litellm_settings: {{callbacks: [{ROTATION}]}}\n{text}"


def test_invalid_rotation_settings_are_errors() -> None:
    limits = "model_list: [{model_name: a, litellm_params: {model: a}, model_info: {limits: {rpm: none}}}]"
    ((level, what),) = of("rotation", examined(named(limits)))
    assert level == "error"
    assert "rpm" in what
    assert of("rotation", examined(limits)) == []


@pytest.mark.parametrize("callback", ["rotation", "prometheus", "journal", "gc_freeze", "lean"])
@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("rotation: {stratgy: headroom}", "strategy"),
        ("journal: {pth: x}", "path"),
        ("journal: {batch_size: 0}", "batch_size"),
        ("journal: {store: postgres, url: 'mysql://me:pw@h/d'}", "expected `litellm`"),
        ("journal: {copy_to: postgres, url: 'me:pw@h/d'}", "expected `litellm`"),
        ("journal: {url: os.environ/NOT_THERE}", "Hint: set its variable"),
    ],
)
def test_invalid_plugin_settings_are_an_error_for_every_callback(callback: str, written: str, words: str) -> None:
    text = f"evenkeel: {{{written}}}\nlitellm_settings: {{callbacks: [litellm_evenkeel.proxy.{callback}]}}"
    findings = examined(text)
    ((level, what),) = of("settings", findings)
    assert level == "error"
    assert words in what
    assert not of("rotation", findings) + of("journal", findings)
    # The setting is not read.
    assert of("settings", examined(f"evenkeel: {{{written}}}")) == []
    assert of("settings", examined(text.replace(written, "")))[0][0] == "ok"


def test_variables_that_override_the_section_are_checked() -> None:
    text = f"litellm_settings: {{callbacks: [{JOURNAL}]}}"
    ((level, what),) = of("settings", examined(text, environment=KEY | {"EVENKEEL_JOURNAL_BATCH_SIZE": "0"}))
    assert level == "error"
    assert "evenkeel.journal.batch_size" in what


@pytest.mark.parametrize(
    ("rotation", "words"),
    [
        ("accounts: {acem: {weight: 2}}", "rotation.accounts.acem: no deployment"),
        ("accounts: {acme: {models: {gpt-5: {rpm: 1}}}}", "acme.models.gpt-5: no deployment"),
    ],
)
def test_rotation_settings_without_effect_are_warnings(rotation: str, words: str) -> None:
    deployment = "{model_name: a, litellm_params: {model: openai/a}, model_info: {account: acme}}"
    text = named(f"model_list: [{deployment}]\nevenkeel: {{rotation: {{{rotation}}}}}")
    (first, *_) = of("rotation", examined(text, environment=KEY))
    assert first[0] == "warning"
    assert words in first[1]


def test_an_account_name_that_looks_like_a_key_is_not_printed() -> None:
    deployment = "{model_name: a, litellm_params: {model: openai/a}, model_info: {account: sk-hush}}"
    (first, *_) = of("rotation", examined(named(f"model_list: [{deployment}]")))
    assert first[0] == "warning"
    assert "looks like a key" in first[1]
    assert "hush" not in first[1]


def test_workers_without_shared_limits_are_reported() -> None:
    assert of("rotation", examined(named(""), workers=2))[0][0] == "warning"
    assert of("rotation", examined(named(""), workers=1))[0][0] == "ok"
    shared = "evenkeel: {rotation: {shared: {redis_url: litellm}}}"
    assert of("rotation", examined(named(shared), workers=2))[0][0] == "ok"


def test_workers_without_redis_are_reported() -> None:
    assert of("redis", examined(pool(2), workers=2))[0][0] == "warning"
    assert of("redis", examined(pool(2), workers=1))[0][0] == "ok"
    assert of("redis", examined(pool(1), workers=2))[0][0] == "ok"
    assert of("redis", examined(pool(2, "router_settings: {redis_url: 'redis://x'}"), workers=2)) == []
