"""Hostile error responses: what a fault makes of an ordinary one."""

from __future__ import annotations

import json

import pytest

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.faults import parse_entry, parse_header
from evenkeel_mock.quotas.headers import Dialect
from evenkeel_mock.quotas.rejections import Response, response, status_rejection
from evenkeel_mock.server.hostile import hostile


def refused(text: str) -> Response:
    return hostile(response(status_rejection(429, 2 * 10**9), Dialect.OPENAI, 0), parse_header(text))


def test_a_fault_without_hostile_options_changes_nothing() -> None:
    assert refused("status=429") == response(status_rejection(429, 2 * 10**9), Dialect.OPENAI, 0)


def test_any_text_is_sent_as_retry_after() -> None:
    fault = parse_entry({"status": 429, "raw_retry_after": "Fri, 31 Dec 9999 23:59:59 GMT"}).fault
    headers = hostile(response(status_rejection(429), Dialect.OPENAI, 0), fault).headers
    assert [value for name, value in headers if name.startswith("retry-after")] == ["Fri, 31 Dec 9999 23:59:59 GMT"]
    assert ("retry-after", "-1") in refused("status=429,raw_retry_after=-1").headers


def test_a_body_and_headers_are_as_large_as_wanted() -> None:
    answer = refused("status=429,body_kb=300,header_kb=20")
    assert len(json.loads(answer.body)["error"]["message"]) > 300 * 1024
    padding = [value for name, value in answer.headers if name.startswith("x-padding")]
    assert 20 * 1024 <= sum(map(len, padding)) <= 24 * 1024


def test_an_error_may_contain_the_key_and_the_prompt() -> None:
    rejection = response(status_rejection(401), Dialect.OPENAI, 0)
    answer = hostile(rejection, parse_header("status=401,echo=1"), 'Bearer sk-1 say "hi"')
    assert json.loads(answer.body)["error"]["message"].startswith('Bearer sk-1 say "hi" ')
    assert hostile(rejection, parse_header("status=401"), "Bearer sk-1") == rejection


@pytest.mark.parametrize("encoding", ["utf-16", "invalid"])
def test_a_body_is_encoded_otherwise_than_its_headers_say(encoding: str) -> None:
    answer = refused(f"status=429,encoding={encoding}")
    assert ("content-type", "application/json") in answer.headers
    with pytest.raises(UnicodeDecodeError):
        answer.body.decode("utf-8")


def test_a_plain_body_is_announced_as_compressed() -> None:
    answer = refused("status=429,encoding=gzip")
    assert ("content-encoding", "gzip") in answer.headers
    assert json.loads(answer.body)


@pytest.mark.parametrize("text", ["status=429,encoding=ebcdic", "status=429,body_kb=-1", "hang,body_kb=3"])
def test_invalid_options_are_errors(text: str) -> None:
    with pytest.raises(MockConfigError):
        parse_header(text)
