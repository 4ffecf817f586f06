"""What operators may write about budgets."""

from __future__ import annotations

import pytest

from litellm_evenkeel.budgets import BudgetSettings
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings_schema import loader, reference


def test_without_a_word_it_works() -> None:
    settings = loader.read(BudgetSettings, {})
    assert (settings.enabled, settings.database, settings.ttl, settings.negative_ttl) == (True, True, 30.0, 60.0)
    assert settings.redis.is_off


@pytest.mark.parametrize("told", [False, "off"])
def test_redis_is_off_however_yaml_reads_it(told: object) -> None:
    assert loader.read(BudgetSettings, {"redis": told}).redis.is_off


def test_redis_is_litellms_or_an_address_that_is_shown_to_nobody() -> None:
    assert loader.read(BudgetSettings, {"redis": "litellm"}).redis.uses_litellm_redis
    settings = loader.read(BudgetSettings, {"redis": "redis://:hush@cache:6379/1"})
    assert settings.redis.value == "redis://:hush@cache:6379/1"
    assert "hush" not in f"{settings} {settings.redis!r} {settings.redis}"


def test_what_is_no_address_is_refused_without_repeating_it() -> None:
    with pytest.raises(
        SettingsError, match=r"budgets\.redis: expected off, litellm or the address of a Redis"
    ) as refused:
        loader.read(BudgetSettings, {"redis": "postgres://:hush@db"}, "evenkeel.budgets")
    assert "hush" not in str(refused.value)


def test_times_are_written_as_elsewhere() -> None:
    settings = loader.read(BudgetSettings, {"ttl": "1m", "timeout": "250ms", "most": 5, "database": "off"})
    assert (settings.ttl, settings.timeout, settings.most, settings.database) == (60.0, 0.25, 5, False)


def test_each_has_a_line_in_the_documentation() -> None:
    rows = reference.table(BudgetSettings).splitlines()[2:]
    assert len(rows) == 8
    assert all(not row.endswith("|  |") for row in rows)
    assert any("`redis` | `off`" in row for row in rows)
