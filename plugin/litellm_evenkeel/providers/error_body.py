"""Parser for the body of a failed response: its codes, status and message.

Codes are read only from the fields where providers put them, never from any field called `code`: a body may quote what
the user sent. LiteLLM wraps bodies into messages (`litellm.RateLimitError: OpenAIException - {...}`), sometimes several
times. Each wrapping is removed from the front. Codes behind any other words are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

MAX_BODY_CHARACTERS = 65_536
"""Length of a body that is read; the rest is ignored, as no error needs more."""
_MAX_PYTHON_CHARACTERS = 16_384
"""Smaller maximum for bodies that Python printed. Their translation takes about a microsecond per word."""

_DECODER = json.JSONDecoder()
# Pydantic raises TypeError for text with half of a surrogate pair.
_PARSE_ERRORS = (ValueError, TypeError, RecursionError)
_PYTHON_TOKENS = re.compile(
    r"""(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P<end>(?P=quote)|\\?\Z)|(?P<word>[A-Z]\w*)""", re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS = {"None": "null", "True": "true", "False": "false"}


def parse_json_prefix(text: str) -> Any:
    """Return the JSON or Python object or list at the beginning of `text`, even if cut off; `None` if none is there."""
    text = text[:MAX_BODY_CHARACTERS].lstrip()
    if not text.startswith(("{", "[")):
        return None
    with suppress(*_PARSE_ERRORS):
        return _parse(text)
    with suppress(*_PARSE_ERRORS):
        return _parse(_PYTHON_TOKENS.sub(_json_token, text[:_MAX_PYTHON_CHARACTERS]))
    return None


def _parse(text: str) -> Any:
    try:
        return _DECODER.raw_decode(text)[0]
    except ValueError:
        return from_json(text, allow_partial="trailing-strings")


def _json_token(token: re.Match[str]) -> str:
    """Return a string or a word of Python as JSON. A string without an end stays without one."""
    if token["word"]:
        # A word that is cut off becomes nothing, which the parser takes for the end of the text.
        return _WORDS.get(token["word"], "")
    text = json.dumps(_ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]), token["text"]))
    return text if token["end"] == token["quote"] else text[:-1]


BLOCK_PAGE = "<page>"
"""Code of a body that is a web page or a firewall's message instead of an API error."""
FLAGGED = "<flagged>"
"""Code of a body in which a moderation service names what it found in the input."""

_MAX_CODE_CHARACTERS = 100
_MAX_WRAPPINGS = 4
_MAX_DETAILS = 20
_MAX_PREFIXES = 12
_MIN_ERROR_STATUS, _MAX_ERROR_STATUS = 400, 599

_WRAPPING = re.compile(
    r"\s*(?:"
    r"litellm\.(?P<name>\w{1,60}):"
    r"|Error code: (?P<code>[0-9]{3}) -"
    r"|(?P<status>[0-9]{3}) [A-Z_]{2,40}\.(?=\s)"
    r"|(?:[A-Za-z_]\w{0,60} ){0,3}\w{0,60}(?:Exception|Error|Errror)\s?[:\-](?=\s)"
    r"|API Error: (?P<api>[0-9]{3})(?=\s)"
    r"|event: ?error\s|data:(?=\s?\{)"
    r"|-(?=\s)"
    r")"
)
# Cloudflare sometimes sends one line of text instead of a page.
_PAGES = re.compile(r"<|error code: 1[0-9]{3}\b")
_BYTES = re.compile(r"b(?P<quote>['\"])(?=\s{0,5}[{\[<]|\\n)")
_CODE_FIELDS = ("code", "type", "status", "reason", "error_code", "__type", "error_type")
_DETAIL_FIELDS = ("innererror", "inner_error", "detail", "metadata", "details", "errors")
_MESSAGE_FIELDS = ("message", "Message", "detail", "error", "error_description", "msg")


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """Parsed body of a failed response."""

    codes: frozenset[str]
    """Codes in lower case, such as `insufficient_quota`, `resource_exhausted` and `throttlingexception`."""
    status: int | None
    """HTTP status that the body states; `None` if it states none."""
    message: str
    """The provider's own message, without any wrapping."""
    tree: Any
    """The innermost object; `None` if there is none."""
    names: tuple[str, ...]
    """Exception classes of LiteLLM that the wrappings name."""


def parse_error_body(body: object) -> ErrorBody:
    """Parse a body: text, bytes, or parsed JSON."""
    codes: set[str] = set()
    statuses: list[int] = []
    names: list[str] = []
    tree: Any = None
    message = ""
    rest: Any = body
    for _ in range(_MAX_WRAPPINGS):
        text = _text(rest)
        if text is not None:
            message = text = _unwrap(text, names, statuses)
            if _PAGES.match(text):
                codes.add(BLOCK_PAGE)
                message = ""
            rest = parse_json_prefix(text)
        if isinstance(rest, list):
            rest = next((item for item in rest if isinstance(item, Mapping)), None)
        if not isinstance(rest, Mapping):
            break
        tree = rest
        layer_statuses: list[int] = []
        for part in _code_objects(rest):
            _collect(part, codes, layer_statuses)
        statuses += layer_statuses[:1]
        message = rest = _message(rest)
    # The innermost status is the provider's own. Within a layer, the status of the error object comes first.
    return ErrorBody(frozenset(codes), statuses[-1] if statuses else None, message, tree, tuple(names))


def normalize_code(text: str) -> str:
    """Return a code as the tables spell it.

    AWS writes `com.amazon.coral#ThrottlingException` and `...Exception:http://...`.
    """
    return text[:_MAX_CODE_CHARACTERS].strip().lower().rpartition("#")[2].partition(":")[0]


def iter_mappings(value: object) -> Iterator[Mapping[Any, Any]]:
    """Yield the objects among the first `_MAX_DETAILS` items of a list."""
    if isinstance(value, list):
        yield from (item for item in value[:_MAX_DETAILS] if isinstance(item, Mapping))


def error_object(tree: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the error object of a body. It is `tree` itself if that has none: OpenAI's client passes only it on."""
    response = tree.get("response")
    holders = (tree, response) if isinstance(response, Mapping) else (tree,)
    return next((error for holder in holders if isinstance(error := holder.get("error"), Mapping)), tree)


def _text(value: object) -> str | None:
    if isinstance(value, bytes | bytearray):
        return bytes(value[:MAX_BODY_CHARACTERS]).decode(errors="replace")
    return value[:MAX_BODY_CHARACTERS] if isinstance(value, str) else None


def _unwrap(text: str, names: list[str], statuses: list[int]) -> str:
    """Remove the prefixes of a message, and collect the class names and statuses that they state."""
    start = 0
    for _ in range(_MAX_PREFIXES):
        match = _WRAPPING.match(text, start)
        if not match:
            break
        start = match.end()
        if match["name"]:
            names.append(match["name"])
        status = match["code"] or match["status"] or match["api"]
        if status:
            _collect_status(status, statuses)
    text = text[start:].strip()
    match = _BYTES.match(text)
    if match:
        # The `repr` of Python's `bytes`, which is ASCII.
        inner = text[2:].removesuffix(match["quote"])
        try:
            text = inner.encode("ascii", "replace").decode("unicode_escape").strip()
        except ValueError:
            text = inner
    return text


def _code_objects(tree: Mapping[Any, Any]) -> Iterator[Mapping[Any, Any]]:
    """Yield the objects in which providers put codes."""
    error = error_object(tree)
    yield error
    if error is not tree:
        yield tree
    # Most bodies have none of these fields, and the check is cheap.
    for name in _DETAIL_FIELDS:
        if name in error:
            inner = error[name]
            yield from (inner,) if isinstance(inner, Mapping) else iter_mappings(inner)


def _collect(part: Mapping[Any, Any], codes: set[str], statuses: list[int]) -> None:
    for name in _CODE_FIELDS:
        value = part.get(name)
        if value is None:
            continue
        if isinstance(value, str):
            codes.add(normalize_code(value))
        _collect_status(value, statuses)
    if "flagged_input" in part:
        codes.add(FLAGGED)
    if "violations" in part:
        for violation in iter_mappings(part["violations"]):
            _collect_quota(violation, codes)
    if "metadata" in part and isinstance(part["metadata"], Mapping):
        _collect_quota(part["metadata"], codes)


def _collect_quota(violation: Mapping[Any, Any], codes: set[str]) -> None:
    """Add Google's quota as a code such as `<quota/day/model>`: its period, and whether it is per model."""
    names = " ".join(
        str(value)[:200]
        for name in ("quotaId", "quotaMetric", "quota_limit", "quota_metric")
        if (value := violation.get(name))
    )
    if not names:
        return
    names = names.lower().replace("_", "")
    span = "day" if "perday" in names else "minute" if "perminute" in names or "persecond" in names else ""
    dimensions = violation.get("quotaDimensions")
    per_model = (
        "permodel" in names or "basemodel" in names or (isinstance(dimensions, Mapping) and "model" in dimensions)
    )
    if span:
        codes.add(f"<quota/{span}{'/model' if per_model else ''}>")


def _collect_status(value: object, statuses: list[int]) -> None:
    if isinstance(value, str):
        value = int(value) if len(value) == 3 and value.isascii() and value.isdigit() else None  # noqa: PLR2004 - a status
    if isinstance(value, int) and _MIN_ERROR_STATUS <= value <= _MAX_ERROR_STATUS:
        statuses.append(int(value))


def _message(tree: Mapping[Any, Any]) -> str:
    """Return the message of a body; an empty text if it has none."""
    error = error_object(tree)
    detail = tree.get("detail")
    for part in (error, tree, *((detail,) if isinstance(detail, Mapping) else ()), *iter_mappings(tree.get("errors"))):
        for name in _MESSAGE_FIELDS:
            value = part.get(name)
            if isinstance(value, str) and value:
                return value
    return ""
