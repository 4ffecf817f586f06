"""The routes under /evenkeel on the proxy's own app, for its admins only. What they answer is decided at the desk."""

# Annotations are looked at while it runs: FastAPI finds there who has to be asked.
import json
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.convertors import StringConvertor, register_url_convertor

from litellm_evenkeel.admin.handlers import UNPROCESSABLE, AdminHandlers, AdminResponse

# As LiteLLM calls them.
READ_ROLES = frozenset({"proxy_admin", "proxy_admin_viewer"})
WRITE_ROLES = frozenset({"proxy_admin"})
FORBIDDEN = 403
MAX_BODY_BYTES = 100_000


class _Name(StringConvertor):
    """Any name of an account in a path: Starlette's own `path` stops at the end of a line."""

    regex = r"(?s:.+)"


register_url_convertor("evenkeel_name", _Name())


def install(handlers: AdminHandlers, metrics: Callable[[], bytes]) -> None:
    """Add the routes of the rotation to the running proxy."""
    app, authenticated = _proxy_app()
    mount(app, handlers, metrics, authenticated)


def install_health(part: str, document: Callable[[], dict[str, Any]]) -> None:
    """Add the route that tells how it goes with a part of the plugin to the running proxy."""
    app, authenticated = _proxy_app()
    mount_health(app, part, document, authenticated)


def _proxy_app() -> tuple[FastAPI, Callable[..., Any]]:
    from litellm.proxy.auth.user_api_key_auth import user_api_key_auth  # noqa: PLC0415 - only there in a proxy
    from litellm.proxy.proxy_server import app  # noqa: PLC0415

    return app, user_api_key_auth


def mount_health(
    app: FastAPI, part: str, document: Callable[[], dict[str, Any]], authenticated: Callable[..., Any]
) -> None:
    """Add it to an app; `authenticated` is the dependency that says who asks."""

    async def looker(auth: Annotated[Any, Depends(authenticated)]) -> Any:
        return _require_role(auth, READ_ROLES)

    @app.get(f"/evenkeel/{part}/health", tags=["evenkeel"], dependencies=[Depends(looker)])
    async def health() -> Response:
        return JSONResponse(document())


def mount(
    app: FastAPI, handlers: AdminHandlers, metrics: Callable[[], bytes], authenticated: Callable[..., Any]
) -> None:
    """Add the routes to an app; `authenticated` is the dependency that says who asks."""

    async def looker(auth: Annotated[Any, Depends(authenticated)]) -> Any:
        return _require_role(auth, READ_ROLES)

    async def actor(auth: Annotated[Any, Depends(authenticated)]) -> Any:
        return _require_role(auth, WRITE_ROLES)

    router = APIRouter(prefix="/evenkeel", tags=["evenkeel"])

    @router.get("/accounts", dependencies=[Depends(looker)])
    async def accounts(request: Request) -> Response:
        return _response(await handlers.accounts(_parameters(request)))

    @router.api_route("/explain", methods=["GET", "POST"])
    async def explain(request: Request, auth: Annotated[Any, Depends(looker)]) -> Response:
        told = _parameters(request)
        if request.method == "POST":
            told |= await _body(request)
        return _response(await handlers.explain(told, client=str(getattr(auth, "api_key", None) or "")))

    @router.post("/accounts/{account:evenkeel_name}/release", dependencies=[Depends(actor)])
    async def release(account: str) -> Response:
        return _response(handlers.release(account))

    @router.get("/metrics", dependencies=[Depends(looker)])
    async def scrape() -> Response:
        return Response(metrics(), media_type=CONTENT_TYPE_LATEST)

    app.include_router(router)


def _require_role(auth: Any, roles: frozenset[str]) -> Any:
    role = getattr(auth, "user_role", None)
    if getattr(role, "value", role) not in roles:
        raise HTTPException(FORBIDDEN, {"error": "This key is no admin's.", "cure": "Use the key of a proxy admin."})
    return auth


def _parameters(request: Request) -> dict[str, Any]:
    query = request.query_params
    return {name: several if len(several := query.getlist(name)) > 1 else several[0] for name in query}


async def _body(request: Request) -> dict[str, Any]:
    try:
        raw = await request.body()
        told = json.loads(raw or b"{}") if len(raw) <= MAX_BODY_BYTES else None
    except (ValueError, RuntimeError):
        # Of a form, nothing is left after LiteLLM has looked into it.
        told = None
    if not isinstance(told, dict):
        cure = 'Send such as {"model": "gpt-4o", "tokens": 1200}, as application/json.'
        raise HTTPException(UNPROCESSABLE, {"error": "The body is no mapping in JSON.", "cure": cure})
    return told


def _response(answer: AdminResponse) -> Response:
    # Errors look as FastAPI's own do.
    document = answer.document if answer.status < 400 else {"detail": answer.document}  # noqa: PLR2004
    return JSONResponse(document, answer.status)
