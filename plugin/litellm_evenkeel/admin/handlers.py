"""Handlers of the admin API, without a web framework. They return a JSON document or raise AdminRequestError.

An account is identified by its name or by the hash that stands for it. The handlers have no access to credentials, so
no answer can contain one.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.admin import openapi
from litellm_evenkeel.admin.control_actions import Action, parse_action, parse_reason
from litellm_evenkeel.admin.parameters import (
    DEFAULT_ACCOUNTS,
    MAX_ACCOUNTS,
    MAX_CHARACTERS,
    parse_flag,
    parse_integer,
    parse_state,
    parse_text,
    parse_texts,
    reject_unknown,
    suggestion,
)
from litellm_evenkeel.errors import AdminRequestError
from litellm_evenkeel.operator_actions import OperatorAction, publish
from litellm_evenkeel.rotation.inspection.inspector import ExplainQuery
from litellm_evenkeel.support import formatting
from litellm_evenkeel.support.durations import number
from litellm_evenkeel.support.redaction import looks_like_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

    from litellm_evenkeel.rotation.controls.control_sync import ControlSync
    from litellm_evenkeel.rotation.inspection.inspector import RotationInspector

NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Worker:
    """The worker that answers. It only has its own state and the shared state."""

    pid: int
    workers: int | None
    """Number of workers, or `None` if it is unknown."""
    is_shared: Callable[[], bool | None] = lambda: None
    """Whether state is shared with the other workers now, or `None` if that is not configured."""

    def as_json(self) -> dict[str, Any]:
        """Return the worker as a JSON object."""
        return {"pid": self.pid, "workers": self.workers, "shared": self.is_shared()}


class AdminHandlers:
    """Handlers of one worker's admin API."""

    def __init__(
        self,
        inspector: RotationInspector,
        worker: Worker,
        controls: ControlSync,
        *,
        configured: Callable[[], Collection[str]] = lambda: (),
    ) -> None:
        """Initialize the handlers. `configured` returns the accounts of LiteLLM's router, with requests or without."""
        self._inspector, self._worker, self._controls, self._configured = inspector, worker, controls, configured

    async def accounts(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the status of accounts."""
        reject_unknown(parameters, tuple(openapi.ACCOUNTS))
        names = parse_texts(parameters.get("account"), "account") or None
        state = parse_state(parameters.get("state"))
        limit = parse_integer(parameters.get("limit"), "limit", DEFAULT_ACCOUNTS, MAX_ACCOUNTS)
        if names is not None:
            self._require_accounts(names)
        # Without a filter by state, only the accounts within the limit have to be inspected.
        wanted = self._inspector.account_names() if names is None else sorted(set(names))
        inspected = await self._inspector.accounts(wanted if state is not None else wanted[:limit])
        matching = [account for account in inspected if state is None or account.state is state]
        return {
            **self.summary(len(wanted) if state is None else len(matching)),
            "accounts": [account.as_json() for account in matching[:limit]],
        }

    def fingerprints(self) -> Mapping[str, Hashable]:
        """Return a value for each account that changes when something happens to the account."""
        return self._inspector.fingerprints()

    async def account_documents(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the status of accounts."""
        return [account.as_json() for account in await self._inspector.accounts(names)]

    def summary(self, total: int | None = None) -> dict[str, Any]:
        """Return the state of this worker without its accounts. `total` is the number of them, by default of all."""
        counts = self._inspector.session_counts()
        return self._response(
            total=len(self._inspector.account_names()) if total is None else total,
            models=self._inspector.models(),
            queued=dict(self._inspector.queue_lengths()),
            sessions={
                "pins": counts.sessions,
                "hit": counts.hits,
                "new": counts.new,
                "fallback": counts.fallbacks,
                "moved": counts.moved,
                "saved_tokens_over_new": formatting.finite(counts.savings.saved_over_new),
                "saved_tokens_over_moved": formatting.finite(counts.savings.saved_over_moved),
            },
        )

    async def explain(self, parameters: Mapping[str, Any], client: str = "") -> dict[str, Any]:
        """Explain what the next pick would be. `client` owns the session unless the parameters name a client."""
        query = parse_explain_query(parameters)
        explained = await self._inspector.explain(replace(query, client=query.client or client))
        if explained is None:
            known = self._inspector.models()
            raise AdminRequestError(
                f"This worker has had no request for a model named {query.model[:MAX_CHARACTERS]!r} yet.",
                suggestion(query.model, known) if known else "Send a request for it first, or check its name.",
                NOT_FOUND,
            )
        session = {"pinned_to": explained.pinned_to, "decision": explained.decision} if query.session else None
        queue = {"queued": explained.queued, "scarce": explained.is_scarce}
        return self._response(**explained.explanation.as_json(), session=session, **queue)

    async def release(self, account: str, by: str = "") -> dict[str, Any]:
        """End the cooldown or quarantine of an account. `by` is the operator's key, by its name."""
        self._require_accounts([account])
        self._inspector.release(account)
        is_everywhere = self._is_everywhere(is_shared=bool(self._worker.is_shared()))
        is_journaled = await publish(OperatorAction(time.time(), by, "release", account))
        return self._response(released=account, everywhere=is_everywhere, journaled=is_journaled)

    async def control(
        self, account: str, action: Action, parameters: Mapping[str, Any], by: str = ""
    ) -> dict[str, Any]:
        """Put a control of an account in force, or withdraw one. `by` is the operator's key, by its name."""
        # An account that was removed from the configuration may still have a control.
        if account not in self._configured() and not self._inspector.controls_of(account):
            self._require_accounts([account])
        now = self._inspector.pool.now()
        key, control = parse_action(action, account, parameters, by, now)
        if control is None:
            is_shared = await self._controls.withdraw(key)
        else:
            is_shared = await self._controls.put(control)
        done = OperatorAction(
            time.time(),
            by,
            action,
            account,
            value="" if control is None or control.number is None else f"{control.number:g}",
            seconds=None if control is None or control.until is None else control.until - now,
            reason=parse_reason(parameters),
        )
        is_journaled = await publish(done)
        return self._response(
            account=account,
            controls=[asdict(status) for status in self._inspector.controls_of(account)],
            everywhere=self._is_everywhere(is_shared=is_shared),
            journaled=is_journaled,
        )

    def _is_everywhere(self, *, is_shared: bool) -> bool:
        """Whether all workers have a change: through Redis, or because there is only this one."""
        return is_shared or (self._worker.workers == 1 and self._worker.is_shared() is None)

    def _require_accounts(self, names: Iterable[str]) -> None:
        known = self._inspector.account_names()
        for name in names:
            if name not in known:
                raise AdminRequestError(
                    f"This worker knows no account named {name[:MAX_CHARACTERS]!r}.",
                    suggestion(name, known)
                    if known
                    else "A worker knows an account after the first request for one of its models.",
                    NOT_FOUND,
                )

    def _response(self, **parts: Any) -> dict[str, Any]:
        return {"worker": self._worker.as_json(), **parts}


def parse_explain_query(parameters: Mapping[str, Any]) -> ExplainQuery:
    """Return the query of an explain request. Raise AdminRequestError for invalid parameters."""
    reject_unknown(parameters, tuple(openapi.EXPLAIN))
    model = parse_text(parameters.get("model"), "model")
    if not model:
        raise AdminRequestError(
            "model: expected the name of a model, got none.", "Add model=NAME, as clients write it."
        )
    tokens = parameters.get("tokens")
    amount = number(tokens)
    if tokens is not None and amount is None:
        raise AdminRequestError(
            f"tokens: expected a number of 0 or more, got {str(tokens)[:40]!r}.", "Write a number such as tokens=1200."
        )
    client = parse_text(parameters.get("client"), "client")
    if looks_like_key(client):
        raise AdminRequestError(
            "client: expected the hash of a key, got what looks like a key.",
            "Write the hash that LiteLLM shows, never the key itself.",
        )
    excluded = parse_texts(parameters.get("excluded"), "excluded")
    session = parse_text(parameters.get("session"), "session") or None
    return ExplainQuery(
        model, amount, session, client, frozenset(excluded), parse_flag(parameters.get("stream"), "stream")
    )
