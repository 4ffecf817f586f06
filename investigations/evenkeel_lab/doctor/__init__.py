"""Checks of `evenkeel doctor`: of the machine that the lab runs on, and of the configuration of a proxy."""

from __future__ import annotations

from evenkeel_lab.doctor.config_file import ProxyConfig, read
from evenkeel_lab.doctor.finding import Finding, Level, as_json, as_table, passed
from evenkeel_lab.doctor.machine import check_machine
from evenkeel_lab.doctor.run_checks import run_checks
from evenkeel_lab.doctor.static_checks import Facts, check_config

__all__ = [
    "Facts",
    "Finding",
    "Level",
    "ProxyConfig",
    "as_json",
    "as_table",
    "check_config",
    "check_machine",
    "passed",
    "read",
    "run_checks",
]
