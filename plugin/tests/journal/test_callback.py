"""The callback, in the order in which a proxy calls it."""

from __future__ import annotations

import hashlib
import sys
import time
from datetime import UTC, datetime
from types import FunctionType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import httpx
import pytest

from litellm_evenkeel.journal.callback import MAX_PENDING_ATTEMPTS, Journal_PROXY_
from litellm_evenkeel.routing_decision import REQUEST_KEY, RoutingDecision

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from litellm_evenkeel.journal.record import RequestRecord

    Turned = Callable[..., Awaitable[int]]

# LiteLLM warns of its own types when it is first used.
pytestmark = pytest.mark.filterwarnings("ignore")

HASH = hashlib.sha256(b"sk-a").hexdigest()


class Noted:
    """A journal that remembers what it was told."""

    def __init__(self) -> None:
        self.records: list[RequestRecord] = []

    def append(self, record: RequestRecord) -> None:
        self.records.append(record)


class Call:
    picked = RoutingDecision("acme", "strategy", 2)


class Failure(Exception):
    status_code = 503


class Auth:
    api_key = "sk-someone"


class Rig:
    def __init__(self) -> None:
        self.noted, self.errors = Noted(), []  # type: ignore[var-annotated]
        self.callback = Journal_PROXY_(self.noted, lambda where, error: self.errors.append((where, error)))  # type: ignore[arg-type]

    def details(self, state: str, **told: Any) -> dict[str, Any]:
        payload = {"status": state, "startTime": time.time(), "endTime": time.time(), "model_id": "d-1", **told}
        return {"standard_logging_object": payload, "litellm_params": {}, REQUEST_KEY: Call()}

    async def answers(self, details: dict[str, Any]) -> None:
        await self.callback.async_log_success_event(details, None, None, None)

    async def fails(self, details: dict[str, Any]) -> None:
        await self.callback.async_log_failure_event(details, None, None, None)

    async def told(self, details: dict[str, Any] | None, **sent: Any) -> None:
        request = {"model": "gpt-4o", **sent}
        if details is not None:
            request["standard_logging_object"] = details["standard_logging_object"]
            request["start_time"] = request["first_api_call_start_time"] = datetime.now(UTC)
        await self.callback.async_post_call_failure_hook(request, Failure(), Auth())


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_an_answer_is_one_row(rig: Rig) -> None:
    await rig.answers(rig.details("success", model_group="gpt-4o"))
    (record,) = rig.noted.records
    assert (record.status, record.account, record.retries) == (200, "acme", 1)


async def test_a_failed_request_is_one_row_with_the_account_that_failed_it_last(rig: Rig) -> None:
    details = rig.details("failure")
    await rig.fails(details)
    await rig.told(details)
    (record,) = rig.noted.records
    assert (record.status, record.error, record.account, record.deployment) == (503, "Failure", "acme", "d-1")
    assert record.key not in {"", "sk-someone"}


async def test_a_failed_attempt_whose_request_was_served_elsewhere_is_no_row_of_its_own(rig: Rig) -> None:
    await rig.fails(rig.details("failure"))
    await rig.answers(rig.details("success"))
    assert [record.status for record in rig.noted.records] == [200]


async def test_an_answer_that_was_withheld_is_one_row(rig: Rig) -> None:
    details = rig.details("success")
    await rig.told(details)
    await rig.answers(details)
    assert [record.status for record in rig.noted.records] == [200]


async def test_a_request_that_no_account_has_seen_names_none(rig: Rig) -> None:
    await rig.told(None, model_info={"id": "d-1"}, standard_logging_object={"model_id": "d-1", "status": "failure"})
    (record,) = rig.noted.records
    assert (record.account, record.deployment, record.reason) == ("", "", "")


def _raised(error: Exception) -> Exception:
    try:
        raise error  # noqa: TRY301 - it is to be caught here
    except Exception as caught:  # noqa: BLE001
        return caught


# As the code of LiteLLM's authentication does, which catches what it raises and hands it on.
raised = FunctionType(_raised.__code__, {"__name__": "litellm.proxy.auth.user_api_key_auth"})


@pytest.fixture
def authenticated(monkeypatch: pytest.MonkeyPatch) -> Any:
    """LiteLLM's own kind of who sends a request."""
    from litellm.proxy._types import UserAPIKeyAuth  # noqa: PLC0415 - as late as can be: it takes long

    # What knows tokens that are signed needs a library that only proxies have, and these are none.
    signed = ModuleType("litellm.proxy.auth.handle_jwt")
    signed.JWTHandler = SimpleNamespace(is_jwt=lambda token: False)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, signed.__name__, signed)
    return UserAPIKeyAuth


class Errors(ModuleType):
    """A module of kinds of errors, whatever they are called."""

    def __getattr__(self, name: str) -> type[Exception]:
        return type(name, (Exception,), {})


@pytest.fixture
def turned_away(rig: Rig, monkeypatch: pytest.MonkeyPatch, authenticated: Any) -> Turned:
    """LiteLLM's own path from an authentication error to the client's status, which calls the callbacks."""
    from litellm.proxy._types import ProxyException  # noqa: PLC0415 - as above
    from litellm.proxy.auth.auth_exception_handler import UserAPIKeyAuthExceptionHandler as Handler  # noqa: PLC0415

    # It was private until LiteLLM 1.106.
    handle = getattr(Handler, "handle_authentication_error", None) or Handler._handle_authentication_error

    async def hook(
        request_data: dict[str, Any], original_exception: Exception, user_api_key_dict: Any, **_: Any
    ) -> None:
        await rig.callback.async_post_call_failure_hook(request_data, original_exception, user_api_key_dict)

    server = ModuleType("litellm.proxy.proxy_server")
    server.general_settings = {}  # type: ignore[attr-defined]
    server.proxy_logging_obj = SimpleNamespace(post_call_failure_hook=hook)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, server.__name__, server)
    # LiteLLM reads its error classes, and LiteLLM 1.100 checks errors against them.
    prisma, errors = MagicMock(errors=Errors("prisma.errors")), Errors("prisma.engine.errors")
    for name, module in (("prisma", prisma), ("prisma.engine", MagicMock()), ("prisma.engine.errors", errors)):
        monkeypatch.setitem(sys.modules, name, module)
    request = MagicMock(headers={}, scope={})

    async def turn(error: Exception, sent: str, **known: Any) -> int:
        identity = authenticated(**known) if known else None
        with pytest.raises(ProxyException) as told:
            await handle(raised(error), request, {"model": "gpt-4o"}, "/v1/chat/completions", None, sent, identity)
        return int(told.value.code)

    return turn


@pytest.mark.parametrize("error", [Exception("no key"), AssertionError(), ValueError(), OSError("no database")])
async def test_a_row_has_the_status_of_who_is_turned_away(rig: Rig, turned_away: Turned, error: Exception) -> None:
    from litellm.proxy.auth import auth_exception_handler  # noqa: PLC0415 - as above

    answer = await turned_away(error, "sk-x")
    (record,) = rig.noted.records
    # LiteLLM before 1.102 does not say which answer it makes of an error.
    is_told = hasattr(auth_exception_handler, "_as_proxy_exception")
    assert (record.status, record.error) == (answer if is_told else 401, type(error).__name__)
    assert answer in {401, 503}


@pytest.mark.parametrize("error", [Failure(), Exception()])
async def test_a_key_that_litellm_has_not_found_is_nobodys(rig: Rig, turned_away: Turned, error: Exception) -> None:
    await turned_away(error, HASH)
    await turned_away(error, "sk-a")
    assert {record.key for record in rig.noted.records}.isdisjoint({HASH, ""})


async def test_a_key_that_is_known_and_may_not_is_its_owners(rig: Rig, turned_away: Turned) -> None:
    await turned_away(Exception("expired"), "sk-a", token=HASH, key_name="sk-...a", user_id="u")
    (record,) = rig.noted.records
    assert (record.status, record.key) == (401, HASH)


async def test_older_versions_say_of_a_key_that_they_do_not_know_what_was_sent(rig: Rig, authenticated: Any) -> None:
    told = authenticated(parent_otel_span=None, api_key=HASH, request_route="/v1/chat/completions")
    await rig.callback.async_post_call_failure_hook({"model": "gpt-4o"}, Failure(), told)
    (record,) = rig.noted.records
    assert record.key not in {HASH, ""}


async def test_what_another_server_said_is_the_answer(rig: Rig) -> None:
    request = httpx.Request("GET", "http://there")
    error = httpx.HTTPStatusError("no", request=request, response=httpx.Response(418, request=request))
    await rig.callback.async_post_call_failure_hook({"model": "gpt-4o"}, error, Auth())
    (record,) = rig.noted.records
    assert record.status == 418


async def test_attempts_of_which_nothing_more_is_heard_are_forgotten(rig: Rig) -> None:
    first = rig.details("failure")
    await rig.fails(first)
    kept = [rig.details("failure", startTime=float(number)) for number in range(MAX_PENDING_ATTEMPTS)]
    for one in kept:
        await rig.fails(one)
    await rig.told(first)
    await rig.told(kept[-1])
    assert [record.account for record in rig.noted.records] == ["", "acme"]


async def test_an_error_of_ours_is_told_and_nobody_elses(rig: Rig) -> None:
    await rig.callback.async_log_success_event(None, None, None, None)  # type: ignore[arg-type]
    await rig.callback.async_log_failure_event(None, None, None, None)  # type: ignore[arg-type]
    await rig.callback.async_post_call_failure_hook(None, Failure(), Auth())  # type: ignore[arg-type]
    assert len(rig.errors) == 3
    assert rig.noted.records == []
