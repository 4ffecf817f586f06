"""LiteLLM callback that turns events into journal records. No request waits for it or fails because of it."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from litellm.integrations.custom_logger import CustomLogger

from litellm_evenkeel.journal import event_parser
from litellm_evenkeel.support.lru_dict import LruDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.journal.journal import Journal

# Failed attempts are kept until it is known whether their request failed. Most requests succeed at another deployment,
# and then no event removes the attempt, so the number is bounded.
MAX_PENDING_ATTEMPTS = 1000
# The module in which LiteLLM authenticates a key, and the fields that it sets even for an unknown key.
AUTHENTICATION_MODULE = "litellm.proxy.auth.user_api_key_auth"
UNKNOWN_KEY_FIELDS = frozenset({"api_key", "token", "parent_otel_span", "request_route"})
UNAUTHORIZED = 401


# A client may disable logging for its request. LiteLLM then skips all callbacks without `_PROXY_` in their class name.
# The journal has to count such requests too, and it stores no prompts and no answers.
class Journal_PROXY_(CustomLogger):  # noqa: N801
    """LiteLLM callback of the journal."""

    def __init__(self, journal: Journal, errors: Callable[[str, Exception], None]) -> None:
        super().__init__()
        self.journal, self._errors = journal, errors
        self._attempts: LruDict[tuple[int, object], event_parser.Attempt] = LruDict(MAX_PENDING_ATTEMPTS)

    async def async_log_success_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Append a record of a successful request."""
        del response_obj, start_time, end_time
        try:
            record = event_parser.parse_success(kwargs)
            if record is not None:
                self.journal.append(record)
        except Exception as error:  # noqa: BLE001 - an error here must not keep the event from other callbacks
            self._errors("writing down an answer", error)

    async def async_log_failure_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Store the failed attempt, because the hook for the failed request no longer knows the deployment."""
        del response_obj, start_time, end_time
        try:
            if not isinstance(kwargs.get("standard_logging_object"), dict):
                return
            self._attempts.put(_attempt_id(kwargs), event_parser.parse_attempt(kwargs))
        except Exception as error:  # noqa: BLE001
            self._errors("remembering an attempt", error)

    async def async_post_call_failure_hook(
        self,
        request_data: Mapping[str, Any],
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: str | None = None,
    ) -> None:
        """Append a record of a failed request."""
        del traceback_str
        try:
            attempt = self._attempts.pop(_attempt_id(request_data), None)
            payload = request_data.get("standard_logging_object")
            if isinstance(payload, dict) and payload.get("status") == "success":
                # The request succeeded and has a record, but then the proxy withheld the answer.
                return
            if not isinstance(request_data.get("first_api_call_start_time"), datetime):
                # No attempt was made. Anything here that names a deployment was sent by the client.
                attempt = None
            failure = event_parser.Failure(type(original_exception).__name__, _status(original_exception))
            self.journal.append(
                event_parser.parse_failure(request_data, failure, _caller(user_api_key_dict), attempt, time.time())
            )
        except Exception as error:  # noqa: BLE001
            self._errors("writing down a failure", error)


def _attempt_id(details: Mapping[str, Any]) -> tuple[int, object]:
    """Return an id that the event and the hook share: the identity of LiteLLM's payload, and its start time."""
    payload = details.get("standard_logging_object")
    return id(payload), payload.get("startTime") if isinstance(payload, dict) else None


def _caller(auth: Any) -> event_parser.Caller:
    """Return the key of a request. LiteLLM sets more fields for a key that it knows than for an unknown one."""
    is_known = bool(getattr(auth, "token", None) and set(getattr(auth, "model_fields_set", ())) - UNKNOWN_KEY_FIELDS)
    return event_parser.Caller(getattr(auth, "api_key", None), is_known)


def _status(error: Exception) -> int:
    """Return the HTTP status of LiteLLM's response for an error."""
    caught = error.__traceback__
    if caught is not None and caught.tb_frame.f_globals.get("__name__") == AUTHENTICATION_MODULE:
        return _authentication_status(error)
    return event_parser.status(error)


def _authentication_status(error: Exception) -> int:
    """Return the HTTP status for an error of authentication, which LiteLLM converts only after it calls the hook."""
    from litellm.proxy.auth import auth_exception_handler  # noqa: PLC0415 - only of use in a proxy

    convert = getattr(auth_exception_handler, "_as_proxy_exception", None)
    try:
        return event_parser.status(error if convert is None else convert(error), UNAUTHORIZED)
    except ImportError:
        # The conversion imports Prisma to recognise a database outage. Without Prisma, the client gets this status.
        return event_parser.FAILED
