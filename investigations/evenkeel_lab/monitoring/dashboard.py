"""A dashboard for Grafana: accounts first, then the queue, budgets, metrics and journal."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

WIDTH, HEIGHT = 24, 8
SCHEMA_VERSION = 39
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
RATE = "$__rate_interval"


@dataclass(frozen=True)
class Panel:
    """One panel: queries with their legends."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    about: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    stacked: bool = False


@dataclass(frozen=True)
class Row:
    """A row of panels with a title."""

    title: str
    panels: tuple[Panel, ...]


def rate(metric: str, by: str) -> str:
    """Return the rate of a counter, summed by labels."""
    return f"sum by ({by}) (rate({metric}[{RATE}]))"


def quantile(share: float, metric: str) -> str:
    """Return a quantile of a histogram."""
    return f"histogram_quantile({share}, sum by (le) (rate({metric}_bucket[{RATE}])))"


FAILED = f'sum by (account, outcome) (rate(evenkeel_rotation_attempts_total{{outcome!~"success|cached"}}[{RATE}]))'
WRITE_SECONDS = (
    f"sum by (store) (rate(evenkeel_journal_write_seconds_total[{RATE}])) / "
    f"sum by (store) (rate(evenkeel_journal_batches_total[{RATE}]))"
)
PICK_QUANTILES = (0.5, 0.99)
ROWS = (
    Row(
        "Accounts",
        (
            Panel(
                "Attempts",
                ((rate("evenkeel_rotation_attempts_total", "account"), "{{account}}"),),
                "reqps",
                stacked=True,
            ),
            Panel(
                "Failed attempts",
                ((FAILED, "{{account}} {{outcome}}"),),
                "reqps",
            ),
            Panel(
                "Cooldowns",
                (("max by (account, reason) (evenkeel_rotation_cooldown_seconds > 0)", "{{account}} {{reason}}"),),
                "s",
                about="Seconds until a cooldown ends. Infinite: the account is quarantined.",
            ),
            Panel(
                "Left of each limit",
                (("min by (account, limit) (evenkeel_rotation_limit_remaining_ratio)", "{{account}} {{limit}}"),),
                "percentunit",
                "bargauge",
                12,
                options={"orientation": "horizontal", "displayMode": "basic"},
            ),
            Panel(
                "Seconds until a limit is used up",
                (("min by (account, limit) (evenkeel_rotation_exhaustion_seconds < 86400)", "{{account}} {{limit}}"),),
                "s",
                width=12,
            ),
        ),
    ),
    Row(
        "Requests",
        (
            Panel(
                "Rejections",
                ((rate("evenkeel_rotation_rejections_total", "model, reason"), "{{model}} {{reason}}"),),
                "reqps",
            ),
            Panel(
                "Queue",
                (
                    ("sum by (model) (evenkeel_rotation_queue_length)", "{{model}}"),
                    (quantile(0.95, "evenkeel_rotation_queue_seconds"), "p95 of the wait, s"),
                ),
            ),
            Panel("Reasons of picks", ((rate("evenkeel_rotation_picks_total", "reason"), "{{reason}}"),), "reqps"),
            Panel(
                "Time to pick an account",
                tuple(
                    (quantile(share, "evenkeel_rotation_pick_seconds"), f"p{share * 100:g}") for share in (0.5, 0.99)
                ),
                "s",
            ),
            Panel(
                "Sessions",
                ((rate("evenkeel_rotation_session_requests_total", "outcome"), "{{outcome}}"),),
                "reqps",
                about="hit: at the account that has the session's prompt cache",
            ),
            Panel(
                "In flight",
                (("sum by (account) (evenkeel_rotation_in_flight)", "{{account}}"),),
                stacked=True,
            ),
        ),
    ),
    Row(
        "Health of the plugin",
        (
            Panel("Redis for shared limits", (("min(evenkeel_rotation_shared_connected)", "connected"),), width=6),
            Panel(
                "Errors of the plugin",
                ((rate("evenkeel_rotation_plugin_errors_total", "operation"), "{{operation}}"),),
                width=6,
            ),
            Panel(
                "Budgets",
                (
                    (rate("evenkeel_budget_lookups_total", "outcome"), "{{outcome}}"),
                    (rate("evenkeel_budget_lookup_failures_total", "source, reason"), "failed: {{source}} {{reason}}"),
                ),
                width=6,
            ),
            Panel(
                "Counting",
                (
                    ("sum(evenkeel_metrics_queue_length)", "waiting events"),
                    (rate("evenkeel_metrics_dropped_total", "reason"), "dropped: {{reason}}"),
                ),
                width=6,
            ),
            Panel("Series", (("sum(evenkeel_metrics_series)", "series"),), width=6),
            Panel(
                "Journal",
                (
                    (rate("evenkeel_journal_records_total", "store"), "written: {{store}}"),
                    (rate("evenkeel_journal_dropped_total", "store, reason"), "lost: {{store}} {{reason}}"),
                ),
                "reqps",
                width=6,
            ),
            Panel("Records that wait", (("sum by (store) (evenkeel_journal_queue_length)", "{{store}}"),), width=6),
            Panel(
                "Time of a write of the journal",
                ((WRITE_SECONDS, "{{store}}"),),
                "s",
                width=6,
            ),
        ),
    ),
)


def dashboard() -> str:
    """Return the dashboard as a file for Grafana."""
    panels: list[dict[str, Any]] = []
    y = 0
    for row in ROWS:
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": row.title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": y, "w": WIDTH, "h": 1},
                "panels": [],
            }
        )
        x, y = 0, y + 1
        for panel in row.panels:
            if x + panel.width > WIDTH:
                x, y = 0, y + HEIGHT
            panels.append(_panel(panel, len(panels) + 1, x, y))
            x += panel.width
        y += HEIGHT
    return json.dumps(_document(panels), indent=1) + "\n"


def _document(panels: list[dict[str, Any]]) -> dict[str, Any]:
    variable = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "title": "litellm-evenkeel",
        "uid": "litellm-evenkeel",
        "description": "Accounts, queue, budgets, metrics and journal of the plugin",
        "tags": ["litellm"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [variable]},
        "panels": panels,
    }


def _panel(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    custom = {"stacking": {"mode": "normal"}, "fillOpacity": 20} if panel.stacked else {}
    defaults: dict[str, Any] = (
        {"unit": panel.unit, "custom": custom}
        if panel.kind == "timeseries"
        else {
            "unit": panel.unit,
            "min": 0,
            "max": 1,
        }
    )
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": DATASOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": HEIGHT},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": panel.options,
        "targets": [
            {"refId": chr(ord("A") + index), "expr": expr, "legendFormat": legend, "datasource": DATASOURCE}
            for index, (expr, legend) in enumerate(panel.queries)
        ],
    }
