"""Session key of a request: a hash that distinguishes sessions and reveals nothing else.

The source of the key is hashed together with the client's own key and the model group. So two clients never share a
session, even if they use the same id, and a session has a pin for each model group that it uses.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from litellm_evenkeel.rotation.settings import KeySource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.settings import AffinitySettings

    Metadata: TypeAlias = tuple[dict[str, Any], ...]
    Reader: TypeAlias = Callable[[dict[str, Any], Metadata, object], str | None]

# If the first user message comes later than this, the instructions before it alone identify the prompt.
MAX_MESSAGES = 32
MAX_PARTS = 16
# Claude Code's first system block contains a hash that differs in each request.
VOLATILE_PREFIX = "x-anthropic-billing-header"
# A constant tuple, as a union of types would be built anew at each check.
LIST_TYPES = (list, tuple)
RESPONSES_ROUTE = "/responses"


def prompt_prefix(request: Mapping[str, Any], messages: object, route: object, characters: int) -> str | None:
    """Return the beginning of a prompt: up to `characters` of its instructions and of its first user message.

    The instructions are system and developer messages, Anthropic's `system` and the Responses API's `instructions`. The
    `input` of the Responses API counts on its own routes, or if the route is unknown: embeddings have an `input` too.
    `None` if there is no text.
    """
    prompt = request.get("messages") if messages is None else messages
    if prompt is None and (not isinstance(route, str) or RESPONSES_ROUTE in route):
        prompt = request.get("input")
    instructions = text(request.get("system") or request.get("instructions"), characters)
    first = ""
    if isinstance(prompt, LIST_TYPES):
        instructions, first = _beginning(prompt, instructions, characters)
    elif isinstance(prompt, str):
        first = prompt[:characters]
    return f"{len(instructions)}:{instructions}{first}" if instructions or first else None


def _beginning(messages: list[Any] | tuple[Any, ...], instructions: str, characters: int) -> tuple[str, str]:
    """Return the beginnings of the instructions and of the first user message."""
    for message in messages[:MAX_MESSAGES]:
        role = message.get("role") if isinstance(message, dict) else None
        if role == "user":
            return instructions, text(message.get("content"), characters)
        if (role == "system" or role == "developer") and len(instructions) < characters:  # noqa: PLR1714 - a set needs hashable values
            instructions += text(message.get("content"), characters - len(instructions))
    return instructions, ""


def text(content: object, characters: int) -> str:
    """Return up to `characters` of a message's content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content[:characters]
    if not isinstance(content, LIST_TYPES):
        return ""
    beginning = ""
    for part in content[:MAX_PARTS]:
        part_text = part.get("text") if isinstance(part, dict) else part
        if isinstance(part_text, str) and not part_text.startswith(VOLATILE_PREFIX):
            beginning += part_text[: characters - len(beginning)]
            if len(beginning) >= characters:
                break
    return beginning


# The rest of a longer session id is ignored. Real ids are shorter.
MAX_ID_CHARACTERS = 512
KEY_DIGITS = 32
NUMBER_BOUND = 2**63
# LiteLLM can generate an id for each request that has none. The session of a generated id has a single request.
GENERATED_FLAG = "litellm_session_id_generated"
# Metadata fields that identify the client, the most reliable first. LiteLLM removes those that clients set themselves.
CLIENT_FIELDS = ("user_api_key_hash", "user_api_key", "user_api_key_user_id", "user_api_key_team_id")


class SessionKey(NamedTuple):
    """Key of a session, for one client and one model group."""

    text: str
    """32 hexadecimal digits."""
    source: KeySource
    model_group: str


class SessionKeyReader:
    """Reader of session keys. No content of a request makes it raise, as clients may send anything."""

    def __init__(self, settings: AffinitySettings) -> None:
        self._headers = tuple(name.lower() for name in settings.headers)
        self._characters = settings.prompt_characters
        readers: dict[KeySource, Reader] = {
            KeySource.SESSION_ID: _session_id,
            KeySource.HEADER: self._header,
            KeySource.CACHE_KEY: lambda request, _, __: _id(request.get("prompt_cache_key")),
            KeySource.USER: lambda request, _, __: _id(request.get("user")),
            KeySource.PROMPT: self._prompt,
        }
        sources = settings.keys if settings.enabled else ()
        self._readers = tuple((source, source.value, readers[source]) for source in sources)

    def read(self, model_group: str, request: object, messages: object = None) -> SessionKey | None:
        """Return the session key of a request, as LiteLLM passes it to its hooks; `None` without a session."""
        if not isinstance(request, dict):
            return None
        of_litellm, of_client = request.get("litellm_metadata"), request.get("metadata")
        metadata: Metadata = (of_client,) if isinstance(of_client, dict) else ()
        if isinstance(of_litellm, dict):
            metadata = (of_litellm, *metadata)
        for source, name, read in self._readers:
            session = read(request, metadata, messages)
            if session:
                client = _client(metadata)
                # The lengths keep apart sessions whose parts would be the same text when joined.
                parts = f"{len(client)}:{client}{len(model_group)}:{model_group}{name}:{session}"
                digest = sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()
                return SessionKey(digest[:KEY_DIGITS], source, model_group)
        return None

    def _header(self, request: dict[str, Any], _: Metadata, __: object) -> str | None:
        http_request = request.get("proxy_server_request")
        headers = http_request.get("headers") if isinstance(http_request, dict) else None
        if not isinstance(headers, dict):
            return None
        for name in self._headers:
            if name in headers:
                session_id = _id(headers[name])
                if session_id:
                    return session_id
        return None

    def _prompt(self, request: dict[str, Any], metadata: Metadata, messages: object) -> str | None:
        route = None
        for fields in metadata:
            route = fields.get("user_api_key_request_route") if route is None else route
        return prompt_prefix(request, messages, route, self._characters)


def _session_id(request: dict[str, Any], metadata: Metadata, _: object) -> str | None:
    session_id = None
    for fields in metadata:
        if fields.get(GENERATED_FLAG):
            return None
        if session_id is None:
            session_id = fields.get("session_id")
    return _id(session_id) or _id(request.get("litellm_session_id"))


def _client(metadata: Metadata) -> str:
    """Return the client after the name of its field, as a user's name may look like the hash of a key."""
    for name in CLIENT_FIELDS:
        for fields in metadata:
            value = fields.get(name)
            client = None if value is None else _id(value)
            if client:
                return f"{name}={client}"
    return ""


def _id(value: object) -> str | None:
    if isinstance(value, str):
        return value[:MAX_ID_CHARACTERS].strip()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < NUMBER_BOUND:
        return str(value)
    return None
