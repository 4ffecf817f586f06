"""Which session a request belongs to, whatever it is made of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.rotation.affinity.session_key import SessionKey, SessionKeyReader
from litellm_evenkeel.rotation.settings import AffinitySettings, KeySource

KEYS = SessionKeyReader(AffinitySettings())
ASK = {"role": "user", "content": "Why is the sky blue?"}
RULES = {"role": "system", "content": "Be brief."}


def request(client: str = "hash", **fields: Any) -> dict[str, Any]:
    metadata = {"user_api_key_hash": client, **fields.pop("metadata", {})}
    return {"metadata": metadata, **fields}


def headers(**told: str) -> dict[str, Any]:
    return {"headers": {name.replace("_", "-"): value for name, value in told.items()}}


def key(**fields: Any) -> SessionKey | None:
    return KEYS.read("gpt", request(**fields))


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({"metadata": {"session_id": "abc"}}, KeySource.SESSION_ID),
        ({"metadata": {"session_id": 7}}, KeySource.SESSION_ID),
        ({"litellm_metadata": {"session_id": "abc"}}, KeySource.SESSION_ID),
        ({"litellm_session_id": "abc"}, KeySource.SESSION_ID),
        ({"proxy_server_request": headers(x_claude_code_session_id="abc")}, KeySource.HEADER),
        ({"proxy_server_request": {"headers": {"session_id": "abc"}}}, KeySource.HEADER),
        ({"prompt_cache_key": "abc", "messages": [ASK]}, KeySource.CACHE_KEY),
        ({"messages": [RULES, ASK]}, KeySource.PROMPT),
        ({"messages": [ASK], "system": [{"type": "text", "text": "Be brief."}]}, KeySource.PROMPT),
        ({"input": "Why?", "instructions": "Be brief."}, KeySource.PROMPT),
        ({"input": [ASK]}, KeySource.PROMPT),
        ({"messages": [RULES]}, KeySource.PROMPT),
    ],
)
def test_a_session_is_known_by_the_first_thing_that_tells_it(fields: dict[str, Any], source: KeySource) -> None:
    found = key(**fields)
    assert found is not None
    assert (found.source, found.model_group, len(found.text)) == (source, "gpt", 32)
    assert key(**fields) == found


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"metadata": {"session_id": ""}},
        {"metadata": {"session_id": " "}},
        {"metadata": {"session_id": True}},
        {"metadata": {"session_id": ["abc"]}},
        {"metadata": {"session_id": 10**5000}},
        # One that LiteLLM has invented for this one request.
        {"metadata": {"session_id": "abc", "litellm_session_id_generated": True}, "litellm_session_id": "abc"},
        {"messages": []},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]},
        # What is embedded is no conversation.
        {"input": ["one", "two"]},
        {"input": "one", "metadata": {"user_api_key_request_route": "/v1/embeddings"}},
        # An end user is often a whole application: off unless asked for.
        {"user": "app"},
    ],
)
def test_a_request_may_have_no_session(fields: dict[str, Any]) -> None:
    assert key(**fields) is None


def test_the_order_is_the_operators() -> None:
    asked = request(metadata={"session_id": "abc"}, user="ann", messages=[ASK])
    for by in ((KeySource.USER, KeySource.SESSION_ID), (KeySource.PROMPT,), (KeySource.HEADER, KeySource.SESSION_ID)):
        found = SessionKeyReader(AffinitySettings(keys=by)).read("gpt", asked)
        assert found is not None
        assert found.source is (KeySource.SESSION_ID if KeySource.HEADER in by else by[0])
    assert SessionKeyReader(AffinitySettings(enabled=False)).read("gpt", asked) is None


def test_no_two_tenants_share_a_session_whatever_they_name_it() -> None:
    told = [
        KEYS.read("gpt", request("one", metadata={"session_id": "abc"})),
        KEYS.read("gpt", request("two", metadata={"session_id": "abc"})),
        KEYS.read("opus", request("one", metadata={"session_id": "abc"})),
        KEYS.read("gpt", request("one", messages=[{"role": "user", "content": "abc"}])),
        KEYS.read("gpt", {"metadata": {"user_api_key_user_id": "one", "session_id": "abc"}}),
        KEYS.read("gpt", {"metadata": {"session_id": "abc"}}),
    ]
    assert len({one.text for one in told if one}) == len(told)


def test_a_growing_conversation_stays_the_same_session() -> None:
    turns = [RULES, ASK, {"role": "assistant", "content": "Rayleigh."}, {"role": "user", "content": "Who?"}]
    assert KEYS.read("gpt", request(), turns[:2]) == KEYS.read("gpt", request(), turns) == key(messages=turns)
    assert key(messages=turns) != key(messages=[RULES, turns[3]])
    assert key(messages=turns) != key(messages=turns[1:])


def test_the_same_prompt_is_the_same_session_in_every_form() -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": ASK["content"]}]}
    developer = {**RULES, "role": "developer"}
    forms: list[dict[str, Any]] = [
        {"messages": [RULES, ASK]},
        {"messages": [developer, parts]},
        {"messages": [ASK], "system": RULES["content"]},
        {"input": ASK["content"], "instructions": RULES["content"]},
        {"input": [developer, parts]},
    ]
    assert len({key(**form) for form in forms}) == 1


def test_where_the_instructions_end_makes_a_difference() -> None:
    one = key(messages=[{"role": "system", "content": "ab"}, {"role": "user", "content": "c"}])
    assert one != key(messages=[{"role": "system", "content": "a"}, {"role": "user", "content": "bc"}])


def test_what_changes_in_each_request_of_claude_code_does_not_count() -> None:
    def asked(volatile: str) -> SessionKey | None:
        system = [{"type": "text", "text": f"x-anthropic-billing-header: cch={volatile}"}, {"text": "You are."}]
        return key(messages=[ASK], system=system)

    assert asked("1") == asked("2")


def test_only_the_beginning_of_something_huge_counts() -> None:
    def huge(end: str) -> SessionKey | None:
        long = "x" * 5_000_000 + end
        return key(messages=[{"role": "system", "content": [{"text": long}] * 1000}, {"role": "user", "content": long}])

    assert huge("1") == huge("2")
    assert key(metadata={"session_id": "x" * 5_000_000}) == key(metadata={"session_id": "x" * 6_000_000})


def test_nothing_readable_is_in_a_key() -> None:
    for fields in ({"metadata": {"session_id": "secret"}}, {"messages": [{"role": "user", "content": "secret"}]}):
        assert "secret" not in repr(key(**fields))


NAMES = st.sampled_from(
    [
        *("metadata", "litellm_metadata", "session_id", "litellm_session_id", "litellm_session_id_generated"),
        *("proxy_server_request", "headers", "x-session-id", "user", "prompt_cache_key", "messages", "input", "system"),
        *("instructions", "role", "content", "text", "user_api_key_hash", "user_api_key_request_route"),
    ]
)
WORDS = st.sampled_from(["user", "system", "/responses", "", "\ud800"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.binary(max_size=3) | st.text(max_size=4) | WORDS,
    lambda inner: st.dictionaries(NAMES, inner, max_size=4) | st.lists(inner, max_size=4),
    max_leaves=20,
)


@given(ANYTHING, ANYTHING)
def test_whatever_a_request_is_made_of_it_has_a_session_or_none(asked: object, messages: object) -> None:
    keys = SessionKeyReader(AffinitySettings(keys=tuple(KeySource)))
    found = keys.read("gpt", asked, messages)
    assert found == keys.read("gpt", asked, messages)
