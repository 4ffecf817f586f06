"""Why lookups fail, and what is told of it: nothing that names anybody."""

from __future__ import annotations

import logging

import asyncpg
import pytest
from redis import exceptions as of_redis

from litellm_evenkeel.budgets import Kind, Reason, Source
from litellm_evenkeel.budgets.failures import TOLD_EACH_SECONDS, Failures
from litellm_evenkeel.budgets.reasons import cause, reason

SECRET = "postgresql://ann:hush@db.example.com/team-77"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(SECRET), Reason.TIMEOUT),
        (asyncpg.QueryCanceledError(SECRET), Reason.TIMEOUT),
        (asyncpg.LockNotAvailableError(SECRET), Reason.TIMEOUT),
        (of_redis.TimeoutError(SECRET), Reason.TIMEOUT),
        (ConnectionRefusedError(SECRET), Reason.REFUSED),
        (OSError(SECRET), Reason.REFUSED),
        (asyncpg.ConnectionDoesNotExistError(SECRET), Reason.REFUSED),
        (asyncpg.CannotConnectNowError(SECRET), Reason.REFUSED),
        (asyncpg.TooManyConnectionsError(SECRET), Reason.REFUSED),
        (asyncpg.AdminShutdownError(SECRET), Reason.REFUSED),
        (asyncpg.InterfaceError(SECRET), Reason.REFUSED),
        (of_redis.ConnectionError(SECRET), Reason.REFUSED),
        (asyncpg.InvalidPasswordError(SECRET), Reason.DENIED),
        (asyncpg.InsufficientPrivilegeError(SECRET), Reason.DENIED),
        (of_redis.AuthenticationError(SECRET), Reason.DENIED),
        (of_redis.NoPermissionError(SECRET), Reason.DENIED),
        (asyncpg.UndefinedTableError(SECRET), Reason.SCHEMA),
        (asyncpg.UndefinedColumnError(SECRET), Reason.SCHEMA),
        (asyncpg.InvalidCatalogNameError(SECRET), Reason.SCHEMA),
        (asyncpg.ProtocolViolationError(SECRET), Reason.ERROR),
        (asyncpg.PostgresSyntaxError(SECRET), Reason.ERROR),
        (of_redis.ResponseError(SECRET), Reason.ERROR),
        (KeyError(SECRET), Reason.ERROR),
    ],
)
def test_what_drivers_raise_is_one_of_a_few_reasons_and_told_without_their_words(
    error: Exception, expected: Reason
) -> None:
    assert reason(error) is expected
    assert cause(error).split()[0] == type(error).__name__
    assert SECRET not in cause(error)


def test_a_state_is_told_beside_the_class() -> None:
    assert cause(asyncpg.UndefinedTableError(SECRET)) == "UndefinedTableError 42P01"


def test_an_operator_hears_of_each_trouble_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    failures = Failures(lambda: now)
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            failures.failed([Kind.TEAM, Kind.TEAM, Kind.KEY], Source.POSTGRES, TimeoutError(SECRET))
        assert len(caplog.records) == 2
        failures.failed([Kind.TEAM], Source.POSTGRES, ConnectionRefusedError(SECRET))
        failures.failed([Kind.TEAM], Source.REDIS, TimeoutError(SECRET))
        assert len(caplog.records) == 4
        now = TOLD_EACH_SECONDS
        failures.failed([Kind.TEAM], Source.POSTGRES, TimeoutError(SECRET))
        assert len(caplog.records) == 5
    assert failures.counts[Kind.TEAM, Source.POSTGRES, Reason.TIMEOUT] == 201
    assert failures.counts[Kind.KEY, Source.POSTGRES, Reason.TIMEOUT] == 100
    first = caplog.records[0].getMessage()
    assert "team" in first
    assert "postgres: timeout (TimeoutError)" in first
    assert all("hush" not in one.getMessage() and one.exc_info is None for one in caplog.records)


def test_who_was_not_asked_about_is_counted_and_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    failures = Failures(lambda: 0.0)
    failures.left_alone([(Kind.TEAM, "t"), (Kind.TEAM, "u")], Source.POSTGRES)
    assert failures.counts == {(Kind.TEAM, Source.POSTGRES, Reason.CIRCUIT_OPEN): 2}
    assert not caplog.records
