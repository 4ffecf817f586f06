"""What held a load back, of loads of which it is known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenkeel_lab.diagnosis.diagnose import Bound, Diagnosis, diagnose
from evenkeel_lab.diagnosis.evidence import read
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_load.records.record import Record


def finding(found: Diagnosis, check: str) -> Finding:
    return next(one for one in found.findings if one.check == check)


def state(found: Diagnosis, check: str) -> State | None:
    return next((one.state for one in found.findings if one.check == check), None)


def steady(folder: Any, count: int = 400, every: float = 50.0, **fields: Any) -> list[Record]:
    return [folder.record(number, number * every, **fields) for number in range(count)]


def test_a_slow_provider_is_upstream(folder: Any) -> None:
    found = folder.load(steady(folder, upstream=400.0, proxy=8.0)).diagnosis()
    assert found.bound is Bound.UPSTREAM
    assert found.headline == "upstream-bound: 98% of the time was the provider's"
    assert "400 ms (98%) were the provider's" in found.details[0]
    assert found.details[-1] == "It was like that throughout."
    assert found.findings[0].check == "upstream"
    assert all(one.because and one.hint for one in found.findings if one.state is State.BINDS)


def test_a_proxy_whose_process_is_full_is_local(folder: Any) -> None:
    found = folder.load(folder.one_after_another(20, 1000, 20.0), users=20).proxy(0.97).diagnosis()
    assert found.bound is Bound.LOCAL
    assert found.headline.startswith("local-bound: python (process 7) had no more to give")
    assert "python (process 7) used 0.97 cores" in found.findings[0].because
    assert found.findings[0].sure is Sure.HIGH
    assert all(one.cores == pytest.approx(1.07) for one in found.over_time)


def test_a_full_process_decides_however_long_the_provider_takes(folder: Any) -> None:
    # 30 at once of 20 ms each make 600 ms, of which the provider's 450 are the most.
    rows = folder.one_after_another(30, 1000, 20.0, upstream=450.0)
    found = folder.load(rows, users=30).proxy(0.95).diagnosis()
    assert found.bound is Bound.LOCAL
    assert state(found, "upstream") is State.BINDS


def test_a_full_process_that_nobody_waits_for_holds_nothing_up(folder: Any) -> None:
    found = folder.load(steady(folder, upstream=400.0, proxy=8.0)).proxy(0.95).diagnosis()
    assert (found.bound, state(found, "cpu")) == (Bound.UPSTREAM, State.COSTS)


def test_more_workers_do_not_make_a_single_request_faster(folder: Any) -> None:
    found = folder.load(folder.one_after_another(1, 600, 30.0), users=1).proxy(0.97).diagnosis()
    assert (found.bound, found.findings[0].check) == (Bound.LOCAL, "cpu")
    assert "hardly more than one request at once" in found.headline
    assert "none of them sooner" in found.findings[0].hint


def test_a_thread_that_stands_in_line_for_a_core_is_as_busy(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 20.0)
    found = folder.load(rows, users=20, busy=1.2).proxy(0.5, waited=0.45).diagnosis()
    assert (found.bound, state(found, "cpu")) == (Bound.LOCAL, State.BINDS)


def test_a_machine_without_a_core_left_is_the_rigs_fault(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 20.0)
    found = folder.load(rows, users=20, busy=1.95).proxy(0.5, waited=0.45).diagnosis()
    assert found.headline == "rig-bound: the machine had no core left for the proxy"


def test_a_machine_that_the_proxy_fills_is_no_excuse(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 20.0)
    found = folder.load(rows, users=20, busy=1.95).proxy(0.95, waited=0.04).diagnosis()
    assert (found.bound, state(found, "machine")) == (Bound.LOCAL, State.COSTS)


def test_a_full_machine_on_which_the_proxy_got_its_share_is_no_fault(folder: Any) -> None:
    found = folder.load(steady(folder, proxy=20.0), busy=1.95).proxy(0.3, waited=0.05).diagnosis()
    assert (found.bound, state(found, "machine")) == (Bound.FREE, State.COSTS)


def test_whether_a_proxy_waited_for_a_core_is_not_guessed(folder: Any) -> None:
    found = folder.load(steady(folder, proxy=100.0, every=40.0), busy=1.95).session(cpu={"python": 2.0}).diagnosis()
    assert (found.bound, state(found, "waiting")) == (Bound.UNKNOWN, None)


@pytest.mark.parametrize(("used", "bound"), [(0.93, Bound.LOCAL), (0.4, Bound.FREE)])
def test_programs_that_share_a_core_fill_it_together(folder: Any, used: float, bound: Bound) -> None:
    cpu = {"python": used * 12.0, "query-engine": used * 8.0}
    rows = steady(folder, proxy=20.0)
    found = folder.load(rows).session(seconds=20.0, cpu=cpu, cores=(1,)).diagnosis()
    assert found.bound is bound


def test_a_loop_that_is_late_without_work_is_blocked(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 20.0)
    found = folder.load(rows).session(cpu={"python": 3.0}, figures={"loop_lag": 90.0}).diagnosis()
    assert found.headline == "local-bound: the event loop was blocked by something that waits, not by work"
    assert "py-spy dump" in found.findings[0].hint


def test_a_loop_that_is_late_from_work_is_an_effect(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 20.0)
    found = folder.load(rows).session(cpu={"python": 19.0}, figures={"loop_lag": 90.0}).diagnosis()
    assert (found.findings[0].check, state(found, "event loop")) == ("cpu", State.BINDS)


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
def test_what_postgres_was_waited_for_is_named(folder: Any, waits: dict[str, int], cause: str) -> None:
    # Ten at once of 100 ms each are 100 a second; 20 looks saw about six busy connections: 60 ms of a request.
    rows = [folder.record(number, number * 10.0, proxy=100.0) for number in range(2000)]
    found = folder.load(rows).session(waits=waits).diagnosis()
    assert found.bound is Bound.LOCAL
    assert found.findings[0].check == cause
    worst = max(waits, key=lambda name: 0 if name.startswith("Client") else waits[name])
    assert worst in " ".join((found.headline, *found.findings[0].because))
    assert "Client" not in " ".join(found.findings[0].because)


def test_a_database_that_nobody_waits_for_is_clear(folder: Any) -> None:
    rows = steady(folder, count=4000, every=5.0, proxy=20.0)
    found = folder.load(rows).session(waits={"active": 3}, figures={"database_calls": 2.0}).diagnosis()
    assert [state(found, name) for name in ("locks", "commits", "database")] == [State.CLEAR] * 3
    assert "2.0 transactions for a request" in finding(found, "database").because


def test_a_busy_connection_now_and_then_binds_nothing(folder: Any) -> None:
    found = folder.load(steady(folder, proxy=20.0)).session(waits={"active": 5}).diagnosis()
    assert found.bound is Bound.FREE
    assert (state(found, "database"), finding(found, "database").sure) == (State.COSTS, Sure.LOW)


def test_deadlocks_are_never_passed_over(folder: Any) -> None:
    found = folder.load(steady(folder)).session(database={"deadlocks": 2, "temp_files": 3}).diagnosis()
    assert (state(found, "locks"), "2 deadlocks" in finding(found, "locks").because) == (State.COSTS, True)
    assert "temporary files" in finding(found, "database").because[-1]


@pytest.mark.parametrize(("calls", "told"), [(60.0, State.COSTS), (2.0, State.CLEAR)])
def test_valkey_is_counted_and_not_more(folder: Any, calls: float, told: State) -> None:
    found = folder.load(steady(folder, proxy=20.0)).session(figures={"valkey_calls": calls}).diagnosis()
    assert (state(found, "valkey"), finding(found, "valkey").sure) == (told, Sure.LOW)


def test_a_load_that_sent_late_is_the_rigs_fault(folder: Any) -> None:
    late = [
        folder.record(n, n * 10.0, sent_ns=1_800_000_000_000_000_000 + (n * 10 + 30) * 1_000_000) for n in range(300)
    ]
    found = folder.load(late, cpu=0.97, arrivals="constant", span=2.99).diagnosis()
    assert found.headline.startswith("rig-bound: requests were sent late")
    assert "--workers" in found.findings[0].hint


def test_a_load_without_connections_left_says_that_the_target_is_slow(folder: Any) -> None:
    late = [
        folder.record(n, n * 10.0, sent_ns=1_800_000_000_000_000_000 + (n * 10 + 30) * 1_000_000) for n in range(300)
    ]
    found = folder.load(late, arrivals="constant", span=2.99, users=70, connections=64).diagnosis()
    assert "All 64 connections were in use" in found.findings[0].hint


def test_a_busy_mock_is_the_rigs_fault(folder: Any) -> None:
    found = folder.load(steady(folder)).session(provider=0.9).diagnosis()
    assert found.headline == "rig-bound: the mock was too busy to stand for a provider"


def test_a_failed_gate_of_the_session_is_the_rigs_fault(folder: Any) -> None:
    found = folder.load(steady(folder)).session(limited=("the machine below took 4.0% of a core away",)).diagnosis()
    assert found.headline == "rig-bound: a gate of the session failed: the machine below took 4.0% of a core away"


def test_the_mock_alone_may_be_loaded_as_fast_as_it_goes(folder: Any) -> None:
    rows = folder.one_after_another(20, 1000, 0.5)
    found = folder.load(rows, cpu=0.99, users=20).session("direct", cpu={}, database={}, provider=0.0).diagnosis()
    assert found.bound is Bound.FREE


def test_a_load_that_waits_for_its_own_connections_is_told(folder: Any) -> None:
    rows = [folder.record(n, n * 10.0, proxy=100.0) for n in range(300)]
    rows = [one._replace(sent_ns=one.intended_ns + 80_000_000) for one in rows]
    found = folder.load(rows).diagnosis()
    assert found.bound is Bound.RIG
    assert found.findings[0].check == "client"


def test_a_proxy_with_room_is_not_bound(folder: Any) -> None:
    found = folder.load(steady(folder, proxy=12.0)).proxy(0.2).diagnosis()
    assert found.bound is Bound.FREE
    assert not [one for one in found.findings if one.state in {State.BINDS, State.COSTS}]


def test_without_the_providers_times_nothing_is_made_up(folder: Any) -> None:
    rows = steady(folder, upstream=300.0, mock_received_ns=None, mock_sent_ns=None)
    found = folder.load(rows).proxy(0.2).diagnosis()
    assert found.bound is Bound.UNKNOWN
    assert "evenkeel mock" in finding(found, "upstream").hint
    assert (found.split.upstream, found.split.proxy) == (None, None)


def test_a_full_process_is_enough_without_the_providers_times(folder: Any) -> None:
    rows = steady(folder, upstream=300.0, mock_received_ns=None, mock_sent_ns=None)
    assert folder.load(rows).proxy(0.97).diagnosis().bound is Bound.LOCAL


def test_whether_a_proxy_is_saturated_is_not_guessed(folder: Any) -> None:
    # Twenty inside all the time, all of them as slow: a queue, or a proxy that waits 300 ms for something.
    rows = [folder.record(n, n * 15.0, proxy=300.0) for n in range(1000)]
    found = folder.load(rows, users=20).diagnosis()
    assert found.bound is Bound.UNKNOWN
    assert "--users 1,10,50" in found.findings[0].hint


def test_a_few_requests_are_an_accident(folder: Any) -> None:
    found = folder.load(steady(folder, count=7)).diagnosis()
    assert found.headline == "cannot be told: only 7 requests went well, which may be an accident"


def test_what_was_not_recorded_is_said_with_how_to_record_it(folder: Any) -> None:
    found = folder.load(steady(folder)).diagnosis()
    missing = {one.check: one.hint for one in found.findings if one.state is State.UNTOLD}
    assert set(missing) == {"provider", "cpu", "event loop", "database", "valkey"}
    assert all("--pid" in hint or "investigation" in hint for hint in missing.values())


def test_a_proxy_whose_processes_are_idle_while_requests_wait(folder: Any) -> None:
    rows = [folder.record(n, n * 15.0, proxy=300.0) for n in range(1000)]
    found = folder.load(rows, users=20).proxy(0.1).diagnosis()
    assert found.headline == "local-bound: the proxy did nothing for most of its time: it waited for something"


def test_requests_that_wait_for_each_other_though_nothing_is_busy(folder: Any) -> None:
    rng, free, due, rows = np.random.default_rng(1), 0.0, 0.0, []
    for n in range(2000):
        due += float(rng.exponential(25.0))
        free = max(free, due) + 20.0
        rows.append(folder.record(n, due, proxy=free - due))
    found = folder.load(rows, arrivals="poisson", span=rows[-1].intended_ns / 1e9 - 1.8e9).proxy(0.1).diagnosis()
    assert found.bound is Bound.LOCAL
    assert "though none of its processes was busy" in found.headline


def test_a_ladder_shows_saturation(folder: Any) -> None:
    for step, users in enumerate((2, 20)):
        rows = [one._replace(step=step) for one in folder.one_after_another(users, 400, 20.0)]
        folder.load(rows, step=step, users=users)
    folder.path.rename(folder.path.with_name("ladder"))
    few, many = read(folder.path.with_name("ladder"))
    assert (few.name[-8:], many.name[-8:]) == (" 2 users", "20 users")
    found = diagnose(many)
    assert (found.bound, finding(found, "queue").sure) == (Bound.LOCAL, Sure.HIGH)


def test_more_than_is_answered_piles_up(folder: Any) -> None:
    free, rows = 0.0, []
    for n in range(1000):
        free = max(free, n * 10.0) + 14.0
        rows.append(folder.record(n, n * 10.0, proxy=free - n * 10.0))
    found = folder.load(rows, arrivals="constant", span=9.99).diagnosis()
    assert found.bound is Bound.LOCAL
    assert finding(found, "trend").place is Place.LOCAL
    assert "slower and slower" in found.details[-1]


def test_retries_count_as_the_proxys_time_and_are_told(folder: Any) -> None:
    rows = [folder.record(n, n * 50.0, retries=int(n % 4 == 0)) for n in range(400)]
    assert finding(folder.load(rows).diagnosis(), "retries").numbers["share"] == pytest.approx(0.25)


def test_a_user_that_the_proxy_does_not_know_costs_a_lookup(folder: Any) -> None:
    rows = [folder.record(n, n * 50.0, proxy=10.0 + 40.0 * (n % 4 == 0), user=f"u{n // 4}") for n in range(800)]
    found = finding(folder.load(rows).diagnosis(), "users")
    assert (found.state, found.numbers) == (State.COSTS, {"first_ms": pytest.approx(50), "later_ms": pytest.approx(10)})


def test_users_that_never_come_again_cannot_be_compared(folder: Any) -> None:
    rows = [folder.record(n, n * 50.0, user=f"u{n}") for n in range(800)]
    assert state(folder.load(rows).diagnosis(), "users") is State.UNTOLD


def test_a_deployment_that_is_slow_is_named(folder: Any) -> None:
    rows = [
        folder.record(n, n * 50.0, upstream=900.0 if n % 5 == 0 else 90.0, model_id=f"m{n % 5}") for n in range(500)
    ]
    assert "deployment m0 was much slower" in finding(folder.load(rows).diagnosis(), "deployments").verdict


def test_a_provider_that_is_slower_when_it_is_asked_more(folder: Any) -> None:
    rows = [folder.record(n, n * 100.0, upstream=100.0 + n, proxy=2.0) for n in range(600)]
    found = folder.load(rows, arrivals="constant", span=59.9).diagnosis()
    assert (found.bound, state(found, "provider queue")) == (Bound.UPSTREAM, State.COSTS)


def test_the_workers_of_a_session_share_what_was_counted(folder: Any, another: Callable[[str], Any]) -> None:
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
        bounds[arm] = state(run.diagnosis(), "cpu")
    assert bounds == {"off": State.CLEAR, "again": State.CLEAR, "on": State.BINDS}


def test_a_providers_clock_may_be_another_one(folder: Any) -> None:
    day = 86_400 * 10**9
    rows = steady(folder, upstream=400.0, proxy=8.0)
    rows = [
        one._replace(mock_received_ns=one.mock_received_ns + day, mock_sent_ns=one.mock_sent_ns + day) for one in rows
    ]
    found = folder.load(rows).diagnosis()
    assert (found.bound, found.split.share("upstream")) == (Bound.UPSTREAM, pytest.approx(0.98, abs=0.01))
