"""FastAPI routes under `/evenkeel` on the proxy's own app, for its admins only. Their logic is in `handlers`."""

# This module must not postpone annotations: FastAPI evaluates them at run time to find the dependencies.
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.convertors import StringConvertor, register_url_convertor

from litellm_evenkeel import proxy_process
from litellm_evenkeel.admin import openapi
from litellm_evenkeel.admin.control_actions import Action
from litellm_evenkeel.admin.handlers import AdminHandlers
from litellm_evenkeel.admin.live.feed import LiveFeed
from litellm_evenkeel.admin.live.page import page
from litellm_evenkeel.errors import AdminRequestError
from litellm_evenkeel.support.redaction import shown_name

# LiteLLM's names of user roles.
READ_ROLES = frozenset({"proxy_admin", "proxy_admin_viewer"})
WRITE_ROLES = frozenset({"proxy_admin"})
BAD_REQUEST, FORBIDDEN = 400, 403
MAX_BODY_BYTES = 100_000
MAX_NAME_CHARACTERS = 100
# LiteLLM's names for the owner of a key, the most telling first. The key itself is not among them.
OWNER_FIELDS = ("key_alias", "user_email", "user_id")
STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class _Name(StringConvertor):
    """Path convertor for any account name. Starlette's own `path` convertor does not match line breaks."""

    regex = r"(?s:.+)"


register_url_convertor("evenkeel_name", _Name())


def install(handlers: AdminHandlers, metrics: Callable[[], bytes]) -> None:
    """Add the rotation's routes to the running proxy."""
    app, authenticated = _proxy_app()
    mount(app, handlers, metrics, authenticated)


def install_health(part: str, document: Callable[[], dict[str, Any]]) -> None:
    """Add the health route of a part of the plugin to the running proxy. `document` returns its JSON document."""
    app, authenticated = _proxy_app()
    _parts(app)[part] = document

    require = _require_role(READ_ROLES, authenticated)

    @app.get(f"/evenkeel/{part}/health", tags=["evenkeel"], dependencies=[require], responses=openapi.ERRORS)
    async def health() -> Response:
        return JSONResponse(document())


def _parts(app: FastAPI) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the parts of the plugin that this app has health routes for. The live page shows them too."""
    if not hasattr(app.state, "evenkeel_parts"):
        app.state.evenkeel_parts = {}
    parts: dict[str, Callable[[], dict[str, Any]]] = app.state.evenkeel_parts
    return parts


def _proxy_app() -> tuple[FastAPI, Callable[..., Any]]:
    from litellm.proxy.auth.user_api_key_auth import user_api_key_auth  # noqa: PLC0415 - only there in a proxy
    from litellm.proxy.proxy_server import app  # noqa: PLC0415

    return app, user_api_key_auth


def mount(
    app: FastAPI, handlers: AdminHandlers, metrics: Callable[[], bytes], authenticated: Callable[..., Any]
) -> None:
    """Add the rotation's routes to an app. `authenticated` is the dependency that returns the client's key."""
    reader, writer = _require_role(READ_ROLES, authenticated), _require_role(WRITE_ROLES, authenticated)
    feed = LiveFeed(handlers, lambda: _parts(app), is_shutting_down=proxy_process.is_shutting_down)
    router = APIRouter(prefix="/evenkeel", tags=["evenkeel"], responses=openapi.ERRORS)
    _add_live_page(router, feed, reader)
    _add_reads(router, handlers, metrics, reader)
    _add_actions(router, handlers, writer)
    app.include_router(router)


def _add_live_page(router: APIRouter, feed: LiveFeed, reader: Any) -> None:
    html, html_headers = page()

    @router.get("/", include_in_schema=False)
    async def live_page() -> Response:
        return HTMLResponse(html, headers=html_headers)

    @router.get("/live", dependencies=[reader], response_class=StreamingResponse)
    async def live() -> Response:
        events = feed.stream()
        try:
            # Before the response begins, so that an error has its own status.
            first = await anext(events, "")
        except AdminRequestError as error:
            return _error(error)

        async def body() -> AsyncIterator[str]:
            async with contextlib.aclosing(events):
                yield first
                async for event in events:
                    yield event

        return StreamingResponse(body(), media_type="text/event-stream", headers=STREAM_HEADERS)


def _add_reads(router: APIRouter, handlers: AdminHandlers, metrics: Callable[[], bytes], reader: Any) -> None:
    @router.get("/accounts", dependencies=[reader], openapi_extra=openapi.in_query(openapi.ACCOUNTS))
    async def accounts(request: Request) -> Response:
        return await _response(handlers.accounts(_parameters(request)))

    @router.get("/explain", openapi_extra=openapi.in_query(openapi.EXPLAIN))
    @router.post("/explain", openapi_extra=openapi.in_query_or_body(openapi.EXPLAIN))
    async def explain(
        # Before the key: LiteLLM reads the body to authenticate, and fails if it is JSON but no object.
        parameters: Annotated[dict[str, Any], Depends(_parameters_with_body)],
        auth: Annotated[Any, reader],
    ) -> Response:
        return await _response(handlers.explain(parameters, client=str(getattr(auth, "api_key", None) or "")))

    @router.get("/metrics", dependencies=[reader], response_class=PlainTextResponse)
    async def scrape() -> Response:
        return Response(metrics(), media_type=CONTENT_TYPE_LATEST)


def _add_actions(router: APIRouter, handlers: AdminHandlers, writer: Any) -> None:
    @router.post("/accounts/{account:evenkeel_name}/release")
    async def release(account: str, auth: Annotated[Any, writer]) -> Response:
        return await _response(handlers.release(account, _operator(auth)))

    def add_action(action: Action) -> None:
        async def control(
            account: str,
            parameters: Annotated[dict[str, Any], Depends(_parameters_with_body)],
            auth: Annotated[Any, writer],
        ) -> Response:
            return await _response(handlers.control(account, action, parameters, _operator(auth)))

        path = f"/accounts/{{account:evenkeel_name}}/{action}"
        described = openapi.in_query_or_body(openapi.control_fields(action))
        router.add_api_route(path, control, methods=["POST"], name=f"{action} account", openapi_extra=described)

    for action in Action:
        add_action(action)


def _require_role(roles: frozenset[str], authenticated: Callable[..., Any]) -> Any:
    """Return the dependency that returns a client's key, and rejects a key without one of the roles."""

    async def require(auth: Annotated[Any, Depends(authenticated)]) -> Any:
        role = getattr(auth, "user_role", None)
        if getattr(role, "value", role) not in roles:
            raise HTTPException(
                FORBIDDEN, {"error": "This key does not belong to an admin.", "hint": "Use the key of a proxy admin."}
            )
        return auth

    return Depends(require)


def _operator(auth: Any) -> str:
    """Return the name of the operator's key, or that of its owner; never the key."""
    names = (getattr(auth, field, None) for field in OWNER_FIELDS)
    name = next((str(name) for name in names if name), "an admin")[:MAX_NAME_CHARACTERS]
    return shown_name("".join(char if char.isprintable() else "?" for char in name))


def _parameters(request: Request) -> dict[str, Any]:
    query = request.query_params
    return {name: values if len(values := query.getlist(name)) > 1 else values[0] for name in query}


async def _parameters_with_body(request: Request) -> dict[str, Any]:
    if request.method != "POST":
        return _parameters(request)
    try:
        # A chunked body has no stated length, and is refused once it has been read.
        is_small = int(request.headers.get("content-length") or 0) <= MAX_BODY_BYTES
        raw = await request.body() if is_small else b"-"
        parameters = json.loads(raw or b"{}") if len(raw) <= MAX_BODY_BYTES else None
    except (ValueError, RecursionError):
        parameters = None
    if not isinstance(parameters, dict):
        hint = 'Send an object such as {"model": "gpt-4o", "tokens": 1200}, as application/json.'
        raise HTTPException(
            BAD_REQUEST, {"error": f"body: expected a JSON object of up to {MAX_BODY_BYTES} bytes.", "hint": hint}
        )
    return _parameters(request) | parameters


async def _response(document: Awaitable[dict[str, Any]]) -> Response:
    try:
        return JSONResponse(await document)
    except AdminRequestError as error:
        return _error(error)


def _error(error: AdminRequestError) -> Response:
    # Wrapped in `detail`, as in FastAPI's own errors.
    return JSONResponse({"detail": {"error": error.message, "hint": error.hint}}, error.status)
