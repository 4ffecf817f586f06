"""The mock's answers, as a client sees them."""

from __future__ import annotations

import orjson
import pytest

from evenkeel_mock.completion import DONE, WORDS, BadRequest, ChatRequest, chunks, completion

BODY = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "x" * 40}]}


def parsed(**fields: object) -> ChatRequest:
    return ChatRequest.parse(orjson.dumps(BODY | fields))


def test_a_whole_answer() -> None:
    answer = orjson.loads(completion(parsed(), "7"))
    assert answer["choices"][0]["message"]["content"] == " ".join(WORDS)
    assert answer["usage"] == {"prompt_tokens": 10, "completion_tokens": 8, "total_tokens": 18}
    assert answer["id"] == "chatcmpl-7"


@pytest.mark.parametrize("include_usage", [True, False])
def test_a_stream_adds_up_to_the_same_answer(include_usage: bool) -> None:  # noqa: FBT001
    events = list(chunks(parsed(stream=True, stream_options={"include_usage": include_usage}), "7"))
    assert events[-1] == DONE
    parts = [orjson.loads(event.removeprefix(b"data: ")) for event in events[:-1]]
    said = "".join(choice["delta"].get("content", "") for part in parts for choice in part["choices"])
    assert said == " ".join(WORDS)
    assert ("usage" in parts[-1]) is include_usage


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"model": 1}', b'{"model": "m"}', b'{"model": "m", "messages": []}']
)
def test_a_bad_request_says_why(body: bytes) -> None:
    with pytest.raises(BadRequest, match=r".+"):
        ChatRequest.parse(body)
