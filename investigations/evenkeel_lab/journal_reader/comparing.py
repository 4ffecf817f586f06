"""Rows of one store against those of another, however many differ: they are counted, and few are shown."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.store import RecordStore

AT_ONCE = 2000
SHOWN = 10
# As wide as a row's number is in both stores.
NUMBERS = "q"


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that two stores do not have alike."""

    writer: int
    number: int
    is_missing: bool
    """Whether the other store does not have it at all."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison has found."""

    rows: int
    differences: int
    first: tuple[Difference, ...]
    """The first few of those that differ."""


@dataclass(frozen=True, slots=True)
class _Suspects:
    """Rows of a batch that differed at the first look. Of each, its number is kept alone: there may be millions."""

    writer: int
    numbers: array[int]


def compare(
    source: RecordStore, target: RecordStore, *, pause: Callable[[], None], since: int = 0, at_once: int = AT_ONCE
) -> Compared:
    """Compare the rows that the source has now with those of the target.

    What differs is looked at once more after a pause: a row may be on its way to the target, or have been deleted as
    too old between one look and the other. Rows that only the target has came from elsewhere, or are no longer here.
    What is older than `since` is not compared: each store deletes at its own moments what is too old.
    """
    rows = 0
    suspects: list[_Suspects] = []
    for writer, last in sorted(source.latest().items()):
        number = 0
        while number < last and (here := source.read(writer, number, last, at_once)):
            first, number = number, here[-1].number
            asked = [record for record in here if record.time >= since]
            there = _by_number(target, writer, first, number) if asked else {}
            rows += len(asked)
            if wrong := [record.number for record in asked if there.get(record.number) != record]:
                suspects.append(_Suspects(writer, array(NUMBERS, wrong)))
    if suspects:
        pause()
    differences = 0
    shown: list[Difference] = []
    for one in suspects:
        for difference in _still(source, target, one):
            differences += 1
            if len(shown) < SHOWN:
                shown.append(difference)
    return Compared(rows, differences, tuple(shown))


def _still(source: RecordStore, target: RecordStore, suspects: _Suspects) -> Iterator[Difference]:
    """Look again; what the source has no longer is no difference."""
    writer, numbers = suspects.writer, suspects.numbers
    here, there = (_by_number(store, writer, numbers[0] - 1, numbers[-1]) for store in (source, target))
    for number in numbers:
        if number in here and here[number] != there.get(number):
            yield Difference(writer, number, number not in there)


def _by_number(store: RecordStore, writer: int, after: int, upto: int) -> dict[int, RequestRecord]:
    return {record.number: record for record in store.read(writer, after, upto, upto - after)}
