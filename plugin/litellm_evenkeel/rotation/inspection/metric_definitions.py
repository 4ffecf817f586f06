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
    "Time to pick an account, including all waits; without rejected requests.",
    buckets=(*_SHORT_BUCKETS, 1.0, 5.0, 30.0),
)
REJECTIONS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_rejections",
    "Requests that no account could serve, by model group and blocker.",
    ("model", "reason"),
)
QUEUE_SECONDS = MetricDefinition(
    MetricType.HISTOGRAM,
    "rotation_queue_seconds",
    "Time of requests in the queue, by outcome: served or timeout.",
    ("outcome",),
    buckets=_QUEUE_BUCKETS,
)
SESSION_WAIT_SECONDS = MetricDefinition(
    MetricType.HISTOGRAM,
    "rotation_session_wait_seconds",
    "Waits for a rate limit of a session's account, instead of a change to another account.",
    buckets=_QUEUE_BUCKETS,
)
ATTEMPTS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_attempts",
    "Ended attempts by outcome: success, cached (LiteLLM's cache responded), lost (nothing was reported), or the kind "
    "of failure: permanent, quota, rate_limit, overloaded, transient, client.",
    ("account", "outcome"),
)
TOKENS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_tokens",
    "Tokens that responses report: prompt, cached (part of prompt), output.",
    ("account", "type"),
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
    ("operation",),
)

COOLDOWN_SECONDS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_cooldown_seconds",
    "Seconds until a cooldown ends, by the kind of failure that caused it; infinite in quarantine.",
    ("account", "model", "reason"),
    "livemax",
)
TRAFFIC_RATIO = MetricDefinition(
    MetricType.GAUGE,
    "rotation_traffic_ratio",
    "Share of its traffic that an account or model takes: 0 while it is paused or cools down, below 1 during its "
    "ramp-up.",
    ("account", "model"),
    "livemin",
    1.0,
)
LIMIT_REMAINING_RATIO = MetricDefinition(
    MetricType.GAUGE,
    "rotation_limit_remaining_ratio",
    "Share of a limit that remains.",
    ("account", "model", "limit"),
    "livemin",
    1.0,
)
EXHAUSTION_SECONDS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_exhaustion_seconds",
    "Seconds until a limit is used up at the current rate; infinite if it resets before.",
    ("account", "model", "limit"),
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
SESSIONS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_sessions",
    "Sessions that are pinned to an account, or use it as their fallback account.",
    ("account",),
)
QUEUE_LENGTH = MetricDefinition(MetricType.GAUGE, "rotation_queue_length", "Requests in the queue.", ("model",))
SNAPSHOT_AGE = MetricDefinition(
    MetricType.GAUGE,
    "rotation_snapshot_age_seconds",
    "Age of the oldest snapshot in use.",
    multiprocess_mode="livemax",
)
SAVED_TOKENS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_affinity_saved_tokens",
    "Prompt tokens that were cached because requests followed their pin, compared with requests of new sessions (new) "
    "or away from their pin (moved); below 0 if pins do harm.",
    ("baseline",),
    "sum",
)
SESSION_REQUESTS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_session_requests",
    "Requests of sessions by outcome: hit (at the pinned account), new, fallback (at another account for a while), "
    "moved (the pin moved too).",
    ("outcome",),
)
SESSION_PINS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_session_pins",
    "Changes of pins by outcome: rejected (the account has too many), evicted (this worker has too many), merged "
    "(taken over from another worker).",
    ("outcome",),
)
CANDIDATE_CACHE = MetricDefinition(
    MetricType.COUNTER,
    "rotation_candidate_cache",
    "Look-ups in the cache of candidate sets: hit or miss.",
    ("outcome",),
)
CONTROLS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_controls",
    "Controls of operators in force: paused and draining accounts, and those with another priority or weight.",
    ("kind",),
    "livemax",
)
SHARED_CONNECTED = MetricDefinition(
    MetricType.GAUGE,
    "rotation_shared_connected",
    "1 while the store for shared limits is connected, 0 while it is not; absent if it is not configured. Alert on 0.",
    multiprocess_mode="livemin",
)

RECORDED = (
    *(PICKS, PICK_SECONDS, REJECTIONS, QUEUE_SECONDS, SESSION_WAIT_SECONDS),
    *(ATTEMPTS, TOKENS, REBUILD_SECONDS, ERRORS),
)
"""Recorded at each event."""
SAMPLED = (
    COOLDOWN_SECONDS,
    TRAFFIC_RATIO,
    LIMIT_REMAINING_RATIO,
    EXHAUSTION_SECONDS,
    IN_FLIGHT,
    LATENCY_SECONDS,
    SESSIONS,
    QUEUE_LENGTH,
    SNAPSHOT_AGE,
    SAVED_TOKENS,
    SESSION_REQUESTS,
    SESSION_PINS,
    CANDIDATE_CACHE,
    CONTROLS,
    SHARED_CONNECTED,
)
"""Sampled at each scrape."""
ALL = (*RECORDED, *SAMPLED)
