"""`evenkeel rules` and `evenkeel dashboard`: files for Prometheus and Grafana."""

from __future__ import annotations

import click

from evenkeel_lab.monitoring.dashboard import dashboard as dashboard_file
from evenkeel_lab.monitoring.rules import kubernetes_rule, rules as rules_file


@click.command()
@click.option("--kubernetes", is_flag=True, help="As a PrometheusRule, for the Prometheus operator.")
def rules(*, kubernetes: bool) -> None:
    """Print alert rules for Prometheus, to be redirected to a file.

    The same file is in the wheel, as litellm_evenkeel/monitoring/rules.yml.
    """
    click.echo(kubernetes_rule() if kubernetes else rules_file(), nl=False)


@click.command()
def dashboard() -> None:
    """Print a dashboard to import into Grafana, to be redirected to a file.

    The same file is in the wheel, as litellm_evenkeel/monitoring/dashboard.json.
    """
    click.echo(dashboard_file(), nl=False)
