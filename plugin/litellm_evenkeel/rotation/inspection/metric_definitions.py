"""Definitions of all metrics of the rotation. The table in `docs/metrics.md` is generated from them."""

from __future__ import annotations

from litellm_evenkeel.instrumentation.definitions import MetricDefinition, MetricType

PREFIX = "evenkeel_rotation_"

_INFINITE = float("inf")
_SHORT_BUCKETS = (1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 5e-2, 0.25)
_QUEUE_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

PICKS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_picks",
    "Picks by account and reason.",
    ("account", "reason"),
)
PICK_SECONDS = MetricDefinition(
    MetricType.HISTOGRAM,
    "rotation_pick_seconds",
    "Time to pick an account, including time in the queue.",
    buckets=(*_SHORT_BUCKETS, 1.0, 5.0, 30.0),
)
REFUSALS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_refusals",
    "Requests that no account could serve, by model group and blocker.",
    ("model", "reason"),
)
WAIT_SECONDS = MetricDefinition(
    MetricType.HISTOGRAM,
    "rotation_wait_seconds",
    "Time of requests in the queue; `kind` tells whether an account became available.",
    ("kind",),
    buckets=_QUEUE_BUCKETS,
)
FAILURES = MetricDefinition(
    MetricType.COUNTER, "rotation_failures", "Failed attempts by kind of failure.", ("account", "kind")
)
ENDS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_ends",
    "Other ends of attempts: answered, answered from LiteLLM's cache, or unknown (vanished).",
    ("account", "kind"),
)
TOKENS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_tokens",
    "Tokens that responses report: prompt, cached (part of prompt), output.",
    ("account", "kind"),
)
REBUILD_SECONDS = MetricDefinition(
    MetricType.HISTOGRAM,
    "rotation_snapshot_rebuild_seconds",
    "Time for which rebuilding a snapshot blocked the event loop.",
    buckets=_SHORT_BUCKETS,
)
ERRORS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_plugin_errors",
    "Errors of the plugin itself, by operation. LiteLLM goes on without it. Alert on any.",
    ("reason",),
)

HOLD_SECONDS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_hold_seconds",
    "Seconds until a cooldown ends, by the kind of failure that caused it; infinite in quarantine.",
    ("account", "model", "kind"),
    "livemax",
)
TRAFFIC_SHARE = MetricDefinition(
    MetricType.GAUGE,
    "rotation_traffic_share",
    "Share of its traffic that an account or model takes: 0 during a cooldown, below 1 during its ramp-up.",
    ("account", "model"),
    "livemin",
    1.0,
)
LEFT_SHARE = MetricDefinition(
    MetricType.GAUGE,
    "rotation_left_share",
    "Share of a limit that is left.",
    ("account", "model", "window"),
    "livemin",
    1.0,
)
EXHAUSTION_SECONDS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_exhaustion_seconds",
    "Seconds until a limit is used up at the current rate; infinite if it resets before.",
    ("account", "model", "window"),
    "livemin",
    _INFINITE,
)
IN_FLIGHT = MetricDefinition(MetricType.GAUGE, "rotation_in_flight", "Requests in flight.", ("account",))
LATENCY_SECONDS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_latency_seconds",
    "Latency of responses: the latest peak, decaying.",
    ("account", "model"),
    "livemax",
)
PINS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_pins",
    "Sessions that are pinned to an account, or use it as their fallback account.",
    ("account",),
)
WAITING = MetricDefinition(MetricType.GAUGE, "rotation_waiting", "Requests in the queue.", ("model",))
SNAPSHOT_AGE = MetricDefinition(
    MetricType.GAUGE,
    "rotation_snapshot_age_seconds",
    "Age of the oldest snapshot in use.",
    multiprocess_mode="livemax",
)
GAINED_TOKENS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_affinity_gained_tokens",
    "Cached tokens that requests gained by following their pin, compared with requests without a pin (misses) or away "
    "from their pin (away); below 0 if pins do harm.",
    ("reason",),
    "sum",
)
SESSIONS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_sessions",
    "Requests of sessions (hits, misses, escapes, repins), and changes of pins (refused, evicted, adopted).",
    ("kind",),
)
ROUTE_CACHE = MetricDefinition(
    MetricType.COUNTER,
    "rotation_route_cache",
    "Look-ups in the cache of candidate sets: hit or miss.",
    ("kind",),
)
SHARED_CONNECTED = MetricDefinition(
    MetricType.GAUGE,
    "rotation_shared_connected",
    "1 while the store for shared limits is connected, 0 while it is not; absent if it is not configured. Alert on 0.",
    multiprocess_mode="livemin",
)

RECORDED = (PICKS, PICK_SECONDS, REFUSALS, WAIT_SECONDS, FAILURES, ENDS, TOKENS, REBUILD_SECONDS, ERRORS)
"""Recorded at each event."""
SAMPLED = (
    HOLD_SECONDS,
    TRAFFIC_SHARE,
    LEFT_SHARE,
    EXHAUSTION_SECONDS,
    IN_FLIGHT,
    LATENCY_SECONDS,
    PINS,
    WAITING,
    SNAPSHOT_AGE,
    GAINED_TOKENS,
    SESSIONS,
    ROUTE_CACHE,
    SHARED_CONNECTED,
)
"""Sampled at each scrape."""
ALL = (*RECORDED, *SAMPLED)
