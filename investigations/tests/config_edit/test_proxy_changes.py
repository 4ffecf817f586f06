"""Changes that `evenkeel init` makes to a proxy's YAML."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest
import yaml

from evenkeel_lab.config_edit.proxy_changes import PLUGIN, changed
from evenkeel_lab.errors import WrongUse
from litellm_evenkeel.settings import settings

CONFIG = """\
# our proxy
include: [more.yaml]
model_list:
  - model_name: gpt-4o      # the first account
    litellm_params:
      model: openai/gpt-4o
      api_key: os.environ/OPENAI_API_KEY_ACME
  - model_name: gpt-4o
    litellm_params: {model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY_BETA}
    model_info: {id: second}
  - model_name: gpt-4o
    litellm_params:
      model: azure/gpt-4o
      api_base: https://east.example.com
      api_key: "sk-not-shown"
    model_info:
      account: east
  - model_name: gpt-4o
    litellm_params:
      model: openai/gpt-4o
      api_key: os.environ/OPENAI_API_KEY_ACME   # again

litellm_settings:
  callbacks: ["prometheus", my_module.callback]
  cache: true
  cache_params: {type: redis, url: os.environ/REDIS_URL}
"""


def test_a_configuration_gets_names_retries_callbacks_and_a_section() -> None:
    text, changes = changed(CONFIG)
    values = yaml.safe_load(text)
    accounts = [deployment["model_info"]["account"] for deployment in values["model_list"]]
    assert accounts == ["openai-acme", "openai-beta", "east", "openai-acme"]
    assert values["model_list"][1]["model_info"]["id"] == "second"
    assert values["litellm_settings"]["callbacks"] == [
        "litellm_evenkeel.proxy.prometheus",
        "my_module.callback",
        "litellm_evenkeel.proxy.rotation",
        "litellm_evenkeel.proxy.journal",
    ]
    assert values["include"] == ["more.yaml"]
    assert values["evenkeel"]["rotation"]["shared"]["redis_url"] == "litellm"
    settings(values["evenkeel"], {})
    assert len(changes) == 4
    removed = [line for line in CONFIG.splitlines() if line not in text.splitlines()]
    assert all("model_info" in line or "callbacks" in line for line in removed), removed


def test_a_configuration_that_has_the_plugin_stays_as_it_is() -> None:
    text, _ = changed(CONFIG)
    assert changed(text)[0] == text


def test_retries_are_raised_only_if_there_are_too_few() -> None:
    deployments = [
        {"model_name": "a", "litellm_params": {"model": "openai/a", "api_key": f"k{number}"}} for number in range(6)
    ]
    text, _ = changed(yaml.safe_dump({"model_list": deployments}))
    assert yaml.safe_load(text)["router_settings"]["num_retries"] == 5
    text, _ = changed(yaml.safe_dump({"model_list": deployments, "router_settings": {"num_retries": 9}}))
    assert yaml.safe_load(text)["router_settings"]["num_retries"] == 9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "line 1: this is not YAML"),
        ("a: b: c", "line 1: this is not YAML: mapping values"),
        ("- a\n- b\n", "not a proxy's configuration"),
        ("", "not a proxy's configuration"),
    ],
)
def test_what_is_no_configuration_is_an_error(text: str, words: str) -> None:
    with pytest.raises(WrongUse, match=words):
        changed(text)


def samples() -> list[Path]:
    package = util.find_spec("litellm")
    assert package is not None
    assert package.origin is not None
    folder = Path(package.origin).parent
    return [path for path in sorted(folder.rglob("*.yaml")) if "\nmodel_list:" in f"\n{path.read_text()}"]


@pytest.mark.parametrize("path", samples(), ids=lambda path: path.name)
def test_samples_of_litellm_keep_everything_that_they_have(path: Path) -> None:
    before = path.read_text()
    text, _ = changed(before)
    old, new = yaml.safe_load(before), yaml.safe_load(text)
    assert changed(text)[0] == text
    for name, value in old.items():
        if name not in {"model_list", "litellm_settings", "router_settings"}:
            assert new[name] == value
    for was, is_now in zip(old["model_list"], new["model_list"], strict=True):
        assert was.items() <= {**is_now, "model_info": was.get("model_info")}.items() or not was.get("model_info")
    assert "litellm_evenkeel.proxy.rotation" in new["litellm_settings"]["callbacks"]


@pytest.mark.parametrize(
    "callbacks",
    ["callbacks: [foo, bar,]", "callbacks:", "callbacks: null", "callbacks: ~", "callbacks: ''", "callbacks: foo"],
)
def test_callbacks_are_added_however_the_list_is_written(callbacks: str) -> None:
    before = (yaml.safe_load(f"{callbacks}\n")["callbacks"] or []) if "foo" in callbacks else []
    own = [before] if isinstance(before, str) else before
    after = yaml.safe_load(changed(f"litellm_settings:\n  {callbacks}\n")[0])
    assert after["litellm_settings"]["callbacks"] == [*own, *PLUGIN]


@pytest.mark.parametrize("variable", ["KEY_2", "NO", "KEY_NULL", "ON"])
def test_the_name_of_an_account_is_a_text(variable: str) -> None:
    text = f"model_list:\n  - litellm_params: {{model: openai/a, api_key: os.environ/{variable}}}\n"
    (deployment,) = yaml.safe_load(changed(text)[0])["model_list"]
    assert isinstance(deployment["model_info"]["account"], str)


@pytest.mark.parametrize(
    "text",
    [
        # Two deployments share a mapping, so both would have the account that is written into it.
        """\
model_list:
  - {model_name: a, litellm_params: {model: openai/x, api_key: os.environ/K1}, model_info: &i {mode: chat}}
  - {model_name: a, litellm_params: {model: openai/x, api_key: os.environ/K2}, model_info: *i}
""",
        "litellm_settings: {callbacks: [a]}\nlitellm_settings: {callbacks: [b]}\n",
        "base: &b {callbacks: [foo]}\nlitellm_settings:\n  <<: *b\n",
        "{model_list: []}\n",
        "model_list: []\n...\n",
        "litellm_settings: foo\n",
        "router_settings: [a]\n",
        "litellm_settings: {callbacks: [prometheus], success_callback: [prometheus]}\n",
    ],
)
def test_unusual_yaml_is_refused_rather_than_changed_wrongly(text: str) -> None:
    with pytest.raises(WrongUse):
        changed(text)
