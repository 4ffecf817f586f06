"""The mixture for an hour. Run it as `locust -f loadtest/scenarios/soak.py --host http://127.0.0.1:4000`."""

from __future__ import annotations

import mixed


class SoakUser(mixed.MixedUser):
    """A client as in the scenario mixed. Its defaults are a low rate and an hour."""
