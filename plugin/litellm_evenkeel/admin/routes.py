"""FastAPI routes under `/evenkeel` on the proxy's own app, for its admins only. Their logic is in `handlers`."""

# This module must not postpone annotations: FastAPI evaluates them at run time to find the dependencies.
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.convertors import StringConvertor, register_url_convertor

from litellm_evenkeel.admin.handlers import AdminHandlers
from litellm_evenkeel.errors import AdminRequestError

# LiteLLM's names of user roles.
READ_ROLES = frozenset({"proxy_admin", "proxy_admin_viewer"})
WRITE_ROLES = frozenset({"proxy_admin"})
BAD_REQUEST, FORBIDDEN = 400, 403
MAX_BODY_BYTES = 100_000


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

    @app.get(f"/evenkeel/{part}/health", tags=["evenkeel"], dependencies=[_require_role(READ_ROLES, authenticated)])
    async def health() -> Response:
        return JSONResponse(document())


def _proxy_app() -> tuple[FastAPI, Callable[..., Any]]:
    from litellm.proxy.auth.user_api_key_auth import user_api_key_auth  # noqa: PLC0415 - only there in a proxy
    from litellm.proxy.proxy_server import app  # noqa: PLC0415

    return app, user_api_key_auth


def mount(
    app: FastAPI, handlers: AdminHandlers, metrics: Callable[[], bytes], authenticated: Callable[..., Any]
) -> None:
    """Add the rotation's routes to an app. `authenticated` is the dependency that returns the client's key."""
    reader = _require_role(READ_ROLES, authenticated)
    router = APIRouter(prefix="/evenkeel", tags=["evenkeel"])

    @router.get("/accounts", dependencies=[reader])
    async def accounts(request: Request) -> Response:
        return await _response(handlers.accounts(_parameters(request)))

    @router.api_route("/explain", methods=["GET", "POST"])
    async def explain(
        # Before the key: LiteLLM reads the body to authenticate, and fails if it is JSON but no object.
        parameters: Annotated[dict[str, Any], Depends(_parameters_with_body)],
        auth: Annotated[Any, reader],
    ) -> Response:
        return await _response(handlers.explain(parameters, client=str(getattr(auth, "api_key", None) or "")))

    @router.post("/accounts/{account:evenkeel_name}/release", dependencies=[_require_role(WRITE_ROLES, authenticated)])
    async def release(account: str) -> Response:
        return await _response(handlers.release(account))

    @router.get("/metrics", dependencies=[reader])
    async def scrape() -> Response:
        return Response(metrics(), media_type=CONTENT_TYPE_LATEST)

    app.include_router(router)


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
        # Wrapped in `detail`, as in FastAPI's own errors.
        return JSONResponse({"detail": {"error": error.message, "hint": error.hint}}, error.status)
