from __future__ import annotations

import pytest

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.model import deployment as module
from litellm_evenkeel.rotation.model.account import AccountSettings
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec, ParsedSettings
from litellm_evenkeel.rotation.model.limits import Limits

RPM = Limits.of({"rpm": 5}, "here")
TPM = Limits.of({"tpm": 7}, "here")


def deployment(about: dict[str, object] | None = None, **params: object) -> dict[str, object]:
    return {
        "model_name": "g",
        "litellm_params": {"model": "openai/m", **params},
        "model_info": {"id": "d", **(about or {})},
    }


def test_without_anything_said_it_is_free() -> None:
    spec = DeploymentSpec.from_litellm(deployment(), {})
    assert (spec.id, spec.model, spec.weight, spec.priority) == ("d", "openai/m", 1.0, 1)
    assert spec.limits == spec.model_limits == Limits()
    assert spec.account.startswith("acct-")
    assert DeploymentSpec.from_litellm({}, {}).id == ""


def test_what_stands_in_model_info_is_read() -> None:
    about = {"account": "a", "weight": 3, "priority": 2, "limits": {"rpm": 5}, "model_limits": {"tpm": 7}}
    spec = DeploymentSpec.from_litellm(deployment(about), {})
    assert (spec.account, spec.weight, spec.priority, spec.limits, spec.model_limits) == ("a", 3.0, 2, RPM, TPM)


def test_what_settings_say_of_an_account_counts_more() -> None:
    terms = {"a": AccountSettings(weight=9.0, limits=TPM, models={"g": RPM})}
    spec = DeploymentSpec.from_litellm(
        deployment({"account": "a", "weight": 3, "priority": 2, "limits": {"rpm": 5}}), terms
    )
    assert (spec.weight, spec.priority, spec.limits, spec.model_limits) == (9.0, 2, TPM, RPM)


def test_litellms_own_limits_are_the_models() -> None:
    spec = DeploymentSpec.from_litellm(deployment(rpm=5, max_parallel_requests=3), {})
    assert spec.model_limits == Limits.of({"rpm": 5, "concurrent": 3}, "here")


def test_of_a_wildcard_the_model_is_what_was_asked_for() -> None:
    one = {"litellm_params": {"model": "openai/*"}, "model_info": {"id": "d"}}
    assert DeploymentSpec.from_litellm(one, {}, "openai/gpt-4o").model == "openai/gpt-4o"
    assert DeploymentSpec.from_litellm(one, {}).model == "openai/*"


@pytest.mark.parametrize("about", [{"weight": 0}, {"weight": "much"}, {"limits": {"rpms": 3}}, {"priority": -1}])
def test_what_cannot_be_is_refused_with_its_place_and_without_any_key(about: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="model_info of a deployment of 'g'") as refused:
        DeploymentSpec.from_litellm(deployment(about, api_key="sk-hush"), {})
    assert "hush" not in str(refused.value)


def test_what_litellm_reads_too_is_read_as_leniently() -> None:
    params = {"model": "openai/m", "rpm": "100", "tpm": "many", "max_parallel_requests": 4.0}
    spec = DeploymentSpec.from_litellm({"litellm_params": params, "model_info": {"id": "a"}}, {})
    assert spec.model_limits == Limits.of({"rpm": 100, "concurrent": 4}, "")


def test_what_is_written_alike_is_read_once() -> None:
    memo = ParsedSettings(Limits.of)
    one = memo.parse({"rpm": 5, "windows": [{"for": "5h", "tokens": 7}]}, "here")
    assert memo.parse({"rpm": 5, "windows": [{"for": "5h", "tokens": 7}]}, "there") is one


def test_what_only_resembles_it_is_something_else() -> None:
    memo: ParsedSettings[object] = ParsedSettings(lambda told, _: [told])
    read = [memo.parse({"rpm": told}, "") for told in (1, True, "1", 1.0)]
    assert [str(one) for one in read] == ["[{'rpm': 1}]", "[{'rpm': True}]", "[{'rpm': '1'}]", "[{'rpm': 1.0}]"]


def test_what_is_wrong_is_so_each_time_and_where_it_stands_is_named() -> None:
    memo = ParsedSettings(Limits.of)
    for where in ("here", "there"):
        with pytest.raises(SettingsError, match=where):
            memo.parse({"rpms": 5}, where)


def test_not_everything_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PARSED", 3)
    read: list[object] = []

    def reads(told: object, _: str) -> int:
        read.append(told)
        return len(read)

    memo = ParsedSettings(reads)
    for told in (1, 2, 3, 4, 4, 1):
        memo.parse(told, "")
    assert read == [1, 2, 3, 4, 1]
