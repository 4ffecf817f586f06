"""Alert rules for Prometheus."""

from __future__ import annotations

from dataclasses import dataclass

import yaml


@dataclass(frozen=True)
class Alert:
    """One alert: when it fires, and what an operator does then."""

    name: str
    expr: str
    summary: str
    description: str
    severity: str = "warning"
    minutes: int = 0
    """Minutes for which the expression has to hold."""

    def as_rule(self) -> dict[str, object]:
        """Return the rule in the syntax of Prometheus."""
        rule: dict[str, object] = {"alert": f"Evenkeel{self.name}", "expr": self.expr}
        if self.minutes:
            rule["for"] = f"{self.minutes}m"
        return rule | {
            "labels": {"severity": self.severity},
            "annotations": {"summary": self.summary, "description": self.description},
        }


ALERTS = (
    Alert(
        "AccountQuarantined",
        'evenkeel_rotation_cooldown_seconds{reason="permanent"} == +Inf',
        "The account {{ $labels.account }} is quarantined",
        "Its provider rejects its key. Replace the key, or release the account: evenkeel accounts, "
        "POST /evenkeel/accounts/NAME/release.",
        "critical",
    ),
    Alert(
        "RequestsRejected",
        "sum by (model, reason) (rate(evenkeel_rotation_rejections_total[5m])) > 0",
        "No account can serve {{ $labels.model }} ({{ $labels.reason }})",
        "Requests get a 429. Ask why: evenkeel explain {{ $labels.model }}.",
        "critical",
        minutes=2,
    ),
    Alert(
        "LimitExhaustedSoon",
        "evenkeel_rotation_exhaustion_seconds < 600",
        "{{ $labels.limit }} of {{ $labels.account }} will be used up within ten minutes",
        "At the current rate, the account uses its limit up before the limit resets.",
        minutes=5,
    ),
    Alert(
        "LongQueue",
        "histogram_quantile(0.95, sum by (le) (rate(evenkeel_rotation_queue_seconds_bucket[5m]))) > 5",
        "Requests wait longer than five seconds for an account",
        "There is too little capacity. Add accounts, or lower evenkeel.rotation.queue_timeout to refuse sooner.",
        minutes=5,
    ),
    Alert(
        "SharedStateUnavailable",
        "min(evenkeel_rotation_shared_connected) == 0",
        "Redis for shared limits is unavailable",
        "Each worker uses its local share of every limit until Redis is back.",
        minutes=1,
    ),
    Alert(
        "PluginErrors",
        "sum by (operation) (increase(evenkeel_rotation_plugin_errors_total[15m])) > 0",
        "The plugin has an error of its own in {{ $labels.operation }}",
        "LiteLLM goes on without it for the requests concerned. The proxy's log has the error; please report it.",
    ),
    Alert(
        "EventsDropped",
        "sum by (reason) (increase(evenkeel_metrics_dropped_total[15m])) > 0",
        "Metrics lack requests ({{ $labels.reason }})",
        "More requests end than can be counted. Add workers.",
    ),
    Alert(
        "BudgetLookupsFail",
        "sum by (source, reason) (increase(evenkeel_budget_lookup_failures_total[15m])) > 0",
        "Budgets cannot be looked up in {{ $labels.source }} ({{ $labels.reason }})",
        "The gauges of budgets keep their last values. The proxy's log has the cause.",
    ),
    Alert(
        "JournalRecordsLost",
        "sum by (store, reason) (increase(evenkeel_journal_dropped_total[15m])) > 0",
        "The journal in {{ $labels.store }} has lost records ({{ $labels.reason }})",
        "Check the store and its disk.",
        "critical",
    ),
    Alert(
        "JournalWritesFail",
        "sum by (store) (increase(evenkeel_journal_failures_total[5m])) > 0",
        "The journal in {{ $labels.store }} cannot be written",
        "Records wait in memory, and are lost when there are too many. Check the store and its disk.",
        minutes=5,
    ),
    Alert(
        "UpdatePlanRejected",
        'increase(evenkeel_metrics_events_total{outcome="plan_rejected"}[15m]) > 0',
        "LiteLLM counts some requests otherwise than the callback expects",
        "LiteLLM's own code counts them from now on: the metrics stay correct, but cost more. Please report it with "
        "your version of LiteLLM.",
        "info",
    ),
    Alert(
        "ManySeries",
        "sum by (label) (rate(evenkeel_metrics_labels_collapsed_total[15m])) > 0",
        "The label {{ $labels.label }} has too many values",
        "Further values are counted as `other`. Raise the limit in evenkeel.metrics, or leave it.",
        "info",
        minutes=15,
    ),
)


def rules() -> str:
    """Return the rules as a file for Prometheus."""
    return _yaml(_groups())


def kubernetes_rule() -> str:
    """Return the rules as a resource for the Prometheus operator."""
    return _yaml(
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {"name": "litellm-evenkeel", "labels": {"app": "litellm"}},
            "spec": _groups(),
        }
    )


def _groups() -> dict[str, object]:
    return {"groups": [{"name": "evenkeel", "rules": [alert.as_rule() for alert in ALERTS]}]}


def _yaml(document: dict[str, object]) -> str:
    return yaml.safe_dump(document, sort_keys=False, width=1000)
