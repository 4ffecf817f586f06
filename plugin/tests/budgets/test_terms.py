"""What operators may write about budgets."""

from __future__ import annotations

import pytest

from litellm_evenkeel.budgets import BudgetTerms
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.reading import table, tree


def test_without_a_word_it_works() -> None:
    terms = tree.read(BudgetTerms, {})
    assert (terms.enabled, terms.database, terms.ttl, terms.negative_ttl) == (True, True, 30.0, 60.0)
    assert terms.redis.is_off


@pytest.mark.parametrize("told", [False, "off"])
def test_redis_is_off_however_yaml_reads_it(told: object) -> None:
    assert tree.read(BudgetTerms, {"redis": told}).redis.is_off


def test_redis_is_litellms_or_an_address_that_is_shown_to_nobody() -> None:
    assert tree.read(BudgetTerms, {"redis": "litellm"}).redis.is_of_litellm
    terms = tree.read(BudgetTerms, {"redis": "redis://:hush@cache:6379/1"})
    assert terms.redis.value == "redis://:hush@cache:6379/1"
    assert "hush" not in f"{terms} {terms.redis!r} {terms.redis}"


def test_what_is_no_address_is_refused_without_repeating_it() -> None:
    with pytest.raises(SettingsError, match=r"budgets\.redis: this is no address of a Redis") as refused:
        tree.read(BudgetTerms, {"redis": "postgres://:hush@db"}, "evenkeel.budgets")
    assert "hush" not in str(refused.value)


def test_times_are_written_as_elsewhere() -> None:
    terms = tree.read(BudgetTerms, {"ttl": "1m", "timeout": "250ms", "most": 5, "database": "off"})
    assert (terms.ttl, terms.timeout, terms.most, terms.database) == (60.0, 0.25, 5, False)


def test_each_has_a_line_in_the_documentation() -> None:
    rows = table.table(BudgetTerms).splitlines()[2:]
    assert len(rows) == 8
    assert all(not row.endswith("|  |") for row in rows)
    assert any("`redis` | `off`" in row for row in rows)
