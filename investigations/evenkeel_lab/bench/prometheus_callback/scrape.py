"""Compare two scrapes: families, their types and labels, series and values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Labels = tuple[tuple[str, str], ...]
Series = tuple[str, Labels]

# Sums differ by this much, relatively, if their summands come in another order.
ORDER_OF_SUMMANDS: Final = 1e-9
BUCKET: Final = "le"
WORKER: Final = "pid"


class Kind(StrEnum):
    """The kinds of differences between two scrapes."""

    FAMILY_MISSING = "family missing"
    FAMILY_EXTRA = "family extra"
    TYPE = "type"
    HELP = "help"
    CRITICAL = "critical log messages"
    PLAN_REJECTED = "update plans rejected"
    LABELS = "labels"
    SERIES_MISSING = "series missing"
    SERIES_EXTRA = "series extra"
    VALUE = "value"


@dataclass(frozen=True)
class Family:
    """A metric family with all of its series."""

    type: str
    help: str
    labels: frozenset[str]
    series: Mapping[Series, float]


@dataclass(frozen=True)
class Difference:
    """One difference of the second scrape from the first."""

    kind: Kind
    family: str
    series: str = ""
    first: str = ""
    second: str = ""
    values: tuple[float, float] = field(default=(math.nan, math.nan), compare=False)
    """The values in both scrapes; NaN where there is none."""

    def __str__(self) -> str:
        subject = f"{self.family} {self.series}".strip()
        values = f": {self.first or 'nothing'} here, {self.second or 'nothing'} there"
        return f"{self.kind} {subject}{values if self.first or self.second else ''}"


def families(text: str) -> dict[str, Family]:
    """Parse the text of a scrape. Return its families by name."""
    result = {}
    for family in text_string_to_metric_families(text):
        names = {name for sample in family.samples for name in sample.labels} - {BUCKET}
        series = {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in family.samples}
        result[family.name] = Family(family.type, family.documentation, frozenset(names), series)
    return result


def compare_scrapes(first: str, second: str) -> Iterator[Difference]:
    """Yield each difference between two scrapes."""
    # Parsing takes most of the time, and most series are equal to the letter.
    lines = first.splitlines(), second.splitlines()
    equal = {line for line in set(lines[0]).intersection(lines[1]) if not line.startswith("#")}
    here, there = (families("".join(f"{line}\n" for line in part if line not in equal)) for part in lines)
    for name in here.keys() - there.keys():
        yield Difference(Kind.FAMILY_MISSING, name)
    for name in there.keys() - here.keys():
        yield Difference(Kind.FAMILY_EXTRA, name)
    for name in sorted(here.keys() & there.keys()):
        yield from _family_differences(name, here[name], there[name])


def _family_differences(name: str, here: Family, there: Family) -> Iterator[Difference]:
    if here.type != there.type:
        yield Difference(Kind.TYPE, name, "", here.type, there.type)
    if here.help != there.help:
        yield Difference(Kind.HELP, name, "", here.help, there.help)
    # The labels of a family without series are unknown.
    if here.series and there.series and here.labels != there.labels:
        yield Difference(Kind.LABELS, name, "", ", ".join(sorted(here.labels)), ", ".join(sorted(there.labels)))
        if here.labels - there.labels != {WORKER}:
            return
        # There is only one worker, so its number distinguishes no series.
        here = replace(here, series={_without_worker(series): value for series, value in here.series.items()})
    for series in sorted(here.series.keys() | there.series.keys()):
        yield from _value_difference(name, series, here.series.get(series), there.series.get(series))


def _without_worker(series: Series) -> Series:
    name, labels = series
    return name, tuple(label for label in labels if label[0] != WORKER)


def _value_difference(name: str, series: Series, here: float | None, there: float | None) -> Iterator[Difference]:
    if here is not None and there is not None and same(here, there):
        return
    kind = Kind.SERIES_EXTRA if here is None else Kind.SERIES_MISSING if there is None else Kind.VALUE
    labels = ", ".join(f'{key}="{value}"' for key, value in series[1])
    first, second = ("" if value is None else repr(value) for value in (here, there))
    values = (math.nan if here is None else here, math.nan if there is None else there)
    yield Difference(kind, name, f"{series[0]}{{{labels}}}", first, second, values)


def same(here: float, there: float) -> bool:
    """Whether two values are equal, but for the order of summands."""
    if math.isnan(here) or math.isnan(there):
        return math.isnan(here) and math.isnan(there)
    return math.isclose(here, there, rel_tol=ORDER_OF_SUMMANDS, abs_tol=ORDER_OF_SUMMANDS)
