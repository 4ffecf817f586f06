"""Advice of `evenkeel doctor` on callbacks that a configuration does not name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evenkeel_lab.doctor import Level, ProxyConfig
from evenkeel_lab.doctor.gains import GAINS, Gain, gains

ROOT = Path(__file__).parents[3]
PROMETHEUS, LEAN = "litellm_evenkeel.proxy.prometheus", "litellm_evenkeel.proxy.lean"
DATABASE = {"DATABASE_URL": "postgresql://h/d"}


@pytest.mark.parametrize(
    ("callbacks", "advised"),
    [
        ([], [LEAN]),
        ([LEAN], []),
        (["prometheus"], [LEAN, PROMETHEUS]),
        (["prometheus", LEAN], [PROMETHEUS]),
        ([PROMETHEUS, LEAN], []),
    ],
)
def test_callbacks_that_would_help_are_named(callbacks: list[str], advised: list[str]) -> None:
    findings = list(gains(ProxyConfig({"litellm_settings": {"callbacks": callbacks}}), DATABASE))
    assert [finding.what.partition(":")[0] for finding in findings] == advised
    assert {finding.level for finding in findings} <= {Level.ADVICE}
    assert all("reports/" in finding.hint for finding in findings)


@pytest.mark.parametrize(
    ("deployments", "groups", "gain"),
    [(64, 1, "a hundred clients"), (65, 1, "a thousand accounts"), (65, 65, "five hundred model groups")],
)
def test_the_gain_with_many_deployments_is_another(deployments: int, groups: int, gain: str) -> None:
    models = [{"model_name": str(number % groups)} for number in range(deployments)]
    (finding,) = gains(ProxyConfig({"model_list": models}), DATABASE)
    assert gain in finding.what


def test_bursts_are_a_matter_of_proxies_with_a_database() -> None:
    assert list(gains(ProxyConfig({}), {})) == []


@pytest.mark.parametrize("gain", GAINS, ids=lambda gain: gain.report)
def test_each_figure_is_in_its_report(gain: Gain) -> None:
    page = (ROOT / gain.report).read_text(encoding="utf-8")
    figures = re.findall(r"([\d.,]+) (?:%|to|ms)", gain.what)
    assert len(figures) >= 2
    assert all(figure in page for figure in figures)
