"""What `evenkeel doctor` finds: whether the machine is ready and a proxy's configuration sound."""

from __future__ import annotations

from evenkeel_lab.doctor.config_file import ProxyConfig, read
from evenkeel_lab.doctor.finding import Finding, Level
from evenkeel_lab.doctor.machine import check_machine
from evenkeel_lab.doctor.render import as_json, as_table, passed
from evenkeel_lab.doctor.run_checks import run_checks
from evenkeel_lab.doctor.static_checks import Facts, check_wiring

__all__ = [
    "Facts",
    "Finding",
    "Level",
    "ProxyConfig",
    "as_json",
    "as_table",
    "check_machine",
    "check_wiring",
    "passed",
    "read",
    "run_checks",
]
