"""Diagnosis of synthetic loads whose bottleneck is known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenkeel_lab.diagnosis.diagnose import Bound, Diagnosis, diagnose
from evenkeel_lab.diagnosis.evidence import read
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_load.records.record import Record


def finding(diagnosis: Diagnosis, check: str) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.check == check)


def impact(diagnosis: Diagnosis, check: str) -> Impact | None:
    return next((finding.impact for finding in diagnosis.findings if finding.check == check), None)


def steady(folder: Any, count: int = 400, every: float = 50.0, **fields: Any) -> list[Record]:
    return [folder.record(number, number * every, **fields) for number in range(count)]


def test_a_slow_provider_is_upstream_bound(folder: Any) -> None:
    diagnosis = folder.load(steady(folder, upstream=400.0, proxy=8.0)).diagnosis()
    assert diagnosis.bound is Bound.UPSTREAM
    assert diagnosis.headline == "upstream-bound: 98% of the time was the provider's"
    assert "400 ms (98%) were the provider's" in diagnosis.details[0]
    assert diagnosis.details[-1] == "It was like that throughout."
    assert diagnosis.findings[0].check == "upstream"
    assert all(finding.because and finding.hint for finding in diagnosis.findings if finding.impact is Impact.BINDS)


def test_a_saturated_proxy_process_is_local_bound(folder: Any) -> None:
    diagnosis = folder.load(folder.one_after_another(20, 1000, 20.0), users=20).proxy(0.97).diagnosis()
    assert diagnosis.bound is Bound.LOCAL
    assert diagnosis.headline.startswith("local-bound: python (process 7) had no more to give")
    assert "python (process 7) used 0.97 cores" in diagnosis.findings[0].because
    assert diagnosis.findings[0].confidence is Confidence.HIGH
    assert all(tenth.cores == pytest.approx(1.07) for tenth in diagnosis.over_time)


def test_a_saturated_process_outranks_a_slow_provider(folder: Any) -> None:
    # 30 at once of 20 ms each make 600 ms, of which the provider's 450 are the most.
    rows = folder.one_after_another(30, 1000, 20.0, upstream=450.0)
    diagnosis = folder.load(rows, users=30).proxy(0.95).diagnosis()
    assert diagnosis.bound is Bound.LOCAL
    assert impact(diagnosis, "upstream") is Impact.BINDS


def test_a_saturated_process_that_delays_no_request_only_costs(folder: Any) -> None:
    diagnosis = folder.load(steady(folder, upstream=400.0, proxy=8.0)).proxy(0.95).diagnosis()
    assert (diagnosis.bound, impact(diagnosis, "cpu")) == (Bound.UPSTREAM, Impact.COSTS)


def test_the_hint_for_a_single_user_says_that_more_workers_do_not_help(folder: Any) -> None:
    diagnosis = folder.load(folder.one_after_another(1, 600, 30.0), users=1).proxy(0.97).diagnosis()
    assert (diagnosis.bound, diagnosis.findings[0].check) == (Bound.LOCAL, "cpu")
    assert "hardly more than one request at once" in diagnosis.headline
    assert "none of them sooner" in diagnosis.findings[0].hint


def test_waiting_for_a_core_counts_as_busy(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 20.0)
    diagnosis = folder.load(rows, users=20, busy=1.2).proxy(0.5, waited=0.45).diagnosis()
    assert (diagnosis.bound, impact(diagnosis, "cpu")) == (Bound.LOCAL, Impact.BINDS)


def test_a_machine_without_a_free_core_is_rig_bound(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 20.0)
    diagnosis = folder.load(rows, users=20, busy=1.95).proxy(0.5, waited=0.45).diagnosis()
    assert diagnosis.headline == "rig-bound: the machine had no core left for the proxy"


def test_a_machine_filled_by_the_proxy_itself_is_local_bound(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 20.0)
    diagnosis = folder.load(rows, users=20, busy=1.95).proxy(0.95, waited=0.04).diagnosis()
    assert (diagnosis.bound, impact(diagnosis, "machine")) == (Bound.LOCAL, Impact.COSTS)


def test_a_full_machine_on_which_the_proxy_got_its_share_only_costs(folder: Any) -> None:
    diagnosis = folder.load(steady(folder, proxy=20.0), busy=1.95).proxy(0.3, waited=0.05).diagnosis()
    assert (diagnosis.bound, impact(diagnosis, "machine")) == (Bound.FREE, Impact.COSTS)


def test_the_bound_is_unknown_on_a_full_machine_if_waits_for_a_core_were_not_recorded(folder: Any) -> None:
    diagnosis = folder.load(steady(folder, proxy=100.0, every=40.0), busy=1.95).session(cpu={"python": 2.0}).diagnosis()
    assert (diagnosis.bound, impact(diagnosis, "waiting")) == (Bound.UNKNOWN, None)


@pytest.mark.parametrize(("used", "bound"), [(0.93, Bound.LOCAL), (0.4, Bound.FREE)])
def test_programs_pinned_to_one_core_saturate_it_together(folder: Any, used: float, bound: Bound) -> None:
    cpu = {"python": used * 12.0, "query-engine": used * 8.0}
    rows = steady(folder, proxy=20.0)
    diagnosis = folder.load(rows).session(seconds=20.0, cpu=cpu, cores=(1,)).diagnosis()
    assert diagnosis.bound is bound


def test_an_event_loop_that_is_late_without_cpu_usage_is_blocked(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 20.0)
    diagnosis = folder.load(rows).session(cpu={"python": 3.0}, figures={"loop_lag": 90.0}).diagnosis()
    assert diagnosis.headline == "local-bound: the event loop was blocked by something that waits, not by work"
    assert "py-spy dump" in diagnosis.findings[0].hint


def test_an_event_loop_that_is_late_because_of_cpu_usage_is_not_the_cause(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 20.0)
    diagnosis = folder.load(rows).session(cpu={"python": 19.0}, figures={"loop_lag": 90.0}).diagnosis()
    assert (diagnosis.findings[0].check, impact(diagnosis, "event loop")) == ("cpu", Impact.BINDS)


@pytest.mark.parametrize(
    ("waits", "cause"),
    [
        ({"Lock:transactionid": 120, "Lock:tuple": 20, "active": 10, "Client:ClientRead": 900}, "locks"),
        ({"LWLock:LockManager": 120}, "locks"),
        ({"IO:WALSync": 100, "active": 10}, "commits"),
        ({"IO:WalSync": 60, "LWLock:WALWrite": 60}, "commits"),
        ({"active": 90, "IO:DataFileRead": 40}, "database"),
    ],
)
def test_the_wait_event_of_postgres_is_named(folder: Any, waits: dict[str, int], cause: str) -> None:
    # Ten at once of 100 ms each are 100 a second; 20 looks saw about six busy connections: 60 ms of a request.
    rows = [folder.record(number, number * 10.0, proxy=100.0) for number in range(2000)]
    diagnosis = folder.load(rows).session(waits=waits).diagnosis()
    assert diagnosis.bound is Bound.LOCAL
    assert diagnosis.findings[0].check == cause
    worst = max(waits, key=lambda name: 0 if name.startswith("Client") else waits[name])
    assert worst in " ".join((diagnosis.headline, *diagnosis.findings[0].because))
    assert "Client" not in " ".join(diagnosis.findings[0].because)


def test_an_idle_database_is_clear(folder: Any) -> None:
    rows = steady(folder, count=4000, every=5.0, proxy=20.0)
    diagnosis = folder.load(rows).session(waits={"active": 3}, figures={"database_calls": 2.0}).diagnosis()
    assert [impact(diagnosis, name) for name in ("locks", "commits", "database")] == [Impact.CLEAR] * 3
    assert "2.0 transactions for a request" in finding(diagnosis, "database").because


def test_a_few_busy_connections_do_not_bind(folder: Any) -> None:
    diagnosis = folder.load(steady(folder, proxy=20.0)).session(waits={"active": 5}).diagnosis()
    assert diagnosis.bound is Bound.FREE
    assert (impact(diagnosis, "database"), finding(diagnosis, "database").confidence) == (Impact.COSTS, Confidence.LOW)


def test_deadlocks_are_always_reported(folder: Any) -> None:
    diagnosis = folder.load(steady(folder)).session(database={"deadlocks": 2, "temp_files": 3}).diagnosis()
    assert (impact(diagnosis, "locks"), "2 deadlocks" in finding(diagnosis, "locks").because) == (Impact.COSTS, True)
    assert "temporary files" in finding(diagnosis, "database").because[-1]


@pytest.mark.parametrize(("calls", "expected"), [(60.0, Impact.COSTS), (2.0, Impact.CLEAR)])
def test_the_cost_of_valkey_is_estimated_from_its_commands_with_low_confidence(
    folder: Any, calls: float, expected: Impact
) -> None:
    diagnosis = folder.load(steady(folder, proxy=20.0)).session(figures={"valkey_calls": calls}).diagnosis()
    assert (impact(diagnosis, "valkey"), finding(diagnosis, "valkey").confidence) == (expected, Confidence.LOW)


def test_a_load_that_was_sent_late_is_rig_bound(folder: Any) -> None:
    late = [
        folder.record(n, n * 10.0, sent_ns=1_800_000_000_000_000_000 + (n * 10 + 30) * 1_000_000) for n in range(300)
    ]
    diagnosis = folder.load(late, cpu=0.97, arrivals="constant", span=2.99).diagnosis()
    assert diagnosis.headline.startswith("rig-bound: requests were sent late")
    assert "--workers" in diagnosis.findings[0].hint


def test_the_hint_for_a_load_without_free_connections_names_the_slow_target(folder: Any) -> None:
    late = [
        folder.record(n, n * 10.0, sent_ns=1_800_000_000_000_000_000 + (n * 10 + 30) * 1_000_000) for n in range(300)
    ]
    diagnosis = folder.load(late, arrivals="constant", span=2.99, users=70, connections=64).diagnosis()
    assert "All 64 connections were in use" in diagnosis.findings[0].hint


def test_a_saturated_mock_is_rig_bound(folder: Any) -> None:
    diagnosis = folder.load(steady(folder)).session(provider=0.9).diagnosis()
    assert diagnosis.headline == "rig-bound: the mock was too busy to stand for a provider"


def test_a_run_that_the_session_calls_invalid_is_rig_bound(folder: Any) -> None:
    diagnosis = folder.load(steady(folder)).session(limited=("the machine below took 4.0% of a core away",)).diagnosis()
    assert diagnosis.headline == "rig-bound: a gate of the session failed: the machine below took 4.0% of a core away"


def test_a_busy_load_generator_does_not_bind_a_run_of_the_mock_alone(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 0.5)
    diagnosis = folder.load(rows, cpu=0.99, users=20).session("direct", cpu={}, database={}, provider=0.0).diagnosis()
    assert diagnosis.bound is Bound.FREE


def test_a_load_that_waits_for_its_own_connections_is_rig_bound(folder: Any) -> None:
    rows = [folder.record(n, n * 10.0, proxy=100.0) for n in range(300)]
    rows = [row._replace(sent_ns=row.intended_ns + 80_000_000) for row in rows]
    diagnosis = folder.load(rows).diagnosis()
    assert diagnosis.bound is Bound.RIG
    assert diagnosis.findings[0].check == "client"


def test_a_proxy_with_spare_capacity_is_not_bound(folder: Any) -> None:
    diagnosis = folder.load(steady(folder, proxy=12.0)).proxy(0.2).diagnosis()
    assert diagnosis.bound is Bound.FREE
    assert not [finding for finding in diagnosis.findings if finding.impact in {Impact.BINDS, Impact.COSTS}]


def test_the_bound_is_unknown_without_the_times_of_the_provider(folder: Any) -> None:
    rows = steady(folder, upstream=300.0, mock_received_ns=None, mock_sent_ns=None)
    diagnosis = folder.load(rows).proxy(0.2).diagnosis()
    assert diagnosis.bound is Bound.UNKNOWN
    assert "evenkeel mock" in finding(diagnosis, "upstream").hint
    assert (diagnosis.split.upstream, diagnosis.split.proxy) == (None, None)


def test_a_saturated_process_is_local_bound_even_without_the_times_of_the_provider(folder: Any) -> None:
    rows = steady(folder, upstream=300.0, mock_received_ns=None, mock_sent_ns=None)
    assert folder.load(rows).proxy(0.97).diagnosis().bound is Bound.LOCAL


def test_the_bound_is_unknown_if_a_queue_looks_like_a_slow_dependency(folder: Any) -> None:
    # Twenty inside all the time, all of them as slow: a queue, or a proxy that waits 300 ms for something.
    rows = [folder.record(n, n * 15.0, proxy=300.0) for n in range(1000)]
    diagnosis = folder.load(rows, users=20).diagnosis()
    assert diagnosis.bound is Bound.UNKNOWN
    assert "--users 1,10,50" in diagnosis.findings[0].hint


def test_the_bound_is_unknown_with_few_requests(folder: Any) -> None:
    diagnosis = folder.load(steady(folder, count=7)).diagnosis()
    assert diagnosis.headline == "unknown: only 7 requests went well, which may be an accident"


def test_each_check_without_data_has_a_hint_how_to_record_them(folder: Any) -> None:
    diagnosis = folder.load(steady(folder)).diagnosis()
    missing = {finding.check: finding.hint for finding in diagnosis.findings if finding.impact is Impact.UNKNOWN}
    assert set(missing) == {"provider", "cpu", "event loop", "database", "valkey"}
    assert all("--pid" in hint or "investigation" in hint for hint in missing.values())


def test_idle_processes_while_requests_wait_are_local_bound(folder: Any) -> None:
    rows = [folder.record(n, n * 15.0, proxy=300.0) for n in range(1000)]
    diagnosis = folder.load(rows, users=20).proxy(0.1).diagnosis()
    assert diagnosis.headline == "local-bound: the proxy did nothing for most of its time: it waited for something"


def test_requests_that_wait_for_each_other_without_a_busy_process_are_local_bound(folder: Any) -> None:
    rng, free, due, rows = np.random.default_rng(1), 0.0, 0.0, []
    for n in range(2000):
        due += float(rng.exponential(25.0))
        free = max(free, due) + 20.0
        rows.append(folder.record(n, due, proxy=free - due))
    diagnosis = folder.load(rows, arrivals="poisson", span=rows[-1].intended_ns / 1e9 - 1.8e9).proxy(0.1).diagnosis()
    assert diagnosis.bound is Bound.LOCAL
    assert "though none of its processes was busy" in diagnosis.headline


def test_steps_of_growing_users_show_saturation(folder: Any) -> None:
    for step, users in enumerate((2, 20)):
        rows = [row._replace(step=step) for row in folder.one_after_another(users, 400, 20.0)]
        folder.load(rows, step=step, users=users)
    folder.path.rename(folder.path.with_name("ladder"))
    few, many = read(folder.path.with_name("ladder"))
    assert (few.name[-8:], many.name[-8:]) == (" 2 users", "20 users")
    diagnosis = diagnose(many)
    assert (diagnosis.bound, finding(diagnosis, "queue").confidence) == (Bound.LOCAL, Confidence.HIGH)


def test_a_growing_backlog_is_reported_as_a_trend(folder: Any) -> None:
    free, rows = 0.0, []
    for n in range(1000):
        free = max(free, n * 10.0) + 14.0
        rows.append(folder.record(n, n * 10.0, proxy=free - n * 10.0))
    diagnosis = folder.load(rows, arrivals="constant", span=9.99).diagnosis()
    assert diagnosis.bound is Bound.LOCAL
    assert finding(diagnosis, "trend").location is Location.LOCAL
    assert "slower and slower" in diagnosis.details[-1]


def test_retries_are_reported_with_their_share(folder: Any) -> None:
    rows = [folder.record(n, n * 50.0, retries=int(n % 4 == 0)) for n in range(400)]
    assert finding(folder.load(rows).diagnosis(), "retries").numbers["share"] == pytest.approx(0.25)


def test_slow_first_requests_of_users_are_reported(folder: Any) -> None:
    rows = [folder.record(n, n * 50.0, proxy=10.0 + 40.0 * (n % 4 == 0), user=f"u{n // 4}") for n in range(800)]
    result = finding(folder.load(rows).diagnosis(), "users")
    assert (result.impact, result.numbers) == (
        Impact.COSTS,
        {"first_ms": pytest.approx(50), "later_ms": pytest.approx(10)},
    )


def test_the_cost_of_new_users_is_unknown_if_no_user_returns(folder: Any) -> None:
    rows = [folder.record(n, n * 50.0, user=f"u{n}") for n in range(800)]
    assert impact(folder.load(rows).diagnosis(), "users") is Impact.UNKNOWN


def test_a_slow_deployment_is_named(folder: Any) -> None:
    rows = [
        folder.record(n, n * 50.0, upstream=900.0 if n % 5 == 0 else 90.0, model_id=f"m{n % 5}") for n in range(500)
    ]
    assert "deployment m0 was much slower" in finding(folder.load(rows).diagnosis(), "deployments").verdict


def test_a_provider_that_slows_down_with_concurrency_is_reported(folder: Any) -> None:
    rows = [folder.record(n, n * 100.0, upstream=100.0 + n, proxy=2.0) for n in range(600)]
    diagnosis = folder.load(rows, arrivals="constant", span=59.9).diagnosis()
    assert (diagnosis.bound, impact(diagnosis, "provider queue")) == (Bound.UPSTREAM, Impact.COSTS)


def test_the_cpu_time_of_a_run_is_divided_by_the_workers_of_its_arm(folder: Any, another: Callable[[str], Any]) -> None:
    text = (
        '{"title":"t","question":"q","hypothesis":"h","baseline":"off","figures":{"p50":{"margin":0.05,"primary":true}},'
        '"arms":{"off":{"about":"a","workers":4},"on":{"about":"b"}}}'
    )
    session = another("session")
    (session.path / "session.json").write_text(json.dumps({"schema": 2, "investigation": json.loads(text)}))
    bounds = {}
    for arm in ("off", "again", "on"):
        run = replace(session, path=session.path / "001+off+on" / arm)
        run.load(folder.one_after_another(20, 1000, 20.0)).session(arm, cpu={"python": 19.0})
        bounds[arm] = impact(run.diagnosis(), "cpu")
    assert bounds == {"off": Impact.CLEAR, "again": Impact.CLEAR, "on": Impact.BINDS}


def test_the_clock_of_the_provider_may_differ(folder: Any) -> None:
    day = 86_400 * 10**9
    rows = steady(folder, upstream=400.0, proxy=8.0)
    rows = [
        row._replace(mock_received_ns=row.mock_received_ns + day, mock_sent_ns=row.mock_sent_ns + day) for row in rows
    ]
    diagnosis = folder.load(rows).diagnosis()
    assert (diagnosis.bound, diagnosis.split.share("upstream")) == (Bound.UPSTREAM, pytest.approx(0.98, abs=0.01))
