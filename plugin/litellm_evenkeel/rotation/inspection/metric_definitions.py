"""Every metric of the rotation; `docs/metrics.md` has a row for each, made from this."""

from __future__ import annotations

from litellm_evenkeel.instrumentation.definitions import MetricDefinition, MetricType

PREFIX = "evenkeel_rotation_"

_INFINITE = float("inf")
_MICRO = (1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 5e-2, 0.25)
_MOMENTS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

PICKS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_picks",
    "Requests that were given to an account, and why to it.",
    ("account", "reason"),
)
PICK_SECONDS = MetricDefinition(
    MetricType.HISTOGRAM,
    "rotation_pick_seconds",
    "From the question to the choice of an account, waiting included.",
    buckets=(*_MICRO, 1.0, 5.0, 30.0),
)
REFUSALS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_refusals",
    "Requests for which there was no account, and what stood in the way.",
    ("model", "reason"),
)
WAIT_SECONDS = MetricDefinition(
    MetricType.HISTOGRAM,
    "rotation_wait_seconds",
    "How long requests waited for an account to be free; kind says whether they got one.",
    ("kind",),
    buckets=_MOMENTS,
)
FAILURES = MetricDefinition(
    MetricType.COUNTER, "rotation_failures", "Attempts that failed, by what that meant.", ("account", "kind")
)
ENDS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_ends",
    "Other ends of attempts: answered, answered from LiteLLM's own cache, or nobody told how.",
    ("account", "kind"),
)
TOKENS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_tokens",
    "Tokens that answers told of: prompt, cached (part of prompt), output.",
    ("account", "kind"),
)
REBUILD_SECONDS = MetricDefinition(
    MetricType.HISTOGRAM,
    "rotation_snapshot_rebuild_seconds",
    "How long making a snapshot anew kept the thread.",
    buckets=_MICRO,
)
ERRORS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_plugin_errors",
    "Errors of the plugin itself; LiteLLM went on without it. Alert on any.",
    ("reason",),
)

HOLD_SECONDS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_hold_seconds",
    "Seconds until a hold ends, by what caused it; infinite while an operator is waited for.",
    ("account", "model", "kind"),
    "livemax",
)
TRAFFIC_SHARE = MetricDefinition(
    MetricType.GAUGE,
    "rotation_traffic_share",
    "Which share of its traffic it may have: 0 while it is held, less than 1 on its way back.",
    ("account", "model"),
    "livemin",
    1.0,
)
LEFT_SHARE = MetricDefinition(
    MetricType.GAUGE,
    "rotation_left_share",
    "Which share of a limit is left.",
    ("account", "model", "window"),
    "livemin",
    1.0,
)
EXHAUSTION_SECONDS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_exhaustion_seconds",
    "Seconds until a limit is used up, as things go now; infinite if it resets before.",
    ("account", "model", "window"),
    "livemin",
    _INFINITE,
)
IN_FLIGHT = MetricDefinition(MetricType.GAUGE, "rotation_in_flight", "Requests under way.", ("account",))
LATENCY_SECONDS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_latency_seconds",
    "The latest peak of answers' times, fading.",
    ("account", "model"),
    "livemax",
)
PINS = MetricDefinition(
    MetricType.GAUGE, "rotation_pins", "Sessions that are pinned to an account, or go there meanwhile.", ("account",)
)
WAITING = MetricDefinition(
    MetricType.GAUGE, "rotation_waiting", "Requests that wait for an account to be free.", ("model",)
)
SNAPSHOT_AGE = MetricDefinition(
    MetricType.GAUGE,
    "rotation_snapshot_age_seconds",
    "Since when the oldest snapshot in use was not made anew.",
    multiprocess_mode="livemax",
)
GAINED_TOKENS = MetricDefinition(
    MetricType.GAUGE,
    "rotation_affinity_gained_tokens",
    "Cached tokens that requests found by following their pin, beyond what as many without one (misses), or away from "
    "theirs (away), would have found; below 0 if pins did harm.",
    ("reason",),
    "sum",
)
SESSIONS = MetricDefinition(
    MetricType.COUNTER,
    "rotation_sessions",
    "Requests of sessions: hits, misses, escapes, repins; and what became of pins.",
    ("kind",),
)
ROUTE_CACHE = MetricDefinition(
    MetricType.COUNTER,
    "rotation_route_cache",
    "Lists of candidates that were known (hit), or looked through (miss).",
    ("kind",),
)
SHARED_CONNECTED = MetricDefinition(
    MetricType.GAUGE,
    "rotation_shared_connected",
    "1 while state is shared with other workers, 0 while it cannot be; missing where it is not configured. Alert on 0.",
    multiprocess_mode="livemin",
)

RECORDED = (PICKS, PICK_SECONDS, REFUSALS, WAIT_SECONDS, FAILURES, ENDS, TOKENS, REBUILD_SECONDS, ERRORS)
"""Written as it happens."""
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
"""Read when somebody looks."""
ALL = (*RECORDED, *SAMPLED)
