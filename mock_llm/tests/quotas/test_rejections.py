from __future__ import annotations

import orjson
import pytest

from evenkeel_mock.parsing.durations import DAY, HOUR, MINUTE, NS
from evenkeel_mock.quotas.headers import Dialect
from evenkeel_mock.quotas.limits import AccountLimits, Window
from evenkeel_mock.quotas.reasons import Reason, Rejection
from evenkeel_mock.quotas.rejections import MESSAGES, SHAPES, response, status_rejection
from evenkeel_mock.quotas.windows import UNUSED, admit

NOW = 1_777_936_568 * NS
KEY = "sk-secret-0123456789abcd"


def refused(window: Window, after_ns: int) -> tuple[Rejection, AccountLimits, tuple[int, ...]]:
    limits = AccountLimits(windows=(window,))
    _, state = admit(UNUSED, limits, NOW, 1)
    rejection, state = admit(state, limits, NOW + after_ns, 1)
    assert rejection is not None
    return rejection, limits, state


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("reason", [reason for reason in Reason if reason is not Reason.FAULT])
def test_every_reason_has_its_status_and_shape(reason: Reason, dialect: Dialect) -> None:
    answer = response(Rejection(reason), dialect, NOW, model="gpt-4o", key=KEY)
    status, kind, code, anthropic_kind = SHAPES[reason]
    body = orjson.loads(answer.body)
    assert answer.status == status
    assert ("content-type", "application/json") in answer.headers
    assert body["error"]["message"]
    assert "{" not in body["error"]["message"]
    assert KEY not in answer.body.decode()
    if dialect is Dialect.OPENAI:
        assert set(body) == {"error"}
        assert (body["error"]["type"], body["error"]["code"]) == (kind, code)
        assert "param" in body["error"]
    else:
        assert (body["type"], body["error"]["type"]) == ("error", anthropic_kind)


def test_every_reason_has_a_message() -> None:
    assert set(MESSAGES) == set(Reason) == {*SHAPES, Reason.FAULT}


def test_a_rate_tells_when_to_come_again() -> None:
    rejection, limits, state = refused(Window("rpm", MINUTE * NS, 1), 2_499_500_000)
    answer = response(rejection, Dialect.OPENAI, NOW + 2_499_500_000, limits=limits, state=state, model="gpt-4o")
    headers = dict(answer.headers)
    assert headers["retry-after"] == "58"
    assert headers["retry-after-ms"] == "57501"
    assert headers["x-ratelimit-reset-requests"] == "57.501s"
    assert headers["x-ratelimit-remaining-requests"] == "0"
    assert orjson.loads(answer.body)["error"] == {
        "message": "Rate limit reached for gpt-4o on requests per minute (limit 1, used 1, requested 1). "
        "Please try again in 57.501s.",
        "type": "requests",
        "param": None,
        "code": "rate_limit_exceeded",
    }


def test_a_rate_in_anthropic_words() -> None:
    rejection, limits, state = refused(Window("rpm", MINUTE * NS, 1), NS)
    answer = response(rejection, Dialect.ANTHROPIC, NOW + NS, limits=limits, state=state)
    headers = dict(answer.headers)
    assert (headers["retry-after"], headers["anthropic-ratelimit-requests-reset"]) == ("59", "2026-05-04T23:17:08Z")
    assert orjson.loads(answer.body)["error"]["type"] == "rate_limit_error"


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize(
    ("window", "code", "resets"),
    [
        (Window("5h", 5 * HOUR * NS, 1), "usage_limit_reached", 5 * HOUR),
        (Window("weekly", 7 * DAY * NS, 1), "usage_limit_reached", 7 * DAY),
        (Window("daily", DAY * NS, 1), "insufficient_quota", DAY),
    ],
)
def test_a_quota_tells_its_reset_in_the_body(window: Window, code: str, resets: int, dialect: Dialect) -> None:
    rejection, limits, state = refused(window, NS // 2)
    answer = response(rejection, dialect, NOW + NS // 2, limits=limits, state=state)
    error = orjson.loads(answer.body)["error"]
    assert answer.status == 429
    assert (error["resets_at"], error["resets_in_seconds"]) == (1_777_936_568 + resets, resets)
    assert dict(answer.headers)["retry-after"] == str(resets)
    assert error["type"] == (code if dialect is Dialect.OPENAI else "rate_limit_error")
    if dialect is Dialect.OPENAI:
        assert error["code"] == code


def test_a_reset_between_two_seconds_is_told_as_the_second() -> None:
    rejection = Rejection(Reason.QUOTA, wait_ns=10 * NS + 1, window="5h")
    error = orjson.loads(response(rejection, Dialect.OPENAI, NOW).body)["error"]
    assert (error["resets_at"], error["resets_in_seconds"]) == (1_777_936_568 + 11, 11)


def test_what_waiting_does_not_cure_says_nothing_of_waiting() -> None:
    for reason in (Reason.INVALID_KEY, Reason.BALANCE, Reason.MODEL, Reason.TOO_LARGE, Reason.REVOKED):
        answer = response(Rejection(reason), Dialect.OPENAI, NOW)
        assert not {"retry-after", "retry-after-ms"} & dict(answer.headers).keys()


@pytest.mark.parametrize(("status", "kind"), [(401, "authentication_error"), (403, "permission_error")])
def test_a_revoked_account_answers_as_configured(status: int, kind: str) -> None:
    rejection = AccountLimits(revoked=status).access_rejection("m", NOW)
    assert rejection is not None
    answer = response(rejection, Dialect.ANTHROPIC, NOW)
    assert (answer.status, orjson.loads(answer.body)["error"]["type"]) == (status, kind)
    answer = response(rejection, Dialect.OPENAI, NOW)
    assert (answer.status, orjson.loads(answer.body)["error"]["code"]) == (status, "account_deactivated")


@pytest.mark.parametrize(
    ("status", "openai", "anthropic"),
    [
        (429, "requests", "rate_limit_error"),
        (402, "insufficient_quota", "billing_error"),
        (418, "invalid_request_error", "invalid_request_error"),
        (500, "server_error", "api_error"),
        (503, "server_error", "api_error"),
        (504, "server_error", "timeout_error"),
        (529, "server_error", "overloaded_error"),
    ],
)
def test_a_status_that_was_asked_for(status: int, openai: str, anthropic: str) -> None:
    for dialect, kind in ((Dialect.OPENAI, openai), (Dialect.ANTHROPIC, anthropic)):
        answer = response(status_rejection(status), dialect, NOW)
        assert (answer.status, orjson.loads(answer.body)["error"]["type"]) == (status, kind)
        assert "retry-after" not in dict(answer.headers)
    assert (
        dict(response(status_rejection(status, 1500 * NS // 1000), Dialect.OPENAI, NOW).headers)["retry-after"] == "2"
    )


def test_a_model_that_is_not_there_is_named() -> None:
    error = orjson.loads(response(Rejection(Reason.MODEL), Dialect.OPENAI, NOW, model="o9").body)["error"]
    assert error["param"] == "model"
    assert "`o9`" in error["message"]


@pytest.mark.parametrize("key", ["", "sk-abcd", "12345678", "{refusal}-{0}-long"])
def test_no_key_is_told(key: str) -> None:
    message = orjson.loads(response(Rejection(Reason.INVALID_KEY), Dialect.OPENAI, NOW, key=key).body)["error"][
        "message"
    ]
    assert not key or key not in message
