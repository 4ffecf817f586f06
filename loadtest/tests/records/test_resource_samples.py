"""Samples of a watched proxy in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_load.records import folder as names
from evenkeel_load.records.resource_samples import Sample, Used, read_samples, waited, write_samples

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = Sample(1.8e9, 1.0, (Used(7, "python", 0.9, 0.05), Used(8, "query-engine", 0.1, None)), 800.0)


def test_samples_are_added_and_read_again(tmp_path: Path) -> None:
    assert read_samples(tmp_path) == []
    write_samples(tmp_path, [])
    assert list(tmp_path.iterdir()) == []
    write_samples(tmp_path, [SAMPLE])
    write_samples(tmp_path, [SAMPLE, SAMPLE])
    assert read_samples(tmp_path) == [SAMPLE] * 3


def test_a_line_that_is_not_whole_costs_no_more_than_itself(tmp_path: Path) -> None:
    write_samples(tmp_path, [SAMPLE])
    path = tmp_path / names.SAMPLES
    whole = path.read_text()
    path.write_text(whole + whole[: len(whole) // 2] + "\n" + '{"time": 1.0}\n[]\n' + whole)
    assert read_samples(tmp_path) == [SAMPLE] * 2


def test_only_the_busiest_process_is_waited_for() -> None:
    assert waited([SAMPLE, SAMPLE]) == 0.05
    idle = Sample(1.8e9, 1.0, (Used(7, "python", 0.1, 0.9), Used(8, "query-engine", 0.2, 0.3)), 800.0)
    assert waited([idle]) == 0.3
    assert waited([Sample(1.8e9, 1.0, (Used(7, "python", 0.9, None),), 800.0)]) is None
    assert waited([]) is None
