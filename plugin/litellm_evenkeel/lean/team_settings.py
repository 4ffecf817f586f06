"""Settings of a team, for which the rest of the configuration is not copied.

With each request of a team, LiteLLM copies its whole configuration, all deployments included, to look for settings of
the team in `litellm_settings.default_team_settings`.
"""

from __future__ import annotations

import copy
from functools import wraps
from typing import Any

from litellm_evenkeel import proxy_process

SECTION = "litellm_settings"


def copy_team_settings_only() -> None:
    """Make LiteLLM copy the section that has the settings of teams, and nothing else."""
    proxy_config = proxy_process.server().ProxyConfig
    original = proxy_config.load_team_config

    @wraps(original)
    def load_team_config(self: Any, team_id: str) -> Any:
        narrowed = copy.copy(self)
        narrowed.config = {name: self.config[name] for name in (SECTION,) if name in self.config}
        return original(narrowed, team_id)

    proxy_config.load_team_config = load_team_config
