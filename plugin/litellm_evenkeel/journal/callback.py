"""The journal as LiteLLM sees it: events in, rows out. No request waits for it, and none fails by it."""

from __future__ import annotations

import time
from collections import OrderedDict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from litellm.integrations.custom_logger import CustomLogger

from litellm_evenkeel.journal import event_parser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.journal.journal import Journal

# Of failed attempts it is not known yet whether their requests will be served elsewhere.
MAX_PENDING_ATTEMPTS = 1000
# Where LiteLLM finds out whose a key is, and what it says of one that it does not know, too.
AUTHENTICATION_MODULE = "litellm.proxy.auth.user_api_key_auth"
UNKNOWN_KEY_FIELDS = frozenset({"api_key", "token", "parent_otel_span", "request_route"})
UNAUTHORIZED = 401


# LiteLLM leaves out callbacks when a client asks for no log, but for those with this in their names. The journal holds
# nothing of what was asked or answered.
class Journal_PROXY_(CustomLogger):  # noqa: N801
    """The callback."""

    def __init__(self, journal: Journal, errors: Callable[[str, Exception], None]) -> None:
        super().__init__()
        self.journal, self._errors = journal, errors
        self._attempts: OrderedDict[tuple[int, object], event_parser.Attempt] = OrderedDict()

    async def async_log_success_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Write down an answer."""
        del response_obj, start_time, end_time
        try:
            told = event_parser.parse_success(kwargs)
            if told is not None:
                self.journal.append(told)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others have to hear of the event
            self._errors("writing down an answer", error)

    async def async_log_failure_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Remember where an attempt failed: the hook that tells of a request's failure does not know any more."""
        del response_obj, start_time, end_time
        try:
            if not isinstance(kwargs.get("standard_logging_object"), dict):
                return
            self._attempts[_attempt_id(kwargs)] = event_parser.parse_attempt(kwargs)
            if len(self._attempts) > MAX_PENDING_ATTEMPTS:
                self._attempts.popitem(last=False)
        except Exception as error:  # noqa: BLE001
            self._errors("remembering an attempt", error)

    async def async_post_call_failure_hook(
        self,
        request_data: Mapping[str, Any],
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: str | None = None,
    ) -> None:
        """Write down what a client has failed to get."""
        del traceback_str
        try:
            attempt = self._attempts.pop(_attempt_id(request_data), None)
            told = request_data.get("standard_logging_object")
            if isinstance(told, dict) and told.get("status") == "success":
                # It was answered, and written down; then the proxy withheld the answer.
                return
            if not isinstance(request_data.get("first_api_call_start_time"), datetime):
                # No deployment was asked: what names one is what the client has sent.
                attempt = None
            failure = event_parser.Failure(type(original_exception).__name__, _status(original_exception))
            self.journal.append(
                event_parser.parse_failure(request_data, failure, _caller(user_api_key_dict), attempt, time.time())
            )
        except Exception as error:  # noqa: BLE001
            self._errors("writing down a failure", error)


def _attempt_id(details: Mapping[str, Any]) -> tuple[int, object]:
    """Return by what an attempt is known again: LiteLLM's account of it, which both tell, and when that begins."""
    told = details.get("standard_logging_object")
    return id(told), told.get("startTime") if isinstance(told, dict) else None


def _caller(told: Any) -> event_parser.Caller:
    """Return with which key a request came; more is said of one that LiteLLM knows than of any other."""
    is_known = bool(getattr(told, "token", None) and set(getattr(told, "model_fields_set", ())) - UNKNOWN_KEY_FIELDS)
    return event_parser.Caller(getattr(told, "api_key", None), is_known)


def _status(error: Exception) -> int:
    """Return the status with which LiteLLM answers for an error."""
    caught = error.__traceback__
    if caught is not None and caught.tb_frame.f_globals.get("__name__") == AUTHENTICATION_MODULE:
        return _authentication_status(error)
    return event_parser.status(error)


def _authentication_status(error: Exception) -> int:
    """Return it for what authentication raised: LiteLLM makes an answer of that only after it has told of it."""
    from litellm.proxy.auth import auth_exception_handler  # noqa: PLC0415 - only of use in a proxy

    made = getattr(auth_exception_handler, "_as_proxy_exception", None)
    try:
        return event_parser.status(error if made is None else made(error), UNAUTHORIZED)
    except ImportError:
        # It asks Prisma whether the database is gone, and where there is none, the client gets this.
        return event_parser.FAILED
