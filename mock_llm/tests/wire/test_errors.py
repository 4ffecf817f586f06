from __future__ import annotations

import orjson
import pytest

from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire import errors


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (404, "invalid_request_error"), (503, "server_error")],
)
def test_an_error_of_openai(status: int, kind: str) -> None:
    error = orjson.loads(errors.openai(status, 'no "way"', "model", "why"))
    assert error == {"error": {"message": 'no "way"', "type": kind, "param": "model", "code": "why"}}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (402, "billing_error"),
        (404, "not_found_error"),
        (418, "invalid_request_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_an_error_of_anthropic(status: int, kind: str) -> None:
    error = orjson.loads(errors.anthropic(status, "no"))
    assert error == {"type": "error", "error": {"type": kind, "message": "no"}}


@pytest.mark.parametrize("of_anthropic", [True, False])
def test_a_bad_request(of_anthropic: bool) -> None:  # noqa: FBT001
    error = BadRequest(400, "no", "model", "why")
    expected = errors.anthropic(400, "no") if of_anthropic else errors.openai(400, "no", "model", "why")
    assert errors.bad_request(error, of_anthropic=of_anthropic) == expected
