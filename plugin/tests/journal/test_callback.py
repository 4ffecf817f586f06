"""The callback, in the order in which a proxy calls it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from litellm_evenkeel.journal.callback import MOST_ATTEMPTS, Journal_PROXY_
from litellm_evenkeel.picked import CARRIED, Picked

if TYPE_CHECKING:
    from litellm_evenkeel.journal.row import Row


class Noted:
    """A journal that remembers what it was told."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def note(self, row: Row) -> None:
        self.rows.append(row)


class Call:
    picked = Picked("acme", "strategy", 2)


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
        return {"standard_logging_object": payload, "litellm_params": {}, CARRIED: Call()}

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
    (row,) = rig.noted.rows
    assert (row.status, row.account, row.retries) == (200, "acme", 1)


async def test_a_failed_request_is_one_row_with_the_account_that_failed_it_last(rig: Rig) -> None:
    details = rig.details("failure")
    await rig.fails(details)
    await rig.told(details)
    (row,) = rig.noted.rows
    assert (row.status, row.error, row.account, row.deployment) == (503, "Failure", "acme", "d-1")
    assert row.key not in {"", "sk-someone"}


async def test_a_failed_attempt_whose_request_was_served_elsewhere_is_no_row_of_its_own(rig: Rig) -> None:
    await rig.fails(rig.details("failure"))
    await rig.answers(rig.details("success"))
    assert [row.status for row in rig.noted.rows] == [200]


async def test_an_answer_that_was_withheld_is_one_row(rig: Rig) -> None:
    details = rig.details("success")
    await rig.told(details)
    await rig.answers(details)
    assert [row.status for row in rig.noted.rows] == [200]


async def test_a_request_that_no_account_has_seen_names_none(rig: Rig) -> None:
    await rig.told(None, model_info={"id": "d-1"}, standard_logging_object={"model_id": "d-1", "status": "failure"})
    (row,) = rig.noted.rows
    assert (row.account, row.deployment, row.reason) == ("", "", "")


async def test_attempts_of_which_nothing_more_is_heard_are_forgotten(rig: Rig) -> None:
    first = rig.details("failure")
    await rig.fails(first)
    kept = [rig.details("failure", startTime=float(number)) for number in range(MOST_ATTEMPTS)]
    for one in kept:
        await rig.fails(one)
    await rig.told(first)
    await rig.told(kept[-1])
    assert [row.account for row in rig.noted.rows] == ["", "acme"]


async def test_an_error_of_ours_is_told_and_nobody_elses(rig: Rig) -> None:
    await rig.callback.async_log_success_event(None, None, None, None)  # type: ignore[arg-type]
    await rig.callback.async_log_failure_event(None, None, None, None)  # type: ignore[arg-type]
    await rig.callback.async_post_call_failure_hook(None, Failure(), Auth())  # type: ignore[arg-type]
    assert len(rig.errors) == 3
    assert rig.noted.rows == []
