"""Reads from a real proxy's database. Slow: a proxy boots for them."""

from __future__ import annotations

import pytest

from evenkeel_lab.bench.database_client import reads_at_once
from evenkeel_lab.errors import RigFailure

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("client", ["prisma", "asyncpg"])
def test_a_hundred_reads_take_some_time_with_each_client(client: str) -> None:
    assert reads_at_once(1, client=client) > 0


@pytest.mark.thorough
def test_a_client_that_does_not_exist_is_a_failure_with_its_reason() -> None:
    with pytest.raises(RigFailure, match="The reads through mongo failed: KeyError: 'mongo'"):
        reads_at_once(1, client="mongo")
