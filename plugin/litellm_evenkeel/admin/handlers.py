"""Handlers of the admin API, without a web framework. They return a JSON document or raise AdminRequestError.

An account is identified by its name or by the hash that stands for it. The handlers have no access to credentials, so
no answer can contain one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.errors import AdminRequestError
from litellm_evenkeel.rotation.inspection.inspector import ExplainQuery
from litellm_evenkeel.rotation.state.cooldown import HealthState
from litellm_evenkeel.support import formatting
from litellm_evenkeel.support.durations import number
from litellm_evenkeel.support.redaction import looks_like_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from litellm_evenkeel.rotation.inspection.inspector import RotationInspector

NOT_FOUND = 404
DEFAULT_ACCOUNTS, MAX_ACCOUNTS = 1000, 10_000
MAX_CHARACTERS = 512
MAX_LIST_ITEMS = 1000
MAX_SUGGESTIONS = 5
ACCOUNTS_PARAMETERS = ("account", "state", "limit")
EXPLAIN_PARAMETERS = ("model", "tokens", "session", "client", "excluded", "stream")
# Former names of states and parameters.
RENAMED = {"open": "healthy", "held": "cooling_down", "ramping": "ramping_up", "tried": "excluded"}
TRUE_WORDS, FALSE_WORDS = frozenset({"true", "1", "on", "yes"}), frozenset({"false", "0", "off", "no", ""})


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

    def __init__(self, inspector: RotationInspector, worker: Worker) -> None:
        self._inspector, self._worker = inspector, worker

    async def accounts(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the status of accounts."""
        _reject_unknown(parameters, ACCOUNTS_PARAMETERS)
        names = _texts(parameters.get("account"), "account") or None
        state = _state(parameters.get("state"))
        limit = _integer(parameters.get("limit"), "limit", DEFAULT_ACCOUNTS, MAX_ACCOUNTS)
        if names is not None:
            self._require_accounts(names)
        # Without a filter by state, only the accounts within the limit have to be inspected.
        wanted = self._inspector.account_names() if names is None else sorted(set(names))
        inspected = await self._inspector.accounts(wanted if state is not None else wanted[:limit])
        matching = [account for account in inspected if state is None or account.state is state]
        counts = self._inspector.session_counts()
        return self._response(
            accounts=[account.as_json() for account in matching[:limit]],
            total=len(wanted) if state is None else len(matching),
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
                _suggestion(query.model, known) if known else "Send a request for it first, or check its name.",
                NOT_FOUND,
            )
        session = {"pinned_to": explained.pinned_to, "decision": explained.decision} if query.session else None
        queue = {"queued": explained.queued, "scarce": explained.is_scarce}
        return self._response(**explained.explanation.as_json(), session=session, **queue)

    async def release(self, account: str) -> dict[str, Any]:
        """End the cooldown or quarantine of an account."""
        self._require_accounts([account])
        self._inspector.release(account)
        is_everywhere = self._worker.workers == 1 or bool(self._worker.is_shared())
        return self._response(released=account, everywhere=is_everywhere)

    def _require_accounts(self, names: Iterable[str]) -> None:
        known = self._inspector.account_names()
        for name in names:
            if name not in known:
                raise AdminRequestError(
                    f"This worker knows no account named {name[:MAX_CHARACTERS]!r}.",
                    _suggestion(name, known)
                    if known
                    else "A worker knows an account after the first request for one of its models.",
                    NOT_FOUND,
                )

    def _response(self, **parts: Any) -> dict[str, Any]:
        return {"worker": self._worker.as_json(), **parts}


def parse_explain_query(parameters: Mapping[str, Any]) -> ExplainQuery:
    """Return the query of an explain request. Raise AdminRequestError for invalid parameters."""
    _reject_unknown(parameters, EXPLAIN_PARAMETERS)
    model = _text(parameters.get("model"), "model")
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
    client = _text(parameters.get("client"), "client")
    if looks_like_key(client):
        raise AdminRequestError(
            "client: expected the hash of a key, got what looks like a key.",
            "Write the hash that LiteLLM shows, never the key itself.",
        )
    excluded = _texts(parameters.get("excluded"), "excluded")
    session = _text(parameters.get("session"), "session") or None
    return ExplainQuery(model, amount, session, client, frozenset(excluded), _flag(parameters.get("stream"), "stream"))


def _reject_unknown(parameters: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in parameters:
        if name not in names:
            raise AdminRequestError(f"There is no parameter {str(name)[:40]!r}.", _suggestion(str(name), names))


def _text(value: object, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_CHARACTERS:
        raise AdminRequestError(
            f"{name}: expected one text of up to {MAX_CHARACTERS} characters.", f"Write {name}=TEXT, once."
        )
    return value.strip()


def _texts(value: object, name: str) -> list[str]:
    items = value if isinstance(value, list | tuple) else [value]
    if len(items) > MAX_LIST_ITEMS:
        raise AdminRequestError(
            f"{name}: expected up to {MAX_LIST_ITEMS} values, got {len(items)}.", "Write fewer of them."
        )
    return [part.strip() for item in items for part in _text(item, name).split(",") if part.strip()]


def _integer(value: object, name: str, default: int, maximum: int) -> int:
    if value is None:
        return default
    amount = number(value)
    if not amount or amount != int(amount) or amount > maximum:
        raise AdminRequestError(
            f"{name}: expected a whole number from 1 to {maximum}, got {str(value)[:40]!r}.",
            f"Write a number such as {name}={default}.",
        )
    return int(amount)


def _state(value: object) -> HealthState | None:
    name = _text(value, "state")
    if not name:
        return None
    if name not in list(HealthState):
        raise AdminRequestError(f"state: there is no state {name[:40]!r}.", _suggestion(name, list(HealthState)))
    return HealthState(name)


def _flag(value: object, name: str) -> bool:
    text = str(value).lower() if isinstance(value, bool) else _text(value, name).lower()
    if text not in TRUE_WORDS | FALSE_WORDS:
        raise AdminRequestError(f"{name}: expected true or false, got {text[:40]!r}.", f"Write {name}=true.")
    return text in TRUE_WORDS


def _suggestion(name: str, existing: Sequence[str]) -> str:
    renamed = RENAMED.get(name)
    if renamed in existing:
        return f"It was renamed: write {renamed}."
    close = get_close_matches(name, existing, n=1, cutoff=0.5)
    if close:
        return f"Did you mean {close[0]}?"
    return f"There are {formatting.names(existing, MAX_SUGGESTIONS)}."
