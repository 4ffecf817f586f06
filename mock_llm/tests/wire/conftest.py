"""A provider without a server: the clients' requests are answered within their own process."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, TypeAdapter

from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire import chat, completions, compose, embeddings, errors, messages, models, responses

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

FAMILIES = {
    "/v1/chat/completions": chat,
    "/v1/completions": completions,
    "/v1/responses": responses,
    "/v1/messages": messages,
}


class Later(ModuleType):
    """A package that is loaded when it is first used: the clients take seconds, which every run of tests would pay."""

    def __getattr__(self, name: str) -> Any:
        # Classes and types are what the tests use; pytest's plugins ask every name for marks of their own.
        if not (name[0].isupper() or name == "types"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        real = importlib.import_module(self.__name__)
        self.__dict__.update(real.__dict__)
        return getattr(real, name)


CLIENTS = {client: Later(client) for client in ("openai", "anthropic")}


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Provide clients that are loaded lazily to the tests of this folder."""
    given = {name: client for name, client in CLIENTS.items() if name not in sys.modules}
    sys.modules.update(given)
    try:
        return (yield)
    finally:
        for name, client in given.items():
            if sys.modules.get(name) is client:
                del sys.modules[name]


MODELS = ("keel-1", "keel/2")
CREATED = 1_750_000_000
IDENTITY = b"0a1b2c"


@dataclass
class Provider:
    """Answers what the wire modules write, and remembers what it wrote."""

    length: int = 8
    echo: bool = False
    eager: bool = False
    cached: int = 0
    written: list[bytes] = field(default_factory=list)

    def serve(self, method: str, path: str, body: bytes, *, of_anthropic: bool) -> tuple[int, str, bytes]:
        try:
            kind, answer = self._answer(method, path, body, of_anthropic=of_anthropic)
        except BadRequest as error:
            return error.status, "application/json", errors.bad_request(error, of_anthropic=of_anthropic)
        self.written.append(answer)
        return 200, kind, answer

    def _answer(self, method: str, path: str, body: bytes, *, of_anthropic: bool) -> tuple[str, bytes]:
        if method == "GET":
            assert path.startswith("/v1/models")
            return "application/json", self._models(path.removeprefix("/v1/models").lstrip("/"), of_anthropic)
        if path == "/v1/messages/count_tokens":
            return "application/json", messages.count(messages.parse_count(body))
        if path == "/v1/embeddings":
            return "application/json", embeddings.response_body(embeddings.parse(body))
        family = FAMILIES[path]
        request = family.parse(body)
        answer = compose(
            request, IDENTITY, CREATED, self.length, cached_tokens=self.cached, echo=self.echo, eager=self.eager
        )
        if not request.stream:
            return "application/json", family.response_body(request, answer)
        head, chunks, tail = family.events(request, answer)
        assert len(chunks) == len(answer.pieces)
        return "text/event-stream", head + b"".join(chunks) + tail

    def _models(self, name: str, of_anthropic: bool) -> bytes:  # noqa: FBT001
        if of_anthropic:
            return models.anthropic_one(MODELS, name, CREATED) if name else models.anthropic_list(MODELS, CREATED)
        return models.openai_one(MODELS, name, CREATED) if name else models.openai_list(MODELS, CREATED)


@pytest.fixture
def provider() -> Provider:
    return Provider()


def http_of(default_client: type) -> ModuleType:
    """Return the HTTP library that a client is built on: it has changed over their versions."""
    roots = [base.__module__.partition(".")[0] for base in default_client.__mro__]
    return importlib.import_module(next(root for root in roots if root.startswith("httpx")))


def transport(http: ModuleType, provider: Provider, *, of_anthropic: bool) -> Any:
    def respond(request: Any) -> Any:
        status, kind, body = provider.serve(
            request.method, request.url.path, request.content, of_anthropic=of_anthropic
        )
        return http.Response(status, headers={"content-type": kind}, content=body)

    return http.MockTransport(respond)


class Strict:
    """Reads bodies as the clients' own types, but strictly: the clients themselves accept nearly anything."""

    @staticmethod
    def read(kind: Any, body: bytes, *, unknown: Collection[str] = ()) -> Any:
        found = TypeAdapter(kind).validate_json(body, strict=True)
        assert surplus(found) <= set(unknown)
        return found

    @classmethod
    def events(cls, kind: Any, body: bytes, *, unknown: Collection[str] = ()) -> list[Any]:
        """Read all events of a stream but pings and the end mark; an event is named as its type says."""
        found = []
        for event in body.decode().removesuffix("\n\n").split("\n\n"):
            lines = event.split("\n")
            data = lines[-1].removeprefix("data: ")
            if data == "[DONE]":
                assert body.endswith(b"\n\ndata: [DONE]\n\n")
                continue
            if len(lines) > 1:
                assert lines[0] == f"event: {json.loads(data)['type']}"
            if lines[0] != "event: ping":
                found.append(cls.read(kind, data.encode(), unknown=unknown))
        return found


def surplus(value: object) -> set[str]:
    """Return the names of all fields that a client's type does not know."""
    if isinstance(value, list):
        return set().union(*map(surplus, value))
    if not isinstance(value, BaseModel):
        return set()
    nested = [getattr(value, name) for name in type(value).model_fields]
    return set(value.model_extra or ()).union(*map(surplus, nested))


@pytest.fixture
def strict() -> type[Strict]:
    return Strict


@pytest.fixture
def openai_client(provider: Provider) -> Any:
    openai = importlib.import_module("openai")
    http = http_of(openai.DefaultHttpxClient)
    client = http.Client(transport=transport(http, provider, of_anthropic=False))
    with openai.OpenAI(api_key="k", base_url="http://mock/v1", http_client=client, max_retries=0) as opened:
        yield opened


@pytest.fixture
async def async_openai_client(provider: Provider) -> Any:
    openai = importlib.import_module("openai")
    http = http_of(openai.DefaultHttpxClient)
    client = http.AsyncClient(transport=transport(http, provider, of_anthropic=False))
    async with openai.AsyncOpenAI(api_key="k", base_url="http://mock/v1", http_client=client, max_retries=0) as opened:
        yield opened


@pytest.fixture
def anthropic_client(provider: Provider) -> Any:
    anthropic = importlib.import_module("anthropic")
    http = http_of(anthropic.DefaultHttpxClient)
    client = http.Client(transport=transport(http, provider, of_anthropic=True))
    with anthropic.Anthropic(api_key="k", base_url="http://mock", http_client=client, max_retries=0) as opened:
        yield opened


@pytest.fixture
async def async_anthropic_client(provider: Provider) -> Any:
    anthropic = importlib.import_module("anthropic")
    http = http_of(anthropic.DefaultHttpxClient)
    client = http.AsyncClient(transport=transport(http, provider, of_anthropic=True))
    async with anthropic.AsyncAnthropic(
        api_key="k", base_url="http://mock", http_client=client, max_retries=0
    ) as opened:
        yield opened
