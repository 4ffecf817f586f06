"""The rotation in a real router of the installed LiteLLM, over the mock provider."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import sys
import threading
import traceback
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.litellm_router import deployments_of, remaining_usage
from litellm_evenkeel.rotation.state.cooldown import HealthState

if TYPE_CHECKING:
    from conftest import Rig

# LiteLLM warns of its own types, once for each.
pytestmark = pytest.mark.filterwarnings("ignore")

MODEL = "gpt-4o-mini"
LONG = [{"role": "user", "content": "ahoy " * 4000}]


def another(number: int) -> list[dict[str, str]]:
    """Return messages of another session."""
    return [{"role": "user", "content": f"ahoy {number}"}]


def ids(deployments: list[Any]) -> list[str]:
    return [one["model_info"]["id"] for one in deployments]


async def test_the_hook_returns_one_of_the_very_deployments(rig: Rig) -> None:
    rig.start()
    listed = rig.listed()
    before = list(listed)
    (found,) = await rig.filter(deployments=listed)
    assert any(found is one for one in listed)
    assert listed == before
    assert await rig.filter(deployments=[]) == []
    assert rig.errors == {}


async def test_requests_are_answered_and_what_they_used_is_known(rig: Rig) -> None:
    rig.start([rig.deployment(name, limits={"tpm": 10_000}) for name in "ab"])
    answers = await asyncio.gather(*(rig.ask() for _ in range(20)))
    total = sum(answer.usage.total_tokens for answer in answers)
    windows = [place.account.windows[0] for place in rig.account_router.pool.deployments.values()]
    assert sum(10_000 - window.available(rig.account_router.pool.now()) for window in windows) == total
    assert rig.under_way() == 0
    assert set(await rig.asked()) == {"a", "b"}


async def test_a_deployment_that_is_only_selected_counts_for_nothing(rig: Rig) -> None:
    """LiteLLM selects a deployment to count tokens, and sends no request."""
    rig.start([rig.deployment(name, limits={"rpm": 50}) for name in "ab"], rotation={"strategy": "round_robin"})
    await rig.fails(a="status=401")
    for number in range(2):
        await rig.ask(messages=another(number))
    pool = rig.account_router.pool
    window = pool.scopes["b", None].windows[0]
    left = window.available(pool.now())
    for _ in range(9):
        selected = await asyncio.create_task(rig.router.async_get_available_deployment(model=MODEL, request_kwargs={}))
        assert selected["model_info"]["id"] == "b"
    assert window.available(pool.now()) == left
    assert (rig.under_way(), rig.errors) == (0, {})


async def test_embeddings_are_spread_too(rig: Rig) -> None:
    rig.start()
    request = {"model": "gpt-4o-mini", "input": ["ahoy"], "litellm_call_id": "e"}
    answer = await asyncio.create_task(rig.router.aembedding(**request))
    assert answer.data
    await asyncio.sleep(0)
    assert (rig.under_way(), rig.errors) == (0, {})


async def test_a_retry_goes_to_another_account(rig: Rig) -> None:
    rig.start(rotation={"strategy": "round_robin"})
    await rig.fails(a="status=503", b="status=429,retry_after=60", c="status=401")
    for number in range(6):
        answer = await rig.ask(messages=another(number))
        assert answer._hidden_params["model_id"] == "d"
    asked = await rig.asked()
    # What is known to be held is not asked again; failures of the moment may be forgiven, but not for ever.
    assert (asked["b"], asked["c"], asked["d"]) == (1, 1, 6)
    assert asked["a"] <= 3
    states = {
        name: rig.account_router.pool.scopes[name, None].cooldown.state(rig.account_router.pool.now()) for name in "cd"
    }
    assert states == {"c": HealthState.QUARANTINED, "d": HealthState.HEALTHY}
    assert (rig.under_way(), rig.errors) == (0, {})


async def test_no_account_is_asked_twice_for_one_request_while_another_is_left(rig: Rig) -> None:
    import litellm  # noqa: PLC0415

    rig.start(num_retries=3)
    await rig.fails(a="status=500", b="status=500", c="status=500", d="status=500")
    with pytest.raises(litellm.InternalServerError):
        await rig.ask()
    assert await rig.asked() == dict.fromkeys("abcd", 1)
    assert rig.under_way() == 0


async def test_what_a_retry_skips_is_skipped(rig: Rig) -> None:
    rig.start()
    for _ in range(20):
        assert ids(await rig.filter({"_retry_skipped_deployment_ids": ("a", "b", "c")})) == ["d"]
    # If there is no other, one of them is better than none.
    assert len(await rig.filter({"_retry_skipped_deployment_ids": tuple("abcd")})) == 1


async def test_what_is_excluded_is_never_chosen(rig: Rig) -> None:
    rig.start()
    for _ in range(20):
        assert ids(await rig.filter({"_excluded_deployment_ids": ["a", "c", "d"]})) == ["b"]
    listed = rig.listed()
    assert await rig.filter({"_excluded_deployment_ids": list("abcd")}, listed) is listed
    assert rig.errors == {}


async def test_tags_are_honoured(rig: Rig) -> None:
    rig.start(
        [rig.deployment(name, params={"tags": [tag]}) for name, tag in zip("abcd", ["free", "paid"] * 2, strict=True)],
        enable_tag_filtering=True,
    )
    for _ in range(10):
        answer = await rig.ask(metadata={"tags": ["paid"]})
        assert answer._hidden_params["model_id"] in {"b", "d"}
    with pytest.raises(ValueError, match="tag"):
        await rig.ask(metadata={"tags": ["unheard of"]})
    # That is LiteLLM's own refusal, and no error of the plugin.
    assert rig.errors == {}


async def test_the_order_that_an_operator_wrote_is_honoured(rig: Rig) -> None:
    rig.start([rig.deployment(name, params={"order": order}) for name, order in zip("abcd", [2, 1, 1, 2], strict=True)])
    for _ in range(10):
        assert (await rig.ask())._hidden_params["model_id"] in {"b", "c"}
    assert rig.errors == {}


class LeavesOneModel:
    """A routing plugin of an operator's."""

    def __init__(self, model: str) -> None:
        self.model = model

    async def run(self, context: Any) -> Any:
        context.candidate_models = [one for one in context.candidate_models if one == self.model]
        return context


async def test_the_rotation_chooses_among_what_routing_plugins_leave(rig: Rig) -> None:
    rig.start(
        [rig.deployment("a", params={"model": "openai/gpt-4o"}), rig.deployment("b"), rig.deployment("c")],
        rotation={"strategy": "round_robin"},
        plugins=[LeavesOneModel("openai/gpt-4o-mini")],
    )
    found = [(await rig.ask(messages=another(number)))._hidden_params["model_id"] for number in range(8)]
    assert sorted(found) == ["b"] * 4 + ["c"] * 4
    assert (rig.under_way(), rig.errors) == (0, {})


async def test_a_client_that_writes_what_routing_plugins_would_leave_changes_nothing(rig: Rig) -> None:
    rig.start()
    left = {"_routing_plugin_candidate_models": ["openai/none"]}
    assert len(await rig.filter({"metadata": left})) == 1
    assert rig.errors == {}


async def test_a_call_on_a_video_goes_to_the_account_that_made_it(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    narrowing = importlib.import_module("litellm_evenkeel.rotation.litellm_filters")
    # As they are since LiteLLM 1.108.
    monkeypatch.setattr(narrowing, "_VIDEO_CALL_TYPES", frozenset({"avideo_status"}))
    monkeypatch.setattr(narrowing.videos, "decode_video_id_with_provider", lambda told: {"deployment_id": told})
    rig.start([rig.deployment(name) for name in "abc"], rotation={"strategy": "round_robin"})

    async def chosen(call_type: str, video_id: object) -> set[str]:
        about = {"video_id": video_id, "litellm_logging_obj": SimpleNamespace(call_type=call_type)}
        found = [
            await rig.filter({**about, "metadata": {"session_id": f"{call_type} {video_id} {number}"}})
            for number in range(6)
        ]
        return {one["model_info"]["id"] for (one,) in found}

    assert await chosen("avideo_status", "b") == {"b"}
    assert await chosen("avideo_status", "gone") == {"a", "b", "c"}
    # Whatever the body of another call has.
    assert await chosen("acompletion", "b") == {"a", "b", "c"}
    assert rig.errors == {}


async def test_a_response_is_continued_by_the_account_that_made_it(rig: Rig) -> None:
    utilities = importlib.import_module("litellm.responses.utils").ResponsesAPIRequestUtils
    rig.start([rig.deployment(name) for name in "abc"], rotation={"strategy": "round_robin"})

    async def chosen(response_id: object, call_type: str = "aresponses", **more: Any) -> set[str]:
        about = {"previous_response_id": response_id, "litellm_logging_obj": SimpleNamespace(call_type=call_type)}
        picked = [
            await rig.filter({**about, **more, "metadata": {"session_id": f"{response_id} {call_type} {number}"}})
            for number in range(6)
        ]
        return {deployment["model_info"]["id"] for (deployment,) in picked}

    def made_by(name: str) -> str:
        return str(utilities._build_responses_api_response_id("openai", name, "resp_1"))

    everyone = {"a", "b", "c"}
    assert await chosen(made_by("b")) == {"b"}
    for response_id in (made_by("gone"), "resp_1", "", None, 7):
        assert await chosen(response_id) == everyone
    # In a request of another kind, it is only a field of the body.
    assert await chosen(made_by("b"), call_type="acompletion") == everyone
    # LiteLLM tries another deployment after a failure.
    assert await chosen(made_by("b"), _excluded_deployment_ids=["b"]) == {"a", "c"}
    assert rig.errors == {}


async def test_a_deployment_whose_budget_is_used_up_is_not_chosen(rig: Rig) -> None:
    budget = {"max_budget": 1.0, "budget_duration": "1d"}
    rig.start([rig.deployment("a", params=budget), rig.deployment("b")], num_retries=0)
    await rig.router.cache.async_set_cache("deployment_spend:a:1d", 2.0)
    for _ in range(5):
        assert (await rig.ask())._hidden_params["model_id"] == "b"
    rig.start([rig.deployment("a", params=budget)], num_retries=0)
    await rig.router.cache.async_set_cache("deployment_spend:a:1d", 2.0)
    with pytest.raises(Exception, match="budget"):
        await rig.ask()
    assert rig.errors == {}


async def test_what_pre_call_checks_would_drop_is_not_chosen(rig: Rig) -> None:
    import litellm  # noqa: PLC0415

    rig.start(
        [
            *(rig.deployment(name, max_input_tokens=100) for name in "abc"),
            rig.deployment("d", params={"model": "openai/gpt-4o"}),
        ],
        enable_pre_call_checks=True,
    )
    for _ in range(5):
        assert (await rig.ask(messages=LONG))._hidden_params["model_id"] == "d"
    assert rig.errors == {}
    rig.start([rig.deployment("a", max_input_tokens=100)], enable_pre_call_checks=True)
    with pytest.raises(litellm.ContextWindowExceededError):
        await rig.ask(messages=LONG)
    assert rig.errors == {}


async def test_tokens_are_not_counted_in_the_loop(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.start(enable_pre_call_checks=True)
    threads: list[threading.Thread] = []
    # Since LiteLLM 1.110, tokens are counted within the checks.
    is_counted_apart = hasattr(rig.router, "_acount_pre_call_check_tokens")
    name = "_count_pre_call_check_tokens" if is_counted_apart else "_pre_call_checks"
    count = getattr(rig.router, name)

    def counting(*args: object, **named: object) -> Any:
        threads.append(threading.current_thread())
        return count(*args, **named)

    monkeypatch.setattr(rig.router, name, counting)
    await rig.ask()
    assert threads
    assert threading.current_thread() not in threads
    assert rig.errors == {}


def counted(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each call of the hook adds its model."""
    calls: list[str] = []
    hook = rig.rotation.async_filter_deployments

    async def counting(model: str, *args: object, **named: object) -> object:
        calls.append(model)
        return await hook(model, *args, **named)

    monkeypatch.setattr(rig.rotation, "async_filter_deployments", counting)
    return calls


async def test_a_refusal_is_a_429_that_says_when_to_come_back_and_is_not_retried(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    import litellm  # noqa: PLC0415

    rig.start([rig.deployment(name, limits={"rpm": 1}) for name in "ab"])
    await rig.ask()
    await rig.ask()
    calls = counted(rig, monkeypatch)
    with pytest.raises(litellm.RateLimitError) as refused:
        await rig.ask()
    assert refused.value.status_code == 429
    assert 1 <= int(refused.value.headers["retry-after"]) <= 62
    assert "a limit is used up" in str(refused.value)
    assert len(calls) == 1
    assert (rig.under_way(), rig.errors) == (0, {})


async def test_a_providers_rejection_gets_a_retry_after(rig: Rig) -> None:
    import litellm  # noqa: PLC0415

    rig.start(rotation={"queue_timeout": 0}, num_retries=0)
    request, error = rig.logged(), litellm.RateLimitError("429", llm_provider="", model=MODEL)
    hook = rig.rotation.async_post_call_failure_hook
    await rig.fails(**dict.fromkeys("abcd", "status=429"))
    with pytest.raises(litellm.RateLimitError):
        await rig.ask(**request)
    # LiteLLM passes on a copy of the exception.
    await hook(request, error, None)
    assert 1 <= int(error.headers["retry-after"]) <= 60
    of_no_attempt = litellm.RateLimitError("429", llm_provider="", model=MODEL)
    await hook(rig.logged(), of_no_attempt, None)
    assert not getattr(of_no_attempt, "headers", None)
    await hook({}, of_no_attempt, None)
    assert rig.errors == {}


async def test_a_rejection_says_when_any_account_may_be_available(rig: Rig) -> None:
    import litellm  # noqa: PLC0415

    rig.start(rotation={"queue_timeout": 0}, num_retries=0)
    await rig.fails(**dict.fromkeys("abcd", "status=429,retry_after=7"))
    found = []
    for number in range(4):
        request = rig.logged(messages=another(number))
        with pytest.raises(litellm.RateLimitError) as rejected:
            await rig.ask(**request)
        await rig.rotation.async_post_call_failure_hook(request, rejected.value, None)
        found.append(int(rejected.value.headers["retry-after"]))
    # Until the last one has rejected a request, another account is available at once.
    assert found[:3] == [1, 1, 1]
    assert 6 <= found[3] <= 9


async def test_a_refusal_is_not_counted_against_a_deployment(rig: Rig) -> None:
    import litellm  # noqa: PLC0415
    from litellm.router_utils.cooldown_handlers import _async_get_cooldown_deployments  # noqa: PLC0415

    rig.start([rig.deployment(name, limits={"rpm": 1}) for name in "ab"], rotation={"litellm_cooldowns": True})
    await rig.ask()
    await rig.ask()
    for number in range(5):
        with pytest.raises(litellm.RateLimitError):
            await rig.ask(messages=another(number))
    assert await _async_get_cooldown_deployments(litellm_router_instance=rig.router, parent_otel_span=None) == []


async def test_after_a_refusal_fallbacks_are_tried(rig: Rig) -> None:
    rig.start(
        [rig.deployment("a", limits={"rpm": 1}), rig.deployment("b", group="spare")],
        fallbacks=[{"gpt-4o-mini": ["spare"]}],
    )
    await rig.ask()
    answer = await rig.ask()
    assert answer._hidden_params["model_id"] == "spare-b"
    assert (rig.under_way(), rig.errors) == (0, {})


async def test_when_all_have_died_it_is_said(rig: Rig) -> None:
    import litellm  # noqa: PLC0415

    rig.start()
    await rig.fails(**dict.fromkeys("abcd", "status=401"))
    for _ in range(2):
        with pytest.raises(litellm.ServiceUnavailableError, match="quarantined") as rejected:
            await rig.ask()
        # The errors of earlier attempts may quote the prompt.
        assert "AuthenticationError" not in "".join(traceback.format_exception(rejected.value))
    assert await rig.asked() == dict.fromkeys("abcd", 1)


async def test_of_one_account_a_retry_is_no_death(rig: Rig) -> None:
    import litellm  # noqa: PLC0415

    rig.start([rig.deployment("a")], num_retries=1)
    await rig.fails(a="status=429,retry_after=1")
    with pytest.raises(litellm.RateLimitError):
        await rig.ask()


async def test_who_waits_is_served_within_its_time(rig: Rig) -> None:
    rig.start([rig.deployment("a", limits={"concurrent": 1})], rotation={"queue_timeout": 20})
    await asyncio.gather(*(rig.ask() for _ in range(12)))
    assert (rig.under_way(), rig.errors) == (0, {})
    assert rig.account_router.admission.queue.lengths() == {}


async def test_one_deployment_that_is_asked_for_by_its_id_is_left_alone(rig: Rig) -> None:
    rig.start()
    answer = await rig.ask(model="c")
    assert answer._hidden_params["model_id"] == "c"
    assert (rig.under_way(), rig.errors) == (0, {})


async def test_an_error_of_the_plugin_leaves_the_choice_to_litellm(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from litellm.exceptions import RateLimitError  # noqa: PLC0415

    rig.start()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("what a client wrote")

    monkeypatch.setattr(rig.account_router.pool, "pick", broken)
    monkeypatch.setattr(rig.account_router, "on_failure", broken)
    await rig.fails(a="status=429")
    with caplog.at_level(logging.INFO, "litellm_evenkeel.rotation"):
        served = 0
        for _ in range(12):
            # LiteLLM draws, and may draw the one that fails each time.
            with contextlib.suppress(RateLimitError):
                served += bool((await rig.ask()).choices)
    assert served >= 6
    assert rig.errors["choosing"] >= 12
    told = [record.getMessage() for record in caplog.records if record.name.startswith("litellm_evenkeel")]
    # Once, and not a word of what it was about.
    assert len(told) == 1
    assert "RuntimeError" in told[0]
    assert "what a client wrote" not in caplog.text


async def test_litellms_own_cooldowns_are_off_unless_an_operator_wants_them(rig: Rig) -> None:
    from litellm.router_utils.cooldown_handlers import _async_get_cooldown_deployments  # noqa: PLC0415

    for wanted in (False, True):
        rig.start(rotation={"litellm_cooldowns": wanted, "strategy": "round_robin"})
        await rig.fails(a="status=429,retry_after=60", b="status=429,retry_after=60")
        for number in range(4):
            await rig.ask(messages=another(number))
        cooled = await _async_get_cooldown_deployments(litellm_router_instance=rig.router, parent_otel_span=None)
        assert bool(cooled) == wanted


async def test_the_rotation_chooses_though_litellms_cooldowns_cannot_be_switched_off(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("litellm_evenkeel.rotation.litellm_callback")

    def refuse(_: object) -> None:
        raise RuntimeError("the router declines it")

    monkeypatch.setattr(module, "disable_cooldowns", refuse)
    rig.start()
    for number in range(3):
        assert len(await rig.filter({"metadata": {"session_id": str(number)}})) == 1
    assert sum(rig.errors.values()) == 1


async def test_nothing_that_litellm_has_deprecated_is_used(rig: Rig) -> None:
    uses = getattr(sys.modules.get("litellm.router_deprecated"), "DEPRECATED_ROUTER_MEMBER_USES", Counter())
    rig.start([rig.deployment(name, params={"tags": ["t"]}) for name in "ab"], enable_pre_call_checks=True)
    before = uses.copy()
    await rig.ask(metadata={"tags": ["t"]})
    assert deployments_of(rig.router, MODEL)
    await remaining_usage(rig.router, MODEL)
    assert uses == before
    assert rig.errors == {}


async def test_a_new_router_is_noticed(rig: Rig) -> None:
    import litellm  # noqa: PLC0415

    rig.start()
    await rig.ask()
    other = litellm.Router(model_list=[rig.deployment("b")])
    sys.modules["litellm.proxy.proxy_server"].llm_router = other
    rig.router = other
    await rig.ask()
    assert other.disable_cooldowns


def test_the_credentials_of_clients_are_those_that_litellm_knows() -> None:
    from litellm_evenkeel.rotation.litellm_callback import CLIENT_CREDENTIALS  # noqa: PLC0415

    try:
        from litellm.litellm_core_utils import clientside_credential_handler as handler  # noqa: PLC0415
    except ImportError:
        handler = importlib.import_module("litellm.router_utils.clientside_credential_handler")
    assert sorted(CLIENT_CREDENTIALS) == sorted(handler.clientside_credential_keys)


async def test_a_deployment_that_changes_is_used_as_it_is_now(rig: Rig) -> None:
    from litellm.types.router import Deployment  # noqa: PLC0415

    rig.start()
    await rig.ask()
    rig.router.upsert_deployment(Deployment(**rig.deployment("b", limits={"rpm": 1})))
    rig.router.delete_deployment("a")
    rig.router.delete_deployment("c")
    for _ in range(10):
        await rig.ask()
    asked = await rig.asked()
    assert asked["b"] <= 2
    assert asked["d"] >= 8
    assert rig.errors == {}


async def test_the_account_is_named_in_answers_if_an_operator_wants_that(rig: Rig) -> None:
    rig.start()
    assert "async_post_call_response_headers_hook" not in type(rig.rotation).__dict__
    rig.start(rotation={"account_header": True})
    request = rig.logged()
    answer = await rig.ask(**request)
    hook = rig.rotation.async_post_call_response_headers_hook
    # The answer itself need not tell: that of /v1/messages does not.
    assert await hook(request, None, None) == {"x-evenkeel-account": answer._hidden_params["model_id"]}
    assert await hook(rig.logged(), None, None) is None
    assert await hook({}, None, None) is None


async def test_what_an_operator_wrote_wrong_is_refused_at_the_start_and_survived_later(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    from litellm.types.router import Deployment  # noqa: PLC0415

    with pytest.raises(SettingsError, match="rpms"):
        rig.start([rig.deployment("a", limits={"rpms": 1})])
    rig.start([rig.deployment("a")])
    rig.router.add_deployment(Deployment(**rig.deployment("b", limits={"rpms": 1})))
    await asyncio.gather(*(rig.ask(messages=another(each)) for each in range(20)))
    assert set(await rig.asked()) == {"a", "b"}
    assert "rpms" in caplog.text
    assert rig.errors == {}


async def test_a_batch_under_one_call_id_is_given_back_in_full(rig: Rig) -> None:
    rig.start([rig.deployment("a"), rig.deployment("b", group="other")])
    await asyncio.gather(
        rig.ask(litellm_call_id="batch"), rig.ask(litellm_call_id="batch", model="other"), rig.ask(litellm_call_id="x")
    )
    assert (rig.under_way(), rig.errors) == (0, {})
    assert await rig.asked() == {"a": 2, "b": 1}


async def test_without_any_setting_a_proxys_line_of_yaml_is_enough(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    import litellm  # noqa: PLC0415

    from litellm_evenkeel import proxy  # noqa: PLC0415

    rig.start()
    made = proxy.rotation
    assert made is proxy.rotation
    monkeypatch.delitem(vars(proxy), "rotation")
    # LiteLLM leaves out callbacks where a client asks for no log, but for those that are its own.
    assert "_PROXY_" in type(made).__name__
    rig.rotation = made
    monkeypatch.setattr(litellm, "callbacks", [made])
    assert (await rig.ask()).choices
