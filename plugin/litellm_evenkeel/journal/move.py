"""Rows brought from one store to another, while both are written.

Each writer numbers its rows, and writes them in that order. So up to which number all of a writer's rows have been
brought over is one number, which the other store keeps beside the rows themselves, in the same transaction: whatever
breaks off, the next back-fill goes on there, and leaves nothing out. Rows that are there already stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from litellm_evenkeel.journal.store import Moved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.journal.row import Row
    from litellm_evenkeel.journal.store import Store

AT_ONCE = 2000
# Where rows keep coming, what came during a round is brought in the next one, which is shorter.
MOST_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is."""

    looked_at: int
    """Rows of the source that were looked at, in this run."""
    brought: int
    """Rows of those that the other store did not have."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that two stores do not have alike."""

    writer: int
    number: int
    here: Row | None
    """As the source has it; None if it does not."""
    there: Row | None
    """As the other store has it; None if it does not."""


def back_fill(source: Store, target: Store, known_as: str, *, at_once: int = AT_ONCE) -> Iterator[Progress]:
    """Bring over what the target lacks, until there was nothing left to look at; yield after each batch.

    `known_as` is what the target knows the source by.
    """
    looked_at = brought = 0
    for _ in range(MOST_ROUNDS):
        done = target.moved(known_as)
        before = looked_at
        for writer, last in sorted(source.latest().items()):
            number = done.get(writer, 0)
            while number < last and (rows := source.read(writer, number, last, at_once)):
                number = rows[-1].number
                brought += target.write(rows, Moved(known_as, writer, number))
                looked_at += len(rows)
                yield Progress(looked_at, brought)
        if looked_at == before:
            return


def verify(
    source: Store,
    target: Store,
    *,
    at_once: int = AT_ONCE,
    pause: Callable[[], None] = lambda: None,
    since: int = 0,
) -> Iterator[tuple[int, list[Difference]]]:
    """Compare the rows that the source has now with those of the target; yield after each batch how many these were.

    What differs is looked at once more after a pause: a row may be on its way to the target, or have been deleted as
    too old between one look and the other. Rows that only the target has came from elsewhere, or are no longer here.
    What is older than `since` is not compared: each store deletes at its own moments what is too old.
    """
    for writer, last in sorted(source.latest().items()):
        number = 0
        while number < last and (here := source.read(writer, number, last, at_once)):
            first, number = number, here[-1].number
            asked = [row for row in here if row.time >= since]
            there = {row.number: row for row in target.read(writer, first, number, number - first)} if asked else {}
            wrong = [row.number for row in asked if there.get(row.number) != row]
            if wrong:
                pause()
            again = (_difference(source, target, writer, each) for each in wrong)
            yield len(asked), [one for one in again if one is not None]


def _difference(source: Store, target: Store, writer: int, number: int) -> Difference | None:
    here, there = (_one(store, writer, number) for store in (source, target))
    return None if here is None or here == there else Difference(writer, number, here, there)


def _one(store: Store, writer: int, number: int) -> Row | None:
    found = store.read(writer, number - 1, number, 1)
    return found[0] if found else None
