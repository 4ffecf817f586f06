from __future__ import annotations

import orjson
import pytest

from evenkeel_mock import wire
from evenkeel_mock.wire.answer import LENGTH, STOP, TOOL, Request, Tool, compose

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def request(**options: object) -> Request:
    return Request("m", ["hi"], 1, "hi there", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [0, 1, 8, 9, 8192, 8193, 20_000])
def test_it_is_as_long_as_it_shall_be(length: int) -> None:
    answer = compose(request(), b"1", 1, length)
    assert len(answer.pieces) == answer.completion_tokens == length
    assert len(b"".join(answer.pieces).split()) == length


@pytest.mark.parametrize(
    ("length", "limit", "cut", "tokens", "finish"),
    [(5, None, False, 5, STOP), (5, 5, False, 5, STOP), (5, 4, False, 4, LENGTH), (5, 5, True, 5, LENGTH)],
)
def test_why_it_ends(length: int, limit: int | None, cut: bool, tokens: int, finish: str) -> None:  # noqa: FBT001
    answer = compose(request(max_tokens=limit), b"1", 1, length, cut=cut)
    assert (answer.completion_tokens, answer.finish) == (tokens, finish)


def test_what_is_cut_says_nothing_of_an_answer_that_is_as_long_as_it_is() -> None:
    assert compose(request(max_tokens=5), b"1", 1, 5, cut=True, echo=True).finish == STOP


def test_an_echo_of_nothing_is_empty() -> None:
    answer = compose(Request("m", [], 1), b"1", 1, 5, echo=True)
    assert (list(answer.pieces), answer.completion_tokens, answer.finish) == ([], 0, STOP)


def test_a_call_goes_before_json_and_json_before_an_echo() -> None:
    tool = Tool("f", SCHEMA)
    forced = compose(request(tool=tool, forced=True, schema=SCHEMA), b"1", 1, 5, echo=True)
    assert forced.call is not None
    assert (forced.finish, orjson.loads(forced.call.arguments)) == (TOOL, {"a": 1})
    shaped = compose(request(tool=tool, schema=SCHEMA), b"1", 1, 5, echo=True)
    assert (shaped.call, b"".join(shaped.pieces)) == (None, rb"{\"a\":1}")


def test_every_name_that_is_promised_is_there() -> None:
    assert all(hasattr(wire, name) for name in wire.__all__)
