"""Settings of budgets."""

from __future__ import annotations

import pytest

from litellm_evenkeel.budgets import BudgetSettings
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings_schema import loader, reference


def test_without_a_word_it_works() -> None:
    settings = loader.load(BudgetSettings, {})
    assert (settings.enabled, settings.database, settings.ttl, settings.negative_ttl) == (True, True, 30.0, 60.0)
    assert settings.redis.is_off


@pytest.mark.parametrize("told", [False, "off"])
def test_redis_is_off_however_yaml_reads_it(told: object) -> None:
    assert loader.load(BudgetSettings, {"redis": told}).redis.is_off


def test_redis_is_litellms_or_an_address_that_is_shown_to_nobody() -> None:
    assert loader.load(BudgetSettings, {"redis": "litellm"}).redis.is_litellm
    settings = loader.load(BudgetSettings, {"redis": "redis://:hush@cache:6379/1"})
    assert settings.redis.get_secret_value() == "redis://:hush@cache:6379/1"
    assert "hush" not in f"{settings} {settings.redis!r} {settings.redis}"


def test_what_is_no_address_is_refused_without_repeating_it() -> None:
    with pytest.raises(
        SettingsError, match=r"budgets\.redis: expected `off`, `litellm` .*, got something else"
    ) as refused:
        loader.load(BudgetSettings, {"redis": "postgres://:hush@db"}, "evenkeel.budgets")
    assert "hush" not in str(refused.value)


def test_times_are_written_as_elsewhere() -> None:
    settings = loader.load(BudgetSettings, {"ttl": "1m", "timeout": "250ms", "max_entries": 5, "database": "off"})
    assert (settings.ttl, settings.timeout, settings.max_entries, settings.database) == (60.0, 0.25, 5, False)


def test_each_has_a_line_in_the_documentation() -> None:
    rows = reference.table(BudgetSettings).splitlines()[2:]
    assert len(rows) == 8
    assert all(not row.endswith("|  |") for row in rows)
    assert any("`redis` | `off`" in row for row in rows)
