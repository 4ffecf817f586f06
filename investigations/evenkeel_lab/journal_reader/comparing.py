"""Comparison of the records of two stores. All differences are counted; only the first few are returned."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.store import RecordStore

BATCH_RECORDS = 2000
MAX_EXAMPLES = 10
# 64 bits, as wide as a record's number is in both kinds of stores.
NUMBER_TYPE = "q"


@dataclass(frozen=True, slots=True)
class Difference:
    """A record that differs between two stores."""

    writer: int
    number: int
    is_missing: bool
    """Whether the target lacks the record."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of a comparison."""

    records: int
    """Number of compared records."""
    differences: int
    examples: tuple[Difference, ...]
    """The first differences, at most `MAX_EXAMPLES`."""


@dataclass(frozen=True, slots=True)
class _Suspects:
    """Records of one batch that differed at first. Only their numbers are kept, because there may be millions."""

    writer: int
    numbers: array[int]


def compare(
    source: RecordStore,
    target: RecordStore,
    *,
    pause: Callable[[], None],
    since: int = 0,
    batch_records: int = BATCH_RECORDS,
) -> Comparison:
    """Compare the records that the source has now with those of the target.

    Differing records are read again after `pause`, because a record may be on its way to the target, or may have been
    deleted as too old between the two reads. Records that only the target has are ignored: another source wrote them,
    or the source has deleted them. Records older than `since`, in microseconds since 1970, are not compared, because
    each store deletes old records at its own time.
    """
    compared = 0
    suspects: list[_Suspects] = []
    for writer, last in sorted(source.latest().items()):
        number = 0
        while number < last and (batch := source.read(writer, number, last, batch_records)):
            first, number = number, batch[-1].number
            recent = [record for record in batch if record.time >= since]
            copies = _by_number(target, writer, first, number) if recent else {}
            compared += len(recent)
            if differing := [record.number for record in recent if copies.get(record.number) != record]:
                suspects.append(_Suspects(writer, array(NUMBER_TYPE, differing)))
    if suspects:
        pause()
    differences = 0
    examples: list[Difference] = []
    for batch_suspects in suspects:
        for difference in _confirmed(source, target, batch_suspects):
            differences += 1
            if len(examples) < MAX_EXAMPLES:
                examples.append(difference)
    return Comparison(compared, differences, tuple(examples))


def _confirmed(source: RecordStore, target: RecordStore, suspects: _Suspects) -> Iterator[Difference]:
    """Read the suspects again and yield those that still differ. Records that the source has deleted do not."""
    writer, numbers = suspects.writer, suspects.numbers
    originals, copies = (_by_number(store, writer, numbers[0] - 1, numbers[-1]) for store in (source, target))
    for number in numbers:
        if number in originals and originals[number] != copies.get(number):
            yield Difference(writer, number, number not in copies)


def _by_number(store: RecordStore, writer: int, after: int, last: int) -> dict[int, RequestRecord]:
    return {record.number: record for record in store.read(writer, after, last, last - after)}
