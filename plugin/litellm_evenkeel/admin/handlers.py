"""What the proxy's operators may ask and do, without a web framework: parameters in, status and document out.

An account is its name, or the hash that stands for it. No credential is known here, so none can be told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.errors import AdminRequestError
from litellm_evenkeel.rotation.inspection.inspector import ExplainQuery
from litellm_evenkeel.rotation.state.cooldown import HealthState
from litellm_evenkeel.support.durations import number
from litellm_evenkeel.support.formatting import finite
from litellm_evenkeel.support.redaction import looks_like_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from litellm_evenkeel.rotation.inspection.account_status import AccountStatus
    from litellm_evenkeel.rotation.inspection.inspector import RotationInspector

OK, NOT_FOUND, UNPROCESSABLE = 200, 404, 422
DEFAULT_ACCOUNTS, MAX_ACCOUNTS = 1000, 10_000
MAX_CHARACTERS = 512
MAX_LIST_ITEMS = 1000
MAX_SUGGESTIONS = 5
ACCOUNTS_PARAMETERS = ("account", "state", "limit")
EXPLAIN_PARAMETERS = ("model", "tokens", "session", "client", "tried", "stream")
TRUE_WORDS, FALSE_WORDS = frozenset({"true", "1", "on", "yes"}), frozenset({"false", "0", "off", "no", ""})


@dataclass(frozen=True, slots=True)
class AdminResponse:
    """What goes back."""

    status: int
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Worker:
    """Who answers: each worker knows what it has seen itself, and what is shared."""

    pid: int
    workers: int | None
    """How many there are; None if nobody knows."""
    is_shared: Callable[[], bool | None] = lambda: None
    """Whether state is shared with the others; None where that is not configured."""

    def as_json(self) -> dict[str, Any]:
        """Return it for a program."""
        return {"pid": self.pid, "workers": self.workers, "shared": self.is_shared()}


class AdminHandlers:
    """One worker's."""

    def __init__(self, inspector: RotationInspector, worker: Worker) -> None:
        self._inspector, self._worker = inspector, worker

    async def accounts(self, parameters: Mapping[str, Any]) -> AdminResponse:
        """Say how accounts stand."""
        try:
            _reject_unknown(parameters, ACCOUNTS_PARAMETERS)
            names = _texts(parameters.get("account"), "account") or None
            state = _state(parameters.get("state"))
            limit = _whole(parameters.get("limit"), "limit", DEFAULT_ACCOUNTS, MAX_ACCOUNTS)
            if names is not None:
                self._require_accounts(names)
        except AdminRequestError as refused:
            return _refusal(refused)
        # What comes back is bounded by its limit, so what is looked at may be as well, unless states are asked for.
        wanted = self._inspector.names() if names is None else sorted(set(names))
        looked_at = await self._inspector.accounts(wanted if state is not None else wanted[:limit])
        found = [one for one in looked_at if state is None or one.state is state]
        shown: Sequence[AccountStatus] = found[:limit]
        counts = self._inspector.session_counts()
        return self._answer(
            accounts=[one.as_json() for one in shown],
            total=len(wanted) if state is None else len(found),
            models=self._inspector.models(),
            waiting=dict(self._inspector.queue_lengths()),
            sessions={
                "pins": counts.sessions,
                "hits": counts.hits,
                "misses": counts.new,
                "escapes": counts.fallbacks,
                "repins": counts.moved,
                "gained_tokens_over_misses": finite(counts.savings.gained_over_misses),
                "gained_tokens_over_away": finite(counts.savings.gained_over_away),
            },
        )

    async def explain(self, parameters: Mapping[str, Any], client: str = "") -> AdminResponse:
        """Say what the next pick would be; `client` is whose session is meant when the question does not say."""
        try:
            question = parse_explain_query(parameters)
        except AdminRequestError as refused:
            return _refusal(refused)
        found = await self._inspector.explain(replace(question, client=question.client or client))
        if found is None:
            known = self._inspector.models()
            return _refusal(
                AdminRequestError(
                    f"Nobody has asked this worker for a model named {question.model[:MAX_CHARACTERS]!r} yet.",
                    _suggestion(question.model, known) if known else "Send a request for it first, or check its name.",
                    NOT_FOUND,
                )
            )
        session = {"pinned_to": found.pinned_to, "advice": found.decision} if question.session else None
        line = {"waiting": found.queued, "scarce": found.is_scarce}
        return self._answer(**found.explanation.as_json(), session=session, **line)

    def release(self, account: str) -> AdminResponse:
        """Free an account of what holds it."""
        try:
            self._require_accounts([account])
        except AdminRequestError as refused:
            return _refusal(refused)
        self._inspector.release(account)
        is_everywhere = self._worker.workers == 1 or bool(self._worker.is_shared())
        return self._answer(released=account, everywhere=is_everywhere)

    def _require_accounts(self, names: Iterable[str]) -> None:
        known = self._inspector.names()
        for name in names:
            if name not in known:
                raise AdminRequestError(
                    f"There is no account named {name[:MAX_CHARACTERS]!r} at this worker.",
                    _suggestion(name, known)
                    if known
                    else "Accounts are known from the first request for their model on.",
                    NOT_FOUND,
                )

    def _answer(self, **parts: Any) -> AdminResponse:
        return AdminResponse(OK, {"worker": self._worker.as_json(), **parts})


def parse_explain_query(told: Mapping[str, Any]) -> ExplainQuery:
    """Read what somebody wants explained; raise Refused for what cannot be."""
    _reject_unknown(told, EXPLAIN_PARAMETERS)
    model = _text(told.get("model"), "model")
    if not model:
        raise AdminRequestError("Nothing says for which model.", "Add model=NAME, as clients write it.")
    tokens = told.get("tokens")
    amount = number(tokens)
    if tokens is not None and amount is None:
        raise AdminRequestError(
            f"tokens: {str(tokens)[:40]!r} is no number of tokens.", "Write 0 or more, such as 1200."
        )
    client = _text(told.get("client"), "client")
    if looks_like_key(client):
        raise AdminRequestError(
            "client: this looks like a key.", "Give its hash, as LiteLLM shows it; never the key itself."
        )
    tried = _texts(told.get("tried"), "tried")
    session = _text(told.get("session"), "session") or None
    return ExplainQuery(model, amount, session, client, frozenset(tried), _flag(told.get("stream"), "stream"))


def _reject_unknown(told: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in told:
        if name not in names:
            raise AdminRequestError(f"There is no parameter {str(name)[:40]!r}.", _suggestion(str(name), names))


def _text(told: object, name: str) -> str:
    if told is None:
        return ""
    if not isinstance(told, str) or len(told) > MAX_CHARACTERS:
        raise AdminRequestError(
            f"{name}: this is no text of up to {MAX_CHARACTERS} characters.", f"Write {name}=TEXT, once."
        )
    return told.strip()


def _texts(told: object, name: str) -> list[str]:
    several = told if isinstance(told, list | tuple) else [told]
    if len(several) > MAX_LIST_ITEMS:
        raise AdminRequestError(f"{name}: {len(several)} of them.", f"At most {MAX_LIST_ITEMS}.")
    return [part.strip() for one in several for part in _text(one, name).split(",") if part.strip()]


def _whole(told: object, name: str, usual: int, most: int) -> int:
    if told is None:
        return usual
    found = number(told)
    if not found or found != int(found) or found > most:
        raise AdminRequestError(
            f"{name}: {str(told)[:40]!r} is no number from 1 to {most}.", f"Write such as {name}={usual}."
        )
    return int(found)


def _state(told: object) -> HealthState | None:
    name = _text(told, "state")
    if not name:
        return None
    if name not in list(HealthState):
        raise AdminRequestError(f"state: there is no {name[:40]!r}.", _suggestion(name, list(HealthState)))
    return HealthState(name)


def _flag(told: object, name: str) -> bool:
    text = str(told).lower() if isinstance(told, bool) else _text(told, name).lower()
    if text not in TRUE_WORDS | FALSE_WORDS:
        raise AdminRequestError(f"{name}: {text[:40]!r} is neither true nor false.", f"Write {name}=true.")
    return text in TRUE_WORDS


def _suggestion(name: str, there: Sequence[str]) -> str:
    close = get_close_matches(name, there, n=1, cutoff=0.5)
    if close:
        return f"Did you mean {close[0]}?"
    more = f" and {len(there) - MAX_SUGGESTIONS} more" if len(there) > MAX_SUGGESTIONS else ""
    return f"There are {', '.join(there[:MAX_SUGGESTIONS])}{more}."


def _refusal(refused: AdminRequestError) -> AdminResponse:
    return AdminResponse(refused.status, {"error": refused.message, "cure": refused.hint})
