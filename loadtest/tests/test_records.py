"""From records in the files of processes to one file, and to what it says."""

from __future__ import annotations

import json
import resource
import signal
import threading
from collections import deque
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evenkeel_load.analysis.render import headline
from evenkeel_load.analysis.summary import Summary, summarise
from evenkeel_load.errors import LoadConfigError, LoadFailed
from evenkeel_load.records.merge import merge
from evenkeel_load.records.record import FIELDS, Record
from evenkeel_load.records.recorder import Recorder

MS = 1_000_000
START = 1_800_000_000_000_000_000


def row(number: int, **fields: Any) -> Record:
    intended = START + number * 10 * MS
    usual = {
        "number": number,
        "step": 0,
        "call": "chat",
        "key": f"0-{number}",
        "intended_ns": intended,
        "sent_ns": intended + MS,
        "first_byte_ns": intended + 50 * MS,
        "end_ns": intended + 51 * MS,
        "chunk_ns": [],
        "status": 200,
        "retries": 0,
        "mock_received_ns": intended + 2 * MS,
        "mock_sent_ns": intended + 42 * MS,
        "arm": "",
        "run": "run",
    } | fields
    return Record(**dict.fromkeys(Record._fields) | usual)


def test_a_record_is_written_in_the_order_of_its_fields() -> None:
    assert Record._fields == tuple(FIELDS)


def write(folder: Path, rows: list[Record], **plan: Any) -> None:
    recorder = Recorder(folder)
    for one in rows:
        recorder.add(one)
    recorder.close()
    told = {"step": 0, "scenario": "chat", "host": "http://x", "arrivals": "closed", "users": 3, "expected": len(rows)}
    told |= {"span": None, "duration": None, "processes": 0} | plan
    (folder / f"plan-{told['step']}.json").write_text(json.dumps(told))


def summary(folder: Path) -> Summary:
    merge(folder)
    return summarise(folder)


def test_processes_are_merged_and_their_files_removed(tmp_path: Path) -> None:
    write(tmp_path, [row(number) for number in range(0, 600, 2)])
    write(tmp_path, [row(number) for number in range(1, 600, 2)])
    assert len(list(tmp_path.glob("part-*"))) == 2
    merged = pq.read_table(merge(tmp_path))
    assert sorted(merged["number"].to_pylist()) == list(range(600))
    assert list(tmp_path.glob("part-*")) == []
    # Once more, with nothing new: the same.
    assert pq.read_table(merge(tmp_path)).equals(merged)


def test_what_comes_later_is_added(tmp_path: Path) -> None:
    write(tmp_path, [row(0)])
    merge(tmp_path)
    write(tmp_path, [row(1)])
    assert pq.read_table(merge(tmp_path))["number"].to_pylist() == [0, 1]


def test_a_torn_end_costs_no_more_than_itself(tmp_path: Path) -> None:
    write(tmp_path, [row(number) for number in range(2000)])
    (part,) = tmp_path.glob("part-*")
    whole = part.read_bytes()
    for size in (len(whole) * 3 // 4, len(whole) // 2, 7, 0):
        part.write_bytes(whole[:size])
        kept = pq.read_table(merge(tmp_path)).num_rows
        assert kept % 256 == 0
        assert kept <= 2000 * size / len(whole)
        assert kept >= 2000 * size / len(whole) - 3 * 256
        (tmp_path / "records.parquet").unlink()


def test_a_folder_without_records_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="has no records"):
        merge(tmp_path)


def test_latency_counts_from_intended_and_service_from_sent(tmp_path: Path) -> None:
    write(tmp_path, [row(number) for number in range(100)])
    (step,) = summary(tmp_path).steps
    calls = step.calls["chat"]
    assert calls.latency is not None
    assert calls.service is not None
    assert calls.added is not None
    assert (calls.latency.mean, calls.service.mean) == (pytest.approx(51, rel=1e-5), pytest.approx(50, rel=1e-5))
    # 50 ms as the client saw it, 40 of them the mock's own.
    assert calls.added.quantiles["p50"] == pytest.approx(10, rel=1e-4)
    assert step.limited == ()


def test_a_streams_chunks(tmp_path: Path) -> None:
    def stream(number: int, chunks: int) -> Record:
        first = START + number * 10 * MS + 30 * MS
        times = [first + 20 * MS * chunk for chunk in range(chunks)]
        said = {"first_token_ns": first, "last_token_ns": times[-1]} if times else {}
        # The role before them, and why it ended after them, are no tokens.
        around = [first - MS, *times, first + 20 * MS * chunks]
        return row(number, call="stream", chunk_ns=around, end_ns=first + 20 * MS * chunks, **said)

    write(tmp_path, [stream(number, number % 4) for number in range(40)])
    (step,) = summary(tmp_path).steps
    calls = step.calls["stream"]
    assert calls.gap is not None
    assert calls.first_token is not None
    # 0, 0, 1 and 2 gaps, ten times each; none between two streams.
    assert (calls.gap.count, calls.gap.mean) == (30, pytest.approx(20))
    assert calls.first_token.mean == pytest.approx(29, rel=1e-5)


def test_errors_are_counted_by_class_and_not_timed(tmp_path: Path) -> None:
    rows = [row(number, error="http_429", status=429, end_ns=START) for number in range(3)]
    rows += [row(3, error="timeout", status=None, end_ns=START + 9000 * MS), row(4), row(5, retries=2)]
    write(tmp_path, rows)
    calls = summary(tmp_path).steps[0].calls["chat"]
    assert calls.errors == {"http_429": 3, "timeout": 1}
    assert calls.error_rate == pytest.approx(4 / 6)
    assert calls.latency is not None
    assert (calls.latency.count, calls.retried) == (2, 1)


def test_what_succeeds_is_told_beside_what_ends(tmp_path: Path) -> None:
    # From the first request to the last answer: 151 ms.
    rows = [row(n, error="http_500" if n % 2 else None, status=500 if n % 2 else 200) for n in range(11)]
    write(tmp_path, rows)
    found = summary(tmp_path)
    (step,) = found.steps
    assert step.answered == pytest.approx(11 / 0.151, rel=1e-5)
    assert step.succeeded == pytest.approx(6 / 0.151, rel=1e-5)
    assert headline(found, step) == "chat, 3 users: 11 requests in 0.2 s, 72.8/s, 39.7/s succeeded"


def test_slow_ones_are_told_as_shares(tmp_path: Path) -> None:
    ends = [500, 1500, 6000, 800]
    write(tmp_path, [row(n, end_ns=START + n * 10 * MS + ms * MS) for n, ms in enumerate(ends)])
    calls = summary(tmp_path).steps[0].calls["chat"]
    assert (calls.above_1s, calls.above_5s) == (0.5, 0.25)


def test_slow_ones_among_the_first_are_a_share_of_the_first(tmp_path: Path) -> None:
    # Sent at once, then one each second.
    dues = [0, 0, 0, 0, *range(1, 31)]
    slow = {0, 20}
    times = [START + 1000 * MS * due for due in dues]
    ends = [time + (6000 if n in slow else 1000) * MS for n, time in enumerate(times)]
    write(tmp_path, [row(n, intended_ns=time, sent_ns=time, end_ns=ends[n]) for n, time in enumerate(times)])
    calls = summary(tmp_path).steps[0].calls["chat"]
    # Those of the first second and a half: four and one.
    assert calls.first_slowest_ms == 6000
    assert (calls.first_above_5s, calls.above_5s) == (1 / 5, 2 / 34)


def test_several_kinds_and_several_steps(tmp_path: Path) -> None:
    write(tmp_path, [row(0), row(1, call="stream")])
    write(tmp_path, [row(0, step=1), row(1, step=1), row(2, step=1)], step=1, users=9)
    first, second = summary(tmp_path).steps
    assert (list(first.calls), first.users) == (["chat", "stream", "all"], 3)
    assert (list(second.calls), second.users, second.calls["chat"].requests) == (["chat"], 9, 3)


@pytest.mark.parametrize(
    ("rows", "plan", "told"),
    [
        ([row(n) for n in range(90)], {"expected": 100}, "10 of 100 requests left no record"),
        (
            [row(n, sent_ns=START + n * 10 * MS + 30 * MS) for n in range(100)],
            {"arrivals": "constant", "span": 0.99},
            "requests were sent late",
        ),
        ([row(n // 2) for n in range(100)], {"expected": 50}, "two loads have met"),
        (
            [row(n, sent_ns=START + n * 11 * MS) for n in range(1000)],
            {"arrivals": "constant", "span": 9.99},
            "requests a second could be sent",
        ),
        # What should have been offered comes from the plan, whatever was recorded of it.
        (
            [row(n) for n in range(100)],
            {"arrivals": "constant", "expected": 400, "span": 0.99},
            "of 403.0 requests a second could be sent",
        ),
        ([row(n, error="refused", status=None) for n in range(10)], {}, "could not be reached"),
        ([], {}, "no request was sent"),
        ([row(n) for n in range(100)], {"expected": None, "duration": 5.0}, "stopped after 1.0 of 5.0 s"),
    ],
)
def test_a_rig_at_fault_is_named(tmp_path: Path, rows: list[Any], plan: dict[str, Any], told: str) -> None:
    write(tmp_path, rows, **plan)
    assert any(told in why for why in summary(tmp_path).limited)


@pytest.mark.parametrize(("late", "told"), [(1, False), (4, False), (5, True)])
def test_a_few_late_requests_are_an_accident(tmp_path: Path, late: int, told: bool) -> None:  # noqa: FBT001
    rows = [row(n, sent_ns=START + n * 10 * MS + (30 if n < late else 1) * MS) for n in range(40)]
    write(tmp_path, rows, arrivals="constant", span=0.39)
    assert any("sent late" in why for why in summary(tmp_path).limited) == told


def test_the_rate_of_a_short_load_is_not_judged_by_milliseconds(tmp_path: Path) -> None:
    write(tmp_path, [row(0), row(1, sent_ns=START + 15 * MS)], arrivals="constant", span=0.01)
    assert summary(tmp_path).limited == ()


def test_a_load_that_time_ends_may_have_sent_all_it_was_asked_for_before(tmp_path: Path) -> None:
    write(tmp_path, [row(n) for n in range(100)], expected=None, duration=5.0, requests=100)
    assert summary(tmp_path).limited == ()


@pytest.mark.parametrize(
    ("cpus", "busy"),
    [
        ([0.99, 0.99], True),
        # The first second opens all connections: a short load is judged as a whole, a long one by its worst seconds.
        ([0.99, 0.2], False),
        ([*([0.2] * 20), 0.99, 0.99, 0.99], True),
        ([*([0.2] * 60), 0.99], False),
        ([], False),
    ],
)
def test_a_busy_process_is_named(tmp_path: Path, cpus: list[float], busy: bool) -> None:  # noqa: FBT001
    write(tmp_path, [row(0)])
    told = [json.dumps({"step": 0, "cpu": cpu, "seconds": 1.0, "over": False}) for cpu in cpus]
    last = json.dumps({"step": 0, "cpu": 0.0, "seconds": 0.0, "over": True})
    (tmp_path / "health-here-1.jsonl").write_text("\n".join([*told, last, '{"step": 0, "cp']))
    assert [("busy for 99%" in why) for why in summary(tmp_path).limited] == ([True] if busy else [])


def test_a_process_that_died_is_named_though_nobody_knows_how_much_it_had_to_send(tmp_path: Path) -> None:
    write(tmp_path, [row(n) for n in range(100)], expected=None, duration=1.0, processes=3)
    for number, over in ((1, False), (2, True)):
        told = {"step": 0, "cpu": 0.2, "seconds": 1.0, "over": over}
        (tmp_path / f"health-here-{number}.jsonl").write_text(json.dumps(told))
    assert summary(tmp_path).limited == ("2 of 3 load processes died",)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("records.parquet", "nonsense", "cannot be read"),
        ("plan-0.json", "{", "no plan"),
        ("plan-0.json", "[]", "no plan"),
        ("plan-0.json", '{"step": 0}', "no plan"),
    ],
)
def test_a_folder_that_was_tampered_with_is_told(tmp_path: Path, name: str, content: str, told: str) -> None:
    write(tmp_path, [row(0)])
    merge(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(LoadFailed, match=told):
        summarise(tmp_path)


def test_merged_records_that_are_broken_are_lost_and_that_is_said(tmp_path: Path) -> None:
    write(tmp_path, [row(0)])
    merge(tmp_path).write_text("nonsense")
    with pytest.raises(LoadFailed, match="cannot be read") as failed:
        merge(tmp_path)
    assert "the files that it was made of were removed" in failed.value.hint
    (tmp_path / "records.parquet").unlink()
    with pytest.raises(LoadFailed, match="has no records"):
        merge(tmp_path)


def test_a_load_that_still_writes_is_left_alone(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.add(row(0))
    recorder.flush()
    with pytest.raises(LoadConfigError, match="still being written"):
        merge(tmp_path)
    recorder.close()
    assert pq.read_table(merge(tmp_path)).num_rows == 1


def test_a_merge_that_was_killed_doubles_nothing(tmp_path: Path) -> None:
    write(tmp_path, [row(n) for n in range(5)])
    (part,) = tmp_path.glob("part-*")
    content = part.read_bytes()
    merge(tmp_path)
    # As if it had been killed before it could remove what it had merged.
    part.write_bytes(content)
    assert pq.read_table(merge(tmp_path)).num_rows == 5
    assert list(tmp_path.glob("part-*")) == []


def test_two_merges_at_once_are_one(tmp_path: Path) -> None:
    for _ in range(4):
        write(tmp_path, [row(n) for n in range(20_000)])
    outcomes: list[Path | LoadConfigError] = []

    def merge_one() -> None:
        try:
            outcomes.append(merge(tmp_path))
        except LoadConfigError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=merge_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pq.read_table(tmp_path / "records.parquet").num_rows == 80_000
    assert all(isinstance(one, Path) or "is in use" in str(one) for one in outcomes)


def test_what_was_not_read_whole_is_kept(tmp_path: Path) -> None:
    write(tmp_path, [row(n) for n in range(1000)])
    (part,) = tmp_path.glob("part-*")
    torn = part.read_bytes()[:-2000]
    part.write_bytes(torn)
    (tmp_path / "part-0.arrows").write_bytes(b"no records at all")
    assert 0 < pq.read_table(merge(tmp_path)).num_rows < 1000
    assert (tmp_path / f"torn-{part.name}").read_bytes() == torn
    assert (tmp_path / "torn-part-0.arrows").read_bytes() == b"no records at all"
    # As if the merge had been killed before it could set that aside.
    (tmp_path / f"torn-{part.name}").rename(part)
    merge(tmp_path)
    assert (tmp_path / f"torn-{part.name}").read_bytes() == torn


def test_a_full_disk_is_told_once(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    recorder = Recorder(tmp_path)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, hard))
        rows = (row(number) for number in range(10_000))
        with pytest.raises(LoadFailed, match="cannot be written"):
            deque(map(recorder.add, rows), maxlen=0)
        recorder.add(next(rows))
        recorder.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def test_foreign_records_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, [row(0)])
    table = pa.table({"some": ["thing"]})
    with (tmp_path / "part-foreign.arrows").open("wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    with pytest.raises(LoadFailed, match="cannot be merged"):
        merge(tmp_path)
    assert len(list(tmp_path.glob("part-*"))) == 2
