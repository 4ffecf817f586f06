"""The rotation as LiteLLM sees it: hooks in, one deployment out.

An error of ours never fails a request: it is logged without a word of what was asked, counted, and LiteLLM chooses.
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

from litellm_evenkeel.litellm_router import disable_cooldowns, running_router
from litellm_evenkeel.providers import response_usage
from litellm_evenkeel.providers.classifier import Failure, classify
from litellm_evenkeel.rotation.attempts import ClientRequest
from litellm_evenkeel.rotation.litellm_filters import apply_litellm_filters
from litellm_evenkeel.rotation.model.blocker import BlockReason
from litellm_evenkeel.rotation.selection.pick import NoCapacity

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from litellm_evenkeel.rotation.account_router import AccountRouter
    from litellm_evenkeel.rotation.pool.candidate_cache import CachedCandidates
    from litellm_evenkeel.rotation.settings import RotationSettings
    from litellm_evenkeel.support.error_log import ErrorReporter

MAX_RETRY_AFTER_SECONDS = 86_400


def retry_after(no_capacity: NoCapacity) -> int:
    """Return the seconds to say, at least one."""
    return max(1, math.ceil(min(no_capacity.available_in, MAX_RETRY_AFTER_SECONDS)))


def is_permanent(no_capacity: NoCapacity) -> bool:
    """Return whether waiting does not help: all accounts have died."""
    return no_capacity.available_in == math.inf


def rejection_message(model: str, no_capacity: NoCapacity) -> str:
    """Say it."""
    if is_permanent(no_capacity):
        return (
            f"evenkeel: every account of {model!r} is quarantined; an operator finds the reasons in "
            f"/evenkeel/accounts and releases them there"
        )
    reason = no_capacity.blocker.reason.value if no_capacity.blocker else BlockReason.LIMIT.value
    return f"evenkeel: no account of {model!r} is free ({reason}); the first of them is in {retry_after(no_capacity)} s"


ACCOUNT_HEADER = "x-evenkeel-account"
# How often the start looks whether LiteLLM has made its router.
FIRST_LOOK_SECONDS, LAST_LOOK_SECONDS = 0.01, 5.0
# How LiteLLM says that no deployment suits a request: its tags, its length, its region.
LITELLMS_OWN = (ValueError, litellm.BadRequestError)
# By these a request brings its client's own credentials. LiteLLM has moved its list of them; a test compares the two.
CLIENT_CREDENTIALS = ("api_key", "api_base", "base_url")


# LiteLLM leaves out callbacks when a client asks for no log, but for those with this in their names. Nothing of ours
# logs what was asked, and streams end with an event only.
class AccountRotation_PROXY_(CustomLogger):  # noqa: N801
    """The callback."""

    def __init__(
        self,
        settings: RotationSettings,
        router: AccountRouter,
        errors: ErrorReporter,
        begin: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        super().__init__()
        self.settings, self.router, self._errors = settings, router, errors
        self._begin = begin
        self._tasks: set[asyncio.Task[None]] = set()
        self._litellm_router: Any = None
        self._has_begun = False
        self._begin_once()

    async def async_filter_deployments(
        self,
        model: str,
        healthy_deployments: list[dict[str, Any]],
        messages: list[Any] | None,
        request_kwargs: dict[str, Any] | None = None,
        parent_otel_span: Any = None,
    ) -> list[dict[str, Any]]:
        """Choose one of them."""
        del parent_otel_span
        if not healthy_deployments or _brings_its_own_key(request_kwargs):
            return healthy_deployments
        if not self._has_begun:
            self._begin_once()
        try:
            request = request_kwargs if request_kwargs is not None else {}
            cached = self.router.candidates.lookup(model, healthy_deployments)
            candidates = await self._candidates(cached, healthy_deployments, messages, request)
            if not candidates:
                return healthy_deployments
            if candidates is not healthy_deployments:
                cached = self.router.candidates.lookup(model, candidates)
            found = await self.router.pick(model, candidates, messages, request, cached)
        except Exception as error:  # noqa: BLE001 - whatever it is, the request goes on
            self._errors.report("choosing", error)
            return healthy_deployments
        if isinstance(found, NoCapacity):
            raise _refusal(model, found)
        return [candidates[found.position]]

    async def async_post_call_failure_deployment_hook(
        self, request_data: Mapping[str, Any], exception: Exception, call_type: Any = None, **_: Any
    ) -> None:
        """Learn from a failed attempt."""
        del call_type
        try:
            info = request_data.get("model_info") or {}
            headers = _headers(exception)
            wall = time.time()
            self.router.on_failure(str(info.get("id") or ""), _signal(exception, headers, wall), headers, wall)
        except Exception as error:  # noqa: BLE001
            self._errors.report("learning from a failure", error)

    async def async_log_success_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Learn from the end of a stream."""
        del response_obj, start_time, end_time
        if not self.router.attempts.streams:
            return
        try:
            client_request = ClientRequest.from_event(kwargs)
            if client_request is None or not client_request.streams:
                return
            told = kwargs.get("standard_logging_object") or {}
            usage = (told.get("metadata") or {}).get("usage_object") or told
            hidden = told.get("hidden_params") or {}
            response = response_usage.parse_usage(
                usage,
                dollars=told.get("response_cost"),
                headers=hidden.get("additional_headers"),
                is_from_cache=bool(told.get("cache_hit")),
            )
            self.router.on_stream_end(client_request, told.get("model_id"), response)
        except Exception as error:  # noqa: BLE001
            self._errors.report("learning from an answer", error)

    async def async_log_failure_event(
        self, kwargs: Mapping[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Learn from a stream that broke off; of all other failures, this event names the wrong account at times."""
        del response_obj, start_time, end_time
        if not self.router.attempts.streams:
            return
        try:
            client_request, exception = ClientRequest.from_event(kwargs), kwargs.get("exception")
            if client_request is not None and isinstance(exception, Exception):
                headers, wall = _headers(exception), time.time()
                self.router.on_stream_failure(client_request, _signal(exception, headers, wall), headers, wall)
        except Exception as error:  # noqa: BLE001
            self._errors.report("learning from a broken stream", error)

    def _begin_once(self) -> None:
        """Start what runs beside the requests: at the import, in a proxy's loop, else with the first request."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._has_begun = True
        for running in (self._prepare_router(), *([] if self._begin is None else [self._begin()])):
            task = loop.create_task(running)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _prepare_router(self) -> None:
        """Wait for the router and prepare it: since LiteLLM 1.110, a request that has begun keeps its cooldowns."""
        pause = FIRST_LOOK_SECONDS
        try:
            while self._running_router() is None:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LAST_LOOK_SECONDS)
        except Exception as error:  # noqa: BLE001 - the first request looks again
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
        except LITELLMS_OWN:
            # It will come to the same, and say so itself.
            return []

    def _running_router(self) -> Any:
        """Return the proxy's router; a new one must not hold accounts by rules of its own."""
        router = running_router()
        if router is not None and router is not self._litellm_router:
            self._litellm_router = router
            if not self.settings.stock_cooldowns:
                self._disable_cooldowns(router)
        return router

    def _disable_cooldowns(self, router: Any) -> None:
        try:
            disable_cooldowns(router)
        except Exception as error:  # noqa: BLE001 - the rotation goes on, beside LiteLLM's cooldowns
            self._errors.report("switching off LiteLLM's cooldowns", error)


class AccountRotationWithHeader_PROXY_(AccountRotation_PROXY_):  # noqa: N801 - see above
    """The same, naming the account in each answer. LiteLLM does more for each request as soon as this hook is there."""

    async def async_post_call_response_headers_hook(
        self,
        data: Mapping[str, Any],
        user_api_key_dict: Any,
        response: Any,
        request_headers: Any = None,
        litellm_call_info: Mapping[str, Any] | None = None,
    ) -> dict[str, str] | None:
        """Name the account of the final attempt."""
        # Not all answers can tell which deployment they are of, the non-streamed of /v1/messages for one.
        del user_api_key_dict, response, request_headers, litellm_call_info
        picked = ClientRequest.of(data).picked
        # A name may hold what no header may.
        return None if picked is None else {ACCOUNT_HEADER: quote(picked.account, safe=" @:/+,;=")}


def _brings_its_own_key(request: Mapping[str, Any] | None) -> bool:
    """Return whether a client's own credentials are used: what becomes of those says nothing of our accounts."""
    if request is not None:
        # Not `any`: a generator costs more than all of it.
        for name in CLIENT_CREDENTIALS:
            if name in request:
                return True
    return False


def _refusal(model: str, no_capacity: NoCapacity) -> Exception:
    """Return what LiteLLM answers with, without trying again; its fallbacks are tried."""
    told = rejection_message(model, no_capacity)
    if is_permanent(no_capacity):
        hopeless: Exception = litellm.ServiceUnavailableError(told, llm_provider="", model=model, num_retries=0)
        return hopeless
    error: Exception = litellm.RateLimitError(told, llm_provider="", model=model, num_retries=0)
    # LiteLLM sends on what stands here.
    error.headers = {"retry-after": str(retry_after(no_capacity))}  # type: ignore[attr-defined]
    return error


def _headers(exception: Exception) -> Mapping[str, Any] | None:
    for headers in (
        getattr(exception, "litellm_response_headers", None),
        getattr(getattr(exception, "response", None), "headers", None),
    ):
        if headers:
            return dict(headers)
    return None


def _signal(exception: Exception, headers: Mapping[str, Any] | None, wall: float) -> Failure:
    status, body = getattr(exception, "status_code", None), getattr(exception, "body", None)
    names = [one.__name__ for one in type(exception).__mro__[:-3]]
    return classify(
        status if isinstance(status, int) else None,
        body if isinstance(body, Mapping) else str(exception),
        headers,
        names,
        now=wall,
    )
