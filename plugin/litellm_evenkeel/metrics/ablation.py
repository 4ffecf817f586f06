"""What LiteLLM's callback once did, done again, and parts of ours left out: for investigations, never for service."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.callback import EvenkeelPrometheusLogger
from litellm_evenkeel.metrics.self_metrics import ABLATION, family
from litellm_evenkeel.metrics.settings import Ablation

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from datetime import datetime

    from litellm_evenkeel.metrics.replay.event_facts import Raw

LOG = logging.getLogger("litellm_evenkeel.metrics")
BANNER = "!" * 100


class AblatedPrometheusLogger(EvenkeelPrometheusLogger):
    """The callback, with one thing otherwise. It says so, loudly, when it is made."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._background: set[asyncio.Task[None]] = set()
        LOG.critical(
            "%s\nevenkeel: metrics.ablation is %s. This proxy measures what is wrong on purpose. Remove the setting, "
            "or EVENKEEL_METRICS_ABLATION, from any proxy that serves somebody.\n%s",
            BANNER,
            self._settings.ablation,
            BANNER,
        )

    def _make(self) -> None:
        super()._make()
        family(self._store, ABLATION).child((self._settings.ablation,)).set(1)

    async def async_log_success_event(
        self, kwargs: Raw, response_obj: Any, start_time: datetime, end_time: datetime
    ) -> None:
        """Take in a success, with one thing otherwise."""
        ablation = self._settings.ablation
        if ablation is Ablation.EARLY_RETURN:
            return
        if ablation is Ablation.SKIP_UPDATES:
            self._see_budgets(kwargs)
            with contextlib.suppress(Exception):
                self._usage.observe(kwargs)
            for _ in self._flushed():
                pass
            return
        await super().async_log_success_event(kwargs, response_obj, start_time, end_time)
        if ablation is Ablation.SEQUENTIAL_LOOKUPS:
            await self._one_by_one(kwargs)
        elif ablation is Ablation.CHECK_DB_ONLY:
            await self._one_by_one(kwargs, is_db_only=True)
        elif ablation is Ablation.BACKGROUND_TASK:
            task = asyncio.get_running_loop().create_task(self._one_by_one(kwargs))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _one_by_one(self, event: Raw, *, is_db_only: bool = False) -> None:
        """Look budgets up as LiteLLM 1.81 did: by its own code, one after the other, errors unseen."""
        payload = event["standard_logging_object"]
        told, asked = payload["metadata"], (event.get("litellm_params") or {}).get("metadata") or {}
        cost, user = payload["response_cost"] or 0.0, told["user_api_key_user_id"]
        lookups: list[Coroutine[Any, Any, Any]] = [
            self._set_team_budget_metrics_after_api_request(
                user_api_team=told["user_api_key_team_id"],
                user_api_team_alias=told["user_api_key_team_alias"],
                team_spend=asked.get("user_api_key_team_spend"),
                team_max_budget=asked.get("user_api_key_team_max_budget"),
                response_cost=cost,
            ),
            self._set_api_key_budget_metrics_after_api_request(
                user_api_key=told["user_api_key_hash"],
                user_api_key_alias=told["user_api_key_alias"],
                response_cost=cost,
                key_max_budget=asked.get("user_api_key_max_budget"),
                key_spend=asked.get("user_api_key_spend"),
            ),
            _from_database(user)
            if is_db_only
            else self._set_user_budget_metrics_after_api_request(
                user_id=user,
                user_spend=asked.get("user_api_key_user_spend"),
                user_max_budget=asked.get("user_api_key_user_max_budget"),
                response_cost=cost,
            ),
        ]
        for lookup in lookups:
            with contextlib.suppress(Exception):
                await lookup


async def _from_database(user: str | None) -> None:
    """Ask LiteLLM's own database client for a user, whatever is cached."""
    client = getattr(sys.modules.get("litellm.proxy.proxy_server"), "prisma_client", None)
    if user and client is not None:
        await client.db.litellm_usertable.find_unique(
            where={"user_id": user}, include={"organization_memberships": True}
        )
