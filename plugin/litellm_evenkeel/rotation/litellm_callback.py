"""LiteLLM callback of the rotation: reduces the healthy deployments to the picked one, and records outcomes.

An error of the plugin never fails a request: it is counted, and logged without any content of the request; LiteLLM
picks a deployment instead.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.litellm_core_utils.llm_response_utils.get_headers import get_response_headers

from litellm_evenkeel.litellm_router import disable_cooldowns, running_router
from litellm_evenkeel.providers import response_usage
from litellm_evenkeel.providers.classifier import Failure, classify
from litellm_evenkeel.rotation.attempts import ClientRequest
from litellm_evenkeel.rotation.litellm_filters import apply_litellm_filters
from litellm_evenkeel.rotation.model.blocker import DESCRIPTIONS, BlockReason
from litellm_evenkeel.rotation.pick_event import add_event, span_of
from litellm_evenkeel.rotation.selection.pick import NoCapacity
from litellm_evenkeel.support.lru_dict import LruDict

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from litellm_evenkeel.rotation.account_router import AccountRouter
    from litellm_evenkeel.rotation.model.error_rule import ErrorRule
    from litellm_evenkeel.rotation.pool.candidate_cache import CachedCandidates
    from litellm_evenkeel.rotation.selection.pick import Pick
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState
    from litellm_evenkeel.support.error_log import ErrorReporter

MAX_RETRY_AFTER_SECONDS = 86_400
# Status codes with which a provider refuses a request that it would accept later.
REJECTED_STATUSES = frozenset({429, 503, 529})
# Requests whose latest attempt was rejected. Most of them succeed at another account, and are not forgotten before.
MAX_REJECTED = 10_000


def retry_after(no_capacity: NoCapacity) -> int:
    """Return the `retry-after` of a rejection in whole seconds, at least 1."""
    return max(1, math.ceil(min(no_capacity.available_in, MAX_RETRY_AFTER_SECONDS)))


def is_permanent(no_capacity: NoCapacity) -> bool:
    """Return whether waiting does not help, because all accounts are paused or in quarantine."""
    return no_capacity.available_in == math.inf


def rejection_message(model: str, no_capacity: NoCapacity) -> str:
    """Return the text of the error that a client gets. It names no account."""
    if is_permanent(no_capacity):
        return (
            f"evenkeel: every account of {model!r} is paused or quarantined. An operator finds the reasons in "
            f"/evenkeel/accounts and releases them there."
        )
    reason = DESCRIPTIONS[no_capacity.blocker.reason if no_capacity.blocker else BlockReason.LIMIT]
    return f"evenkeel: no account of {model!r} is available ({reason}). Retry in {retry_after(no_capacity)} s."


ACCOUNT_HEADER = "x-evenkeel-account"
# At the start, the callback checks whether LiteLLM has created its router. Each pause is twice as long as the last.
MIN_CHECK_SECONDS, MAX_CHECK_SECONDS = 0.01, 5.0
# Raised by LiteLLM if no deployment suits a request: its tags, its length or its region.
NO_SUITABLE_DEPLOYMENT = (ValueError, litellm.BadRequestError)
# Parameters with which a request brings its client's own credentials. LiteLLM's own list has moved between releases, so
# this is a copy; a test compares the two.
CLIENT_CREDENTIALS = ("api_key", "api_base", "base_url")
REQUEST_IDS = ("litellm_logging_obj", "litellm_call_id", "litellm_trace_id")


# If a client turns logging off, LiteLLM skips callbacks, except those with `_PROXY_` in the name of their class. The
# ends of its streams would be missed otherwise. This class logs no content of requests.
class AccountRotation_PROXY_(CustomLogger):  # noqa: N801
    """Callback that picks an account for each request."""

    def __init__(
        self,
        router: AccountRouter,
        errors: ErrorReporter,
        start: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        super().__init__()
        self.router, self._errors = router, errors
        self._start = start
        self._tasks: set[asyncio.Task[None]] = set()
        self._rejected_by: LruDict[str, DeploymentState] = LruDict(MAX_REJECTED)
        self._litellm_router: Any = None
        self._has_started = False
        self._start_once()

    async def async_filter_deployments(
        self,
        model: str,
        healthy_deployments: list[dict[str, Any]],
        messages: list[Any] | None,
        request_kwargs: dict[str, Any] | None = None,
        parent_otel_span: Any = None,
    ) -> list[dict[str, Any]]:
        """Return the picked deployment alone, or all of them if the rotation does not apply."""
        if not healthy_deployments or _has_client_credentials(request_kwargs):
            return healthy_deployments
        if not self._has_started:
            self._start_once()
        try:
            request = request_kwargs if request_kwargs is not None else {}
            cached = self.router.candidates.lookup(model, healthy_deployments)
            candidates = await self._candidates(cached, healthy_deployments, messages, request)
            if not candidates:
                return healthy_deployments
            if candidates is not healthy_deployments:
                cached = self.router.candidates.lookup(model, candidates)
            if not _is_attempt(request) and self._litellm_router is not None:
                position = self.router.preview(cached, candidates)
                return candidates if position is None else [candidates[position]]
            began = time.perf_counter()
            result = await self.router.pick(model, candidates, messages, request, cached)
            span = span_of(request, parent_otel_span)
            if span is not None:
                self._trace(span, model, result, time.perf_counter() - began)
        except Exception as error:  # noqa: BLE001 - no error of the plugin fails a request
            self._errors.report("choosing", error)
            return healthy_deployments
        if isinstance(result, NoCapacity):
            # Otherwise LiteLLM would log the errors of earlier attempts with it, which may quote the prompt.
            raise _rejection(model, result) from None
        return [candidates[result.position]]

    async def async_post_call_failure_deployment_hook(
        self, request_data: Mapping[str, Any], exception: Exception, call_type: Any = None, **_: Any
    ) -> None:
        """Record a failed attempt."""
        del call_type
        try:
            info = request_data.get("model_info") or {}
            failure = _classify(exception, self.router.settings.error_rules)
            deployment = self.router.on_failure(str(info.get("id") or ""), *failure)
            if deployment is not None and getattr(exception, "status_code", None) in REJECTED_STATUSES:
                self._rejected_by.put(str(request_data.get("litellm_call_id")), deployment)
        except Exception as error:  # noqa: BLE001
            self._errors.report("learning from a failure", error)

    async def async_post_call_failure_hook(
        self,
        request_data: Mapping[str, Any],
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: str | None = None,
    ) -> None:
        """Add `retry-after` to a provider's rejection that a client sees: LiteLLM does not pass such headers on."""
        del user_api_key_dict, traceback_str
        try:
            # The exception is a copy of that of the last attempt, and the request has lost its logging object.
            deployment = self._rejected_by.pop(str(request_data.get("litellm_call_id")), None)
            if deployment is not None and getattr(original_exception, "status_code", None) in REJECTED_STATUSES:
                seconds = retry_after(NoCapacity(self.router.pool.available_in(deployment), None))
                add_retry_after(original_exception, seconds)
        except Exception as error:  # noqa: BLE001
            self._errors.report("adding a retry-after", error)

    async def async_log_success_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Record the end of a stream."""
        del response_obj, start_time, end_time
        if not self.router.attempts.streams:
            return
        try:
            client_request = ClientRequest.from_event(kwargs)
            if client_request is None or not client_request.streams:
                return
            payload = kwargs.get("standard_logging_object") or {}
            usage = (payload.get("metadata") or {}).get("usage_object") or payload
            hidden = payload.get("hidden_params") or {}
            response = response_usage.parse_usage(
                usage,
                dollars=payload.get("response_cost"),
                headers=hidden.get("additional_headers"),
                is_from_cache=bool(payload.get("cache_hit")),
            )
            self.router.on_stream_end(client_request, payload.get("model_id"), response)
        except Exception as error:  # noqa: BLE001
            self._errors.report("learning from an answer", error)

    async def async_log_failure_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Record a stream that broke off. For other failures, this event may name a wrong account: they are ignored."""
        del response_obj, start_time, end_time
        if not self.router.attempts.streams:
            return
        try:
            client_request, exception = ClientRequest.from_event(kwargs), kwargs.get("exception")
            if client_request is not None and isinstance(exception, Exception):
                self.router.on_stream_failure(client_request, *_classify(exception, self.router.settings.error_rules))
        except Exception as error:  # noqa: BLE001
            self._errors.report("learning from a broken stream", error)

    def _trace(self, span: Any, model: str, result: Pick | NoCapacity, seconds: float) -> None:
        try:
            add_event(span, model, result, seconds)
        except Exception as error:  # noqa: BLE001 - the pick stands, traced or not
            self._errors.report("tracing a pick", error)

    def _start_once(self) -> None:
        """Start the background tasks: at the import if an event loop runs, otherwise with the first request."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._has_started = True
        for coroutine in (self._prepare_router(), *([] if self._start is None else [self._start()])):
            task = loop.create_task(coroutine)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _prepare_router(self) -> None:
        """Wait for LiteLLM's router and disable its cooldowns before the first request.

        Since LiteLLM 1.110, a request keeps the cooldown settings with which it began.
        """
        pause = MIN_CHECK_SECONDS
        try:
            while self._running_router() is None:
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_CHECK_SECONDS)
        except Exception as error:  # noqa: BLE001 - the first request tries again
            self._errors.report("preparing the router", error)

    async def _candidates(
        self,
        cached: CachedCandidates,
        deployments: list[dict[str, Any]],
        messages: list[Any] | None,
        request: dict[str, Any],
    ) -> list[dict[str, Any]]:
        router = self._running_router()
        if router is None:
            return deployments
        try:
            return await apply_litellm_filters(router, cached, deployments, messages, request)
        except NO_SUITABLE_DEPLOYMENT:
            # LiteLLM applies the same filters afterwards, and answers with its own error.
            return []

    def _running_router(self) -> Any:
        """Return the proxy's router. The cooldowns of a new router are disabled, as the rotation has its own."""
        router = running_router()
        if router is not None and router is not self._litellm_router:
            self._litellm_router = router
            if not self.router.settings.litellm_cooldowns:
                try:
                    disable_cooldowns(router)
                except Exception as error:  # noqa: BLE001 - the rotation also works beside LiteLLM's cooldowns
                    self._errors.report("switching off LiteLLM's cooldowns", error)
        return router


class AccountRotationWithHeader_PROXY_(AccountRotation_PROXY_):  # noqa: N801 - see above
    """Callback that also names the account in a response header.

    It is a class of its own, because the mere presence of this hook makes LiteLLM do more work for each request.
    """

    async def async_post_call_response_headers_hook(
        self,
        data: Mapping[str, Any],
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Mapping[str, Any] | None = None,
    ) -> dict[str, str] | None:
        """Return the header that names the account of the final attempt."""
        # Not every response states its deployment: non-streamed ones of /v1/messages do not.
        del user_api_key_dict, response, request_headers, litellm_call_info
        picked = ClientRequest.of(data).picked
        # The name of an account may contain characters that a header may not.
        return None if picked is None else {ACCOUNT_HEADER: quote(picked.account, safe=" @:/+,;=")}


def _has_client_credentials(request: Mapping[str, Any] | None) -> bool:
    """Return whether a request brings its own credentials, whose failures do not concern the accounts."""
    if request is not None:
        # Not `any`, whose generator costs more than the loop itself.
        for name in CLIENT_CREDENTIALS:
            if name in request:
                return True
    return False


def _is_attempt(request: Mapping[str, Any]) -> bool:
    """Return whether a request to the selected deployment follows, as far as is known.

    LiteLLM also selects a deployment to count tokens. Every other request of a proxy has an id or a model group.
    """
    # Not `any`, as above.
    for name in REQUEST_IDS:
        if request.get(name):
            return True
    metadata = request.get("metadata")
    return isinstance(metadata, Mapping) and "model_group" in metadata


def _rejection(model: str, no_capacity: NoCapacity) -> Exception:
    """Return the error of the response. LiteLLM does not retry it, but tries fallbacks of the model group."""
    error_class = litellm.ServiceUnavailableError if is_permanent(no_capacity) else litellm.RateLimitError
    message = rejection_message(model, no_capacity)
    error: Exception = error_class(message, llm_provider="", model=model, num_retries=0)
    if not is_permanent(no_capacity):
        # LiteLLM sends these headers to the client.
        error.headers = {"retry-after": str(retry_after(no_capacity))}  # type: ignore[attr-defined]
    return error


def add_retry_after(error: Exception, seconds: int) -> None:
    """Add a retry-after to the headers that LiteLLM sends with an error, unless it has one."""
    headers = getattr(error, "headers", None)
    if not headers:
        provider = getattr(getattr(error, "response", None), "headers", None)
        headers = get_response_headers(dict(provider)) if provider else {}
    if not any(str(name).lower() == "retry-after" for name in headers):
        error.headers = {**headers, "retry-after": str(seconds)}  # type: ignore[attr-defined]


def _classify(exception: Exception, rules: Sequence[ErrorRule]) -> tuple[Failure, Mapping[str, Any] | None, float]:
    """Return the failure of an attempt, the response headers, and the Unix time."""
    now = time.time()
    response = getattr(exception, "response", None)
    headers = getattr(exception, "litellm_response_headers", None) or getattr(response, "headers", None)
    headers = dict(headers) if headers else None
    status, body = getattr(exception, "status_code", None), getattr(exception, "body", None)
    # Without the last three, which every exception has: `Exception`, `BaseException` and `object`.
    class_names = [cls.__name__ for cls in type(exception).__mro__[:-3]]
    status = status if isinstance(status, int) else None
    body = body if isinstance(body, Mapping) else str(exception)
    return classify(status, body, headers, class_names, now=now, operator_rules=rules), headers, now
