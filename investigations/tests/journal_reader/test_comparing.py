"""Comparison of two stores: every differing record is counted, at little cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from hypothesis import HealthCheck, given, settings, strategies as st

from evenkeel_lab.bench.journal_store.files import row
from evenkeel_lab.journal_reader.comparing import Comparison, Difference, compare

if TYPE_CHECKING:
    from litellm_evenkeel.journal.store import RecordStore

Stores: TypeAlias = "tuple[Any, Any]"
RECORDS = st.dictionaries(st.tuples(st.integers(1, 3), st.integers(1, 30)), st.integers(0, 2), max_size=40)
FEW = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def nothing() -> None:
    pass


def comparison(source: RecordStore, target: RecordStore, **options: Any) -> Comparison:
    return compare(source, target, **{"pause": nothing, "batch_records": 7, **options})


@FEW
@given(originals=RECORDS, copies=RECORDS)
def test_every_record_that_differs_is_counted(
    stores: Stores, originals: dict[tuple[int, int], int], copies: dict[tuple[int, int], int]
) -> None:
    for store, records in zip(stores, (originals, copies), strict=True):
        store.prune(2**62, 1000)
        store.write([row(number, writer)._replace(retries=tries) for (writer, number), tries in records.items()])
    result = comparison(*stores)
    differing = sorted(key for key, retries in originals.items() if copies.get(key) != retries)
    assert (result.records, result.differences) == (len(originals), len(differing))
    assert [(example.writer, example.number) for example in result.examples] == differing[:10]
    assert [example.is_missing for example in result.examples] == [key not in copies for key in differing[:10]]


def test_many_differences_cause_a_single_pause_and_are_read_again_in_batches(stores: Stores) -> None:
    source, target = stores
    source.write([row(number, writer) for writer in (1, 2) for number in range(1, 501)])
    pauses: list[None] = []
    result = comparison(source, target, batch_records=100, pause=lambda: pauses.append(None))
    assert (result.records, result.differences, len(result.examples)) == (1000, 1000, 10)
    assert len(pauses) == 1
    assert (source.reads, target.reads) == (20, 20)


def test_equal_stores_are_compared_without_a_pause(stores: Stores) -> None:
    for store in stores:
        store.write([row(1)])

    def never() -> None:
        raise AssertionError

    assert comparison(*stores, pause=never) == Comparison(1, 0, ())


def test_records_that_arrive_or_are_deleted_during_the_pause_are_no_differences(stores: Stores) -> None:
    source, target = stores
    source.write([row(number) for number in range(1, 5)])
    target.write([row(2)])

    def write_and_delete() -> None:
        target.write([row(1), row(3)])
        # The source no longer has the first record; the second was equal in both stores when it was first read.
        assert source.prune(row(3).time, 1) == 1
        assert target.prune(row(3).time, 2) == 2

    result = comparison(source, target, pause=write_and_delete)
    assert result == Comparison(4, 1, (Difference(1, 4, is_missing=True),))


def test_records_older_than_the_given_time_are_not_compared(stores: Stores) -> None:
    source, target = stores
    source.write([row(number) for number in range(1, 11)])
    target.write([row(number) for number in range(6, 11)])
    result = comparison(source, target, since=row(4).time)
    assert (result.records, [example.number for example in result.examples]) == (7, [4, 5])
