"""Two stores compared: each row that is not there alike is counted, and found at little cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from hypothesis import HealthCheck, given, settings, strategies as st

from evenkeel_lab.bench.journal_store.files import row
from evenkeel_lab.journal_reader.comparing import Compared, Difference, compare

if TYPE_CHECKING:
    from litellm_evenkeel.journal.store import RecordStore

Two: TypeAlias = "tuple[Any, Any]"
NUMBERS = st.dictionaries(st.tuples(st.integers(1, 3), st.integers(1, 30)), st.integers(0, 2), max_size=40)
FEW = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def nothing() -> None:
    pass


def told(source: RecordStore, target: RecordStore, **options: Any) -> Compared:
    return compare(source, target, **{"pause": nothing, "at_once": 7, **options})


@FEW
@given(here=NUMBERS, there=NUMBERS)
def test_every_row_that_is_not_there_alike_is_counted(
    two: Two, here: dict[tuple[int, int], int], there: dict[tuple[int, int], int]
) -> None:
    for store, numbers in zip(two, (here, there), strict=True):
        store.prune(2**62, 1000)
        store.write([row(number, writer)._replace(retries=each) for (writer, number), each in numbers.items()])
    found = told(*two)
    wrong = sorted(known for known, each in here.items() if there.get(known) != each)
    assert (found.rows, found.differences) == (len(here), len(wrong))
    assert [(one.writer, one.number) for one in found.first] == wrong[:10]
    assert [one.is_missing for one in found.first] == [known not in there for known in wrong[:10]]


def test_however_much_differs_it_waits_once_and_looks_again_in_batches(two: Two) -> None:
    source, target = two
    source.write([row(number, writer) for writer in (1, 2) for number in range(1, 501)])
    waits: list[None] = []
    found = told(source, target, at_once=100, pause=lambda: waits.append(None))
    assert (found.rows, found.differences, len(found.first)) == (1000, 1000, 10)
    assert len(waits) == 1
    assert (source.reads, target.reads) == (20, 20)


def test_where_nothing_differs_nobody_waits(two: Two) -> None:
    for store in two:
        store.write([row(1)])

    def never() -> None:
        raise AssertionError

    assert told(*two, pause=never) == Compared(1, 0, ())


def test_what_arrives_or_is_deleted_meanwhile_is_no_difference(two: Two) -> None:
    source, target = two
    source.write([row(number) for number in range(1, 5)])
    target.write([row(2)])

    def goes_on() -> None:
        target.write([row(1), row(3)])
        # The first is no longer there; the second was there alike when it was looked at.
        assert source.prune(row(3).time, 1) == 1
        assert target.prune(row(3).time, 2) == 2

    assert told(source, target, pause=goes_on) == Compared(4, 1, (Difference(1, 4, is_missing=True),))


def test_what_is_older_is_not_compared(two: Two) -> None:
    source, target = two
    source.write([row(number) for number in range(1, 11)])
    target.write([row(number) for number in range(6, 11)])
    found = told(source, target, since=row(4).time)
    assert (found.rows, [one.number for one in found.first]) == (7, [4, 5])
