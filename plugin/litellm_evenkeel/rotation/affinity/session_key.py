"""Which session a request belongs to: a key that tells sessions apart and nothing else.

What it is made from is hashed together with the client's own key and the model group: two tenants never share a
session, whatever they name it, and a session has a pin for each model that it uses.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from litellm_evenkeel.rotation.settings import AffinitySettings, KeySource

if TYPE_CHECKING:
    from collections.abc import Callable

    Metadata: TypeAlias = tuple[dict[str, Any], ...]
    Reader: TypeAlias = Callable[[dict[str, Any], Metadata, object], str | None]
    from collections.abc import Mapping

# Whoever puts the first user message behind more than these has a prompt that is known by what comes before.
MOST_MESSAGES = 32
MOST_PARTS = 16
# Claude Code's first system block has another hash in each request.
VOLATILE = "x-anthropic-billing-header"
# Spelled out, as a union of types would be made anew at each look.
LISTS = (list, tuple)
RESPONSES = "/responses"


def prompt_prefix(request: Mapping[str, Any], messages: object, route: object, characters: int) -> str | None:
    """Return how a prompt begins, so many characters of its instructions and of its first user message.

    The instructions are system and developer messages, Anthropic's `system` and the Responses API's `instructions`.
    Its `input` counts on its own routes only, or where none is told: embeddings have one too.
    """
    told = request.get("messages") if messages is None else messages
    if told is None and (not isinstance(route, str) or RESPONSES in route):
        told = request.get("input")
    above = text(request.get("system") or request.get("instructions"), characters)
    first = ""
    if isinstance(told, LISTS):
        above, first = _beginning(told, above, characters)
    elif isinstance(told, str):
        first = told[:characters]
    return f"{len(above)}:{above}{first}" if above or first else None


def _beginning(messages: list[Any] | tuple[Any, ...], above: str, characters: int) -> tuple[str, str]:
    """Return the instructions and the first user message."""
    for message in messages[:MOST_MESSAGES]:
        role = message.get("role") if isinstance(message, dict) else None
        if role == "user":
            return above, text(message.get("content"), characters)
        if (role == "system" or role == "developer") and len(above) < characters:  # noqa: PLR1714 - any type is compared
            above += text(message.get("content"), characters - len(above))
    return above, ""


def text(content: object, characters: int) -> str:
    """Return how a text begins, whether it is one or a list of parts."""
    if isinstance(content, str):
        return content[:characters]
    if not isinstance(content, LISTS):
        return ""
    found = ""
    for part in content[:MOST_PARTS]:
        told = part.get("text") if isinstance(part, dict) else part
        if isinstance(told, str) and not told.startswith(VOLATILE):
            found += told[: characters - len(found)]
            if len(found) >= characters:
                break
    return found


MOST_CHARACTERS = 512
"""Of an id; nobody names a session with more."""
DIGITS = 32
LARGEST_NUMBER = 2**63
# LiteLLM, told to, invents a session id for each request that has none; those sessions are one request long.
GENERATED = "litellm_session_id_generated"
# Whose request it is, the surest first. LiteLLM removes what clients write there themselves.
CLIENTS = ("user_api_key_hash", "user_api_key", "user_api_key_user_id", "user_api_key_team_id")


class SessionKey(NamedTuple):
    """A session, for one client and one model group."""

    text: str
    """32 hexadecimal digits."""
    source: KeySource
    group: str


class SessionKeyReader:
    """Tells sessions apart. What a request may be made of is up to its client: nothing of it makes this fail."""

    def __init__(self, settings: AffinitySettings | None = None) -> None:
        settings = settings or AffinitySettings()
        self._headers = tuple(name.lower() for name in settings.headers)
        self._characters = settings.prompt_characters
        readers: dict[KeySource, Reader] = {
            KeySource.SESSION_ID: _session_id,
            KeySource.HEADER: self._header,
            KeySource.CACHE_KEY: lambda request, _, __: _id(request.get("prompt_cache_key")),
            KeySource.USER: lambda request, _, __: _id(request.get("user")),
            KeySource.PROMPT: self._prompt,
        }
        self._read = (
            tuple((source, source.value, readers[source]) for source in settings.by) if settings.enabled else ()
        )

    def read(self, group: str, request: object, messages: object = None) -> SessionKey | None:
        """Return the session of a request to a model group, as LiteLLM hands it to its hooks; None if it has none."""
        if not isinstance(request, dict):
            return None
        litellms, metadata = request.get("litellm_metadata"), request.get("metadata")
        told: Metadata = (metadata,) if isinstance(metadata, dict) else ()
        if isinstance(litellms, dict):
            told = (litellms, *told)
        for source, name, read in self._read:
            found = read(request, told, messages)
            if found:
                client = _client(told)
                # Lengths go in, so that no two different sessions are joined to the same text.
                joined = f"{len(client)}:{client}{len(group)}:{group}{name}:{found}".encode("utf-8", "surrogatepass")
                return SessionKey(sha256(joined).hexdigest()[:DIGITS], source, group)
        return None

    def _header(self, request: dict[str, Any], _: Metadata, __: object) -> str | None:
        outer = request.get("proxy_server_request")
        headers = outer.get("headers") if isinstance(outer, dict) else None
        if not isinstance(headers, dict):
            return None
        for name in self._headers:
            if name in headers:
                found = _id(headers[name])
                if found:
                    return found
        return None

    def _prompt(self, request: dict[str, Any], metadata: Metadata, messages: object) -> str | None:
        return prompt_prefix(request, messages, _told(metadata, "user_api_key_request_route"), self._characters)


def _session_id(request: dict[str, Any], metadata: Metadata, _: object) -> str | None:
    named = None
    for one in metadata:
        if one.get(GENERATED):
            return None
        if named is None:
            named = one.get("session_id")
    return _id(named) or _id(request.get("litellm_session_id"))


def _client(metadata: Metadata) -> str:
    """Return whose request it is. A user's name is no key's hash, even if it reads like one."""
    for name in CLIENTS:
        for one in metadata:
            told = one.get(name)
            found = None if told is None else _id(told)
            if found:
                return f"{name}={found}"
    return ""


def _told(metadata: Metadata, name: str) -> object:
    """Return what the first of the metadata to name something says of it."""
    for one in metadata:
        found = one.get(name)
        if found is not None:
            return found
    return None


def _id(told: object) -> str | None:
    if isinstance(told, str):
        return told[:MOST_CHARACTERS].strip()
    if isinstance(told, int) and not isinstance(told, bool) and abs(told) < LARGEST_NUMBER:
        return str(told)
    return None
