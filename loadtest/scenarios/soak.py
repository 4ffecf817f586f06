"""Run it as `locust -f loadtest/scenarios/soak.py --host http://127.0.0.1:4000`; see docs/load.md."""

from __future__ import annotations

from evenkeel_load.locust_side.harness import load_user

SoakUser = load_user("soak")
