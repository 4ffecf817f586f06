"""Measured numbers of README and docs: each has its source, a committed summary or benchmark, and says the same.

`docs/numbers.toml` names the source of each of them. A number that differs from its source, or has none, is an error.
"""

from __future__ import annotations

import re
import tomllib
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.investigation_spec.base import Name, Part, Text
from evenkeel_lab.runner.results.bench_results import read_benches
from evenkeel_lab.stats import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.runner.results.bench_results import BenchResult
    from evenkeel_lab.stats.compare import Compared

FILE = "docs/numbers.toml"
FENCED, CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL), re.compile(r"`[^`\n]*`")
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
# A number with a unit in which results are stated.
RESULT = re.compile(rf"{NUMBER.pattern}(?= ?(?:%|ms\b|us\b|µs|MiB\b|points\b|/s\b))")
MS = 1e3
# Words that state the direction of an effect, in the text of an entry or right after it.
MORE, LESS = frozenset({"more", "higher", "longer"}), frozenset({"less", "lower", "fewer", "shorter"})
WORD, AFTER = re.compile(r"[a-z]+"), 12


class Of(StrEnum):
    """The value of a comparison that a text states."""

    EFFECT = "effect"
    ARM = "arm"
    BASELINE = "baseline"


class Number(Part):
    """A number in a text."""

    file: Text = Field(description="The file.")
    says: Text = Field(description="The text: one number, or an estimate with the ends of its interval.")


class Measured(Number):
    """A number in a text, and the comparison that it comes from."""

    investigation: Text = Field(description="The investigation, such as STUDY/CHAPTER.")
    arm: Name = Field(description="The arm.")
    against: Name | None = Field(None, description="The arm that it is compared with; by default the baseline.")
    figure: Text = Field(description="The metric.")
    of: Of = Field(Of.EFFECT, description="The value: effect, arm or baseline.")


class Benchmarked(Number):
    """A number in a text, and the benchmark that it comes from."""

    bench: Name = Field(description="The benchmark.")
    metric: Name = Field(description="The metric.")
    scale: float = Field(1.0, description="By how much the text multiplies it: 100 for a share in per cent.")


class Given(Part):
    """Numbers in a text that are no results: margins, settings."""

    file: Text = Field(description="The file.")
    says: list[Text] = Field(description="The texts.")
    why: Text = Field(description="What they are.")


class Numbers(Part):
    """All of the file."""

    files: list[Text] = Field(description="Patterns of the files in which every number has an entry.")
    measured: list[Measured] = Field([], description="Numbers from investigations.")
    benchmarked: list[Benchmarked] = Field([], description="Numbers from benchmarks.")
    given: list[Given] = Field([], description="Numbers that are no results.")

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the file and the text of each entry."""
        for number in (*self.measured, *self.benchmarked):
            yield number.file, number.says
        for given in self.given:
            for says in given.says:
                yield given.file, says


def read(root: Path) -> Numbers:
    """Read the entries of a project."""
    try:
        return Numbers.model_validate(tomllib.loads((root / FILE).read_text(encoding="utf-8")))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise WrongUse(f"{root / FILE} cannot be read: {error}", hint="Restore it from git.") from error


def wrong_numbers(root: Path, data_of: Callable[[str], ReportData | None]) -> Iterator[str]:
    """Yield a sentence for each number that differs from its source, or that has none.

    `data_of` returns the results of an investigation by its name, or `None` if it was not measured. A project without
    the file has no such numbers.
    """
    if not (root / FILE).is_file():
        return
    numbers = read(root)
    paths = sorted(path for pattern in numbers.files for path in root.glob(pattern))
    texts = {path.relative_to(root).as_posix(): _text(path) for path in paths}
    for file, says in numbers.texts():
        if not _positions(says, texts.get(file, "")):
            yield f"{file}: does not say {says!r}, of which {FILE} has an entry"
    for number, source, stated in _differences(root, numbers, texts, cache(data_of)):
        yield f"{number.file}: {number.says!r}, but {source} says {stated}"
    for name, text in texts.items():
        covered = [position for file, says in numbers.texts() if file == name for position in _positions(says, text)]
        for match in RESULT.finditer(CODE.sub(lambda code: " " * len(code[0]), text)):
            if not any(begin <= match.start() and match.end() <= end for begin, end in covered):
                yield f"{name}: {text[max(0, match.start() - 40) : match.end() + 10]!r} has no entry in {FILE}"


def _differences(
    root: Path, numbers: Numbers, texts: Mapping[str, str], data_of: Callable[[str], ReportData | None]
) -> Iterator[tuple[Number, str, str]]:
    """Yield each number that differs from its source, with the source and what that says."""
    for measured in numbers.measured:
        stated = _difference(measured, data_of(measured.investigation), texts.get(measured.file, ""))
        if stated:
            yield measured, measured.investigation, stated
    benches = {result.bench: result for result in read_benches(root / "investigations")} if numbers.benchmarked else {}
    for benchmarked in numbers.benchmarked:
        stated = _other_value(benchmarked, benches.get(benchmarked.bench))
        if stated:
            yield benchmarked, f"the benchmark {benchmarked.bench}", stated


def _text(path: Path) -> str:
    """Return the text of a file without blocks of code, in one line."""
    return FENCED.sub("", path.read_text(encoding="utf-8")).replace("\n", " ")


def _positions(says: str, text: str) -> list[tuple[int, int]]:
    """Return where a text says something. "4.8 %" is not a part of "14.8 %"."""
    return [match.span() for match in re.finditer(rf"(?<![\d.,]){re.escape(says)}(?!\d)", text)]


def _difference(measured: Measured, data: ReportData | None, text: str) -> str:
    """Return what the source says if that is something else; empty if it says the same."""
    if data is None:
        return "nothing: it was not measured"
    compared = _compared(measured, data)
    if compared is None:
        return f"nothing about {measured.figure} of {measured.arm}"
    if measured.of is Of.EFFECT:
        source = wording.effect(compared)
        if not _is_directed(measured.says, text, _value(NUMBER.findall(source)[0])):
            return f"{source}, which is another direction"
    else:
        values = compared.candidate if measured.of is Of.ARM else compared.baseline
        source = wording.amount(compared, values)
    scale = 1 / MS if " ms" in source and re.search(r"\d s\b", measured.says) else 1.0
    ours = [_value(number) * scale for number in NUMBER.findall(source)]
    return "" if _is_same(NUMBER.findall(measured.says), ours) else source or "nothing: there is no verdict"


def _other_value(benchmarked: Benchmarked, result: BenchResult | None) -> str:
    """Return what the benchmark measured if that is something else; empty if it is the same."""
    if result is None:
        return "nothing: it has no committed results"
    metric = next((metric for metric in result.metrics if metric.name == benchmarked.metric), None)
    if metric is None:
        return f"nothing about {benchmarked.metric}"
    value = metric.value * benchmarked.scale
    return "" if _is_same(NUMBER.findall(benchmarked.says), [value]) else f"{value:,.4g}"


def _compared(measured: Measured, data: ReportData) -> Compared | None:
    arms = (measured.against or data.investigation.baseline, measured.arm)
    return next(
        (
            compared
            for comparison in data.judgement.comparisons
            if (comparison.baseline, comparison.candidate) == arms
            for compared in comparison.figures
            if compared.metric.name == measured.figure
        ),
        None,
    )


def _is_directed(says: str, text: str, effect: float) -> bool:
    """Return whether the first such word at each place of a text agrees with the sign of an effect."""
    for begin, end in _positions(says, text):
        words = (word for word in WORD.findall(text[begin : end + AFTER]) if word in MORE | LESS)
        if next(words, None) in (LESS if effect > 0 else MORE):
            return False
    return True


def _is_same(stated: list[str], source: list[float]) -> bool:
    """Return whether a text states the numbers of its source, or only the first of them.

    "9 % more [6, 12]" and "9 % fewer [6, 12]" state an effect of +9 and of -9; rounding is allowed.
    """
    values = [_value(number) for number in stated]
    if not values or len(values) not in (1, len(source)):
        return False
    roundings = [0.5 * 10.0 ** -len(number.partition(".")[2]) for number in stated]
    source = source[: len(values)]
    without_sign = [abs(value) for value in source]
    # The ends of an interval change places with the sign.
    wordings = [source, [-value for value in (*source[:1], *source[:0:-1])]]
    if all(value >= 0 for value in source) or all(value <= 0 for value in source):
        wordings += [without_sign, [*without_sign[:1], *without_sign[:0:-1]]]
    return any(
        all(
            abs(value - ours) <= rounding * (1 + 1e-9)
            for value, ours, rounding in zip(values, wording_of_source, roundings, strict=True)
        )
        for wording_of_source in wordings
    )


def _value(number: str) -> float:
    return float(number.replace(",", ""))
