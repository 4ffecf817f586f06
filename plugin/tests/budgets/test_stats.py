"""Reasons of failed lookups, without the names of entities."""

from __future__ import annotations

import logging

import asyncpg
import pytest
from redis import exceptions as of_redis

from litellm_evenkeel.budgets import BudgetEntity, Source
from litellm_evenkeel.budgets.stats import WARNING_INTERVAL_SECONDS, SourceFailures
from litellm_evenkeel.support.driver_errors import DriverError, cause, driver_error

SECRET = "postgresql://ann:hush@db.example.com/team-77"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(SECRET), DriverError.TIMEOUT),
        (asyncpg.QueryCanceledError(SECRET), DriverError.TIMEOUT),
        (asyncpg.LockNotAvailableError(SECRET), DriverError.TIMEOUT),
        (of_redis.TimeoutError(SECRET), DriverError.TIMEOUT),
        (ConnectionRefusedError(SECRET), DriverError.REFUSED),
        (OSError(SECRET), DriverError.REFUSED),
        (asyncpg.ConnectionDoesNotExistError(SECRET), DriverError.REFUSED),
        (asyncpg.CannotConnectNowError(SECRET), DriverError.REFUSED),
        (asyncpg.TooManyConnectionsError(SECRET), DriverError.REFUSED),
        (asyncpg.AdminShutdownError(SECRET), DriverError.REFUSED),
        (asyncpg.InterfaceError(SECRET), DriverError.REFUSED),
        (of_redis.ConnectionError(SECRET), DriverError.REFUSED),
        (asyncpg.InvalidPasswordError(SECRET), DriverError.DENIED),
        (asyncpg.InsufficientPrivilegeError(SECRET), DriverError.DENIED),
        (of_redis.AuthenticationError(SECRET), DriverError.DENIED),
        (of_redis.NoPermissionError(SECRET), DriverError.DENIED),
        (asyncpg.UndefinedTableError(SECRET), DriverError.SCHEMA),
        (asyncpg.UndefinedColumnError(SECRET), DriverError.SCHEMA),
        (asyncpg.InvalidCatalogNameError(SECRET), DriverError.SCHEMA),
        (asyncpg.ProtocolViolationError(SECRET), DriverError.ERROR),
        (asyncpg.PostgresSyntaxError(SECRET), DriverError.ERROR),
        (of_redis.ResponseError(SECRET), DriverError.ERROR),
        (KeyError(SECRET), DriverError.ERROR),
    ],
)
def test_what_drivers_raise_is_one_of_a_few_reasons_and_told_without_their_words(
    error: Exception, expected: DriverError
) -> None:
    assert driver_error(error) is expected
    assert cause(error).split()[0] == type(error).__name__
    assert SECRET not in cause(error)


def test_a_state_is_told_beside_the_class() -> None:
    assert cause(asyncpg.UndefinedTableError(SECRET)) == "UndefinedTableError 42P01"


def test_an_operator_hears_of_each_trouble_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    failures = SourceFailures(lambda: now)
    warned: list[float] = []
    failures.on_warning = lambda: warned.append(now)
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            failures.record(
                [BudgetEntity.TEAM, BudgetEntity.TEAM, BudgetEntity.KEY], Source.POSTGRES, TimeoutError(SECRET)
            )
        assert len(caplog.records) == 2
        failures.record([BudgetEntity.TEAM], Source.POSTGRES, ConnectionRefusedError(SECRET))
        failures.record([BudgetEntity.TEAM], Source.REDIS, TimeoutError(SECRET))
        assert len(caplog.records) == 4
        now = WARNING_INTERVAL_SECONDS
        failures.record([BudgetEntity.TEAM], Source.POSTGRES, TimeoutError(SECRET))
        assert len(caplog.records) == 5
    assert warned == [0.0, 0.0, 0.0, 0.0, WARNING_INTERVAL_SECONDS]
    assert failures.counts[BudgetEntity.TEAM, Source.POSTGRES, DriverError.TIMEOUT] == 201
    assert failures.counts[BudgetEntity.KEY, Source.POSTGRES, DriverError.TIMEOUT] == 100
    first = caplog.records[0].getMessage()
    assert "team" in first
    assert "postgres: timeout (TimeoutError)" in first
    assert all("hush" not in one.getMessage() and one.exc_info is None for one in caplog.records)


def test_who_was_not_asked_about_is_counted_and_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    failures = SourceFailures(lambda: 0.0)
    failures.record_skipped([(BudgetEntity.TEAM, "t"), (BudgetEntity.TEAM, "u")], Source.POSTGRES)
    assert failures.counts == {(BudgetEntity.TEAM, Source.POSTGRES, DriverError.CIRCUIT_OPEN): 2}
    assert not caplog.records
