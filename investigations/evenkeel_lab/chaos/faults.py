"""The faults of the matrix."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from evenkeel_lab.chaos.fault import Fault
from evenkeel_lab.chaos.rig import TIMEOUT_SECONDS
from evenkeel_lab.chaos.strikes import provider, proxies, servers
from evenkeel_lab.chaos.strikes.redis_failover import failover

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARED = "evenkeel_rotation_shared_connected"
LOOKUP_FAILURES = "evenkeel_budget_lookup_failures_total"
ATTEMPTS, COOLDOWNS = "evenkeel_rotation_attempts_total", "evenkeel_rotation_cooldown_seconds"
JOURNAL_FAILURES = "evenkeel_journal_failures_total"
REDIS_LOG, DATABASE_LOG, JOURNAL_LOG = "Redis for shared limits is unavailable", "could not be looked up", "journal in"


def _of_redis(name: str, about: str, strike: Any, *, is_quick: bool = False) -> Fault:
    return Fault(f"redis_{name}", about, strike, SHARED, REDIS_LOG, is_quick=is_quick)


def _of_postgres(name: str, about: str, strike: Any, *, is_quick: bool = False) -> Fault:
    return Fault(name, about, strike, LOOKUP_FAILURES, DATABASE_LOG, is_quick=is_quick)


def _of_provider(name: str, about: str, metric: str, *faults: dict[str, Any], **fields: Any) -> Fault:
    return Fault(name, f"half of the accounts {about}", provider.failing(*faults), metric, **fields)


def _refusing(name: str, how: str, **fault: Any) -> Fault:
    return _of_provider(name, f"refuse {how}", ATTEMPTS, {"status": 429, **fault})


REDIS = (
    _of_redis("hung", "Redis hangs", servers.hung("valkey"), is_quick=True),
    _of_redis("killed", "Redis is killed", servers.killed("valkey")),
    _of_redis("slow", "Redis responds 0.6 s late", servers.slow("valkey")),
    _of_redis("cut", "the connections to Redis are cut", servers.cut("valkey")),
    _of_redis(
        "read_only",
        "Redis is read-only, as a replica",
        servers.redis_commands("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
    ),
    _of_redis("failover", "a replica of Redis takes over within a second, and later its master again", failover),
    Fault("redis_flushed", "Redis loses all keys", servers.redis_commands("FLUSHALL")),
    _of_redis(
        "full",
        "Redis is out of memory",
        servers.redis_commands("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
    ),
)
POSTGRES = (
    _of_postgres("postgres_hung", "Postgres hangs", servers.hung("postgres"), is_quick=True),
    _of_postgres("postgres_killed", "Postgres is killed", servers.killed("postgres")),
    _of_postgres("postgres_slow", "Postgres responds 0.6 s late", servers.slow("postgres")),
    _of_postgres("postgres_cut", "the connections to Postgres are cut", servers.cut("postgres")),
    _of_postgres("postgres_connections", "Postgres has no connection left", servers.no_connections),
    _of_postgres("postgres_password", "the password of Postgres is changed", servers.password_changed),
    _of_postgres(
        "schema_older",
        "a column is missing, as with an older schema",
        servers.sql(
            'ALTER TABLE "LiteLLM_BudgetTable" RENAME COLUMN max_budget TO max_budget_gone',
            'ALTER TABLE "LiteLLM_BudgetTable" RENAME COLUMN max_budget_gone TO max_budget',
        ),
    ),
    Fault(
        "schema_newer",
        "there are more columns, as with a newer schema",
        servers.sql(
            'ALTER TABLE "LiteLLM_TeamTable" ADD COLUMN of_the_future text',
            'ALTER TABLE "LiteLLM_TeamTable" DROP COLUMN of_the_future',
        ),
    ),
)
PROVIDER = (
    _of_provider(
        "provider_mixed",
        "hang, reset streams, send garbage, and refuse with `Retry-After: 1000000000000`",
        ATTEMPTS,
        {"fault": "hang"},
        {"fault": "reset=2"},
        {"fault": "malformed"},
        {"status": 429, "raw_retry_after": "1000000000000"},
        is_quick=True,
    ),
    _of_provider("provider_hangs", "hang", ATTEMPTS, {"fault": "hang"}, first_failure_after=TIMEOUT_SECONDS),
    _of_provider("provider_resets", "reset streams", ATTEMPTS, {"fault": "reset=2"}),
    _of_provider("provider_resets_early", "reset streams right after the headers", ATTEMPTS, {"fault": "reset=0"}),
    _of_provider("provider_garbage", "send broken JSON and broken events", ATTEMPTS, {"fault": "malformed"}),
    _of_provider("provider_garbage_late", "break an event after two good ones", ATTEMPTS, {"fault": "malformed=2"}),
    _of_provider("provider_half_events", "end in the middle of an event", ATTEMPTS, {"fault": "half_event=3"}),
    _of_provider("provider_error_events", "send an error event in a stream", ATTEMPTS, {"fault": "error_event=3"}),
    _of_provider("provider_429", "refuse", COOLDOWNS, {"status": 429, "retry_after": 2}),
    _of_provider("provider_401", "have a revoked key", COOLDOWNS, {"status": 401}),
    _refusing("retry_after_negative", "with `Retry-After: -1`", raw_retry_after="-1"),
    _refusing("retry_after_huge", "with `Retry-After: 1000000000000`", raw_retry_after="1000000000000"),
    _refusing("retry_after_1970", "with a `Retry-After` of 1970", raw_retry_after="Thu, 01 Jan 1970 00:00:00 GMT"),
    _refusing("retry_after_9999", "with a `Retry-After` of 9999", raw_retry_after="Fri, 31 Dec 9999 23:59:59 GMT"),
    _refusing("error_body_10mb", "with a body of 10 MB", body_kb=10_000),
    _refusing("headers_64kb", "with 64 kB of headers", header_kb=64),
    _refusing("encoding_wrong", "in UTF-16", encoding="utf-16"),
    _refusing("encoding_invalid", "with bytes that are not UTF-8", encoding="invalid"),
    _refusing("gzip_wrong", "and announce a compression that they do not use", encoding="gzip"),
)
PROXIES = (
    Fault("nothing", "no fault, for comparison", proxies.nothing),
    Fault("engine_killed", "Prisma's engine is killed", proxies.engine_killed),
    Fault(
        "disk_full",
        "the disk of journal and metrics is full",
        proxies.disk_full,
        JOURNAL_FAILURES,
        JOURNAL_LOG,
        needs_disk=True,
    ),
    Fault("clock_jumps", "`time.time()` jumps an hour ahead, and back", proxies.clock_jumps),
    Fault("clients_leave", "60 clients leave in the middle of a stream", proxies.clients_leave, is_quick=True),
    Fault("deployments_change", "deployments are added and deleted", proxies.deployments_change),
    Fault("settings_reloaded", "the settings are changed while the proxy runs, and broken", proxies.settings_reloaded),
)
WORKER_KILLED = Fault(
    "worker_killed",
    "one of two workers is killed, with streams in flight",
    proxies.worker_killed,
    loses_records=True,
    is_quick=True,
)


def in_turn(groups: Sequence[Sequence[Fault]]) -> tuple[Fault, ...]:
    """Return the faults of all groups, a fault of each group in turn.

    The plugin logs a cause once a minute. So the next fault of the same server comes later than that.
    """
    return tuple(fault for fault in chain.from_iterable(zip_longest(*groups)) if fault is not None)


# A killed worker comes last, because the next cell would wait until it is back.
FAULTS = (*in_turn((PROXIES, REDIS, POSTGRES, PROVIDER)), WORKER_KILLED)
"""All faults of the matrix, in the order in which they are tried."""
