"""Rules and dashboard: their metrics and labels exist, and the files in the wheel are the generated ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import litellm_evenkeel
from evenkeel_lab.cli import cli
from evenkeel_lab.monitoring.dashboard import WIDTH, dashboard
from evenkeel_lab.monitoring.rules import ALERTS, rules

FILES = Path(litellm_evenkeel.__file__).parent / "monitoring"
PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
SUFFIXES = ("", "_bucket", "_sum", "_count")


def documented() -> dict[str, set[str]]:
    """Return the labels of each metric on the page of metrics."""
    rows = re.findall(r"^\| `(evenkeel_\w+)` \| \w+ \| ([^|]*) \|", PAGE.read_text(), re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def expressions() -> list[str]:
    panels: list[dict[str, Any]] = json.loads(dashboard())["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    return [*(alert.expr for alert in ALERTS), *queries]


@pytest.mark.parametrize("expression", expressions())
def test_metrics_and_labels_exist(expression: str) -> None:
    known = documented()
    names = re.findall(r"evenkeel_\w+", expression)
    assert names
    labels: set[str] = {"le"}
    for name in names:
        base = next(name.removesuffix(suffix) for suffix in SUFFIXES if name.removesuffix(suffix) in known)
        labels |= known[base]
    used = [label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")]
    assert set(used) | set(re.findall(r"[{,](\w+)[=!]", expression)) <= labels
    assert expression.count("(") == expression.count(")")


def test_annotations_use_labels_that_the_alert_has() -> None:
    for alert in ALERTS:
        grouped = re.findall(r"by \(([^)]*)\)", alert.expr)
        (name, *_) = re.findall(r"evenkeel_\w+", alert.expr)
        labels = set(re.split(r",\s*", grouped[-1])) if grouped else documented().get(name, set())
        assert set(re.findall(r"\$labels\.(\w+)", alert.summary + alert.description)) <= labels, alert.name


def test_the_rules_are_also_a_resource_for_kubernetes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["rules", "--kubernetes"]) == 0
    resource = yaml.safe_load(capsys.readouterr().out)
    assert (resource["kind"], resource["spec"]) == ("PrometheusRule", yaml.safe_load(rules()))


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    panels = json.loads(dashboard())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= WIDTH
        assert not taken & cells
        taken |= cells


@pytest.mark.parametrize(("name", "text"), [("rules.yml", rules()), ("dashboard.json", dashboard())])
def test_the_wheel_has_the_generated_files(name: str, text: str) -> None:
    command = name.partition(".")[0]
    hint = f"evenkeel {command} > plugin/litellm_evenkeel/monitoring/{name}"
    assert (FILES / name).read_text() == text, hint


def test_the_commands_print_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["rules"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["groups"][0]["name"] == "evenkeel"
    assert cli(["dashboard"]) == 0
    assert json.loads(capsys.readouterr().out)["uid"] == "litellm-evenkeel"
