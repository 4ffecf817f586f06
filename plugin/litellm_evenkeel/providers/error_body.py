"""What the body of a failed response says: its codes, its own status, its message.

Codes are looked for where providers put them, never wherever a field happens to be called `code`: a body may quote what
the user sent. LiteLLM wraps bodies into messages (`litellm.RateLimitError: OpenAIException - {...}`), at times several
times; each wrapping is taken off from the front, and nothing is looked for behind other words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST = 65_536
"""No error needs more; what comes after is not looked at."""
_LONGEST_LOOSE = 16_384
"""Less of what only this reader can read: it takes about a microsecond for a word, in the middle of a request."""
_DEEPEST_NESTING = 40

_DECODER = json.JSONDecoder()
_TOKENS = re.compile(
    r"""
    "(?P<double>(?:[^"\\]|\\.)*)(?:"|\\?\Z)
  | '(?P<single>(?:[^'\\]|\\.)*)(?:'|\\?\Z)
  | (?P<mark>[{}\[\]:,])
  | (?P<word>[^\s{}\[\]:,"']+)
    """,
    re.VERBOSE | re.DOTALL,
)
_LOOSE_BEGINNING = re.compile(r"""\[|\{\s*(?:["'}]|\Z)""")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WORDS: dict[str, Any] = {"null": None, "None": None, "true": True, "True": True, "false": False, "False": False}
_NOTHING: Any = object()


def loads(text: str) -> Any:
    """Return the object or list at the beginning of a text, as much of it as there is; None if there is none."""
    text = text[:LONGEST].lstrip()
    if not text.startswith(("{", "[")):
        return None
    try:
        return _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        # A sentence in braces that quotes what a client sent is no object, whatever stands further behind.
        return _Reader().read(text[:_LONGEST_LOOSE]) if _LOOSE_BEGINNING.match(text) else None


class _Reader:
    """Builds objects and lists from tokens, closing what is left open."""

    def __init__(self) -> None:
        self.root: Any = None
        self.open: list[Any] = []
        # For each open object, the key that waits for its value.
        self.keys: list[Any] = []

    def read(self, text: str) -> Any:
        """Return the first object or list."""
        for token in _TOKENS.finditer(text):
            mark = token["mark"]
            if mark is None:
                self._value(_scalar(token))
            elif mark in "{[":
                if len(self.open) == _DEEPEST_NESTING:
                    break
                self._begin({} if mark == "{" else [])
            elif mark in "}]":
                self.open.pop()
                self.keys.pop()
                if not self.open:
                    break
            elif mark == "," and isinstance(self.open[-1], dict):
                self.keys[-1] = _NOTHING
        return self.root

    def _begin(self, container: Any) -> None:
        if not self.open:
            self.root = container
        else:
            self._value(container)
        self.open.append(container)
        self.keys.append(_NOTHING)

    def _value(self, value: Any) -> None:
        inside = self.open[-1]
        if isinstance(inside, list):
            inside.append(value)
        elif self.keys[-1] is _NOTHING:
            self.keys[-1] = value if isinstance(value, str) else None
        elif self.keys[-1] is not None:
            inside[self.keys[-1]] = value
            self.keys[-1] = None


def _scalar(token: re.Match[str]) -> Any:
    text = token["double"] if token["double"] is not None else token["single"]
    if text is not None:
        return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)
    word = token["word"]
    if word in _WORDS:
        return _WORDS[word]
    try:
        return int(word) if word.isdecimal() and len(word) <= 20 else float(word)  # noqa: PLR2004 - an int's digits
    except ValueError:
        return word


PAGE = "<page>"
"""Stands for a code where a web page, or a firewall's word, came instead of an answer."""
FLAGGED = "<flagged>"
"""Stands for a code where a moderator names what it found in the input."""

_LONGEST_CODE = 100
_DEEPEST = 4
_MOST_DETAILS = 20
_FIRST_ERROR, _LAST_ERROR = 400, 599

_WRAPPING = re.compile(
    r"\s*(?:"
    r"litellm\.(?P<name>\w{1,60}):"
    r"|Error code: (?P<code>[0-9]{3}) -"
    r"|(?P<status>[0-9]{3}) [A-Z_]{2,40}\.(?=\s)"
    r"|(?:[A-Za-z_]\w{0,60} ){0,3}\w{0,60}(?:Exception|Error|Errror)\s?[:\-](?=\s)"
    r"|API Error: (?P<told>[0-9]{3})(?=\s)"
    r"|event: ?error\s|data:(?=\s?\{)"
    r"|-(?=\s)"
    r")"
)
# Cloudflare says in one line what it would say on a page.
_PAGES = re.compile(r"<|error code: 1[0-9]{3}\b")
_BYTES = re.compile(r"b(?P<quote>['\"])(?=\s{0,5}[{\[<]|\\n)")
_CODES = ("code", "type", "status", "reason", "error_code", "__type", "error_type")
_INNER = ("innererror", "inner_error", "detail", "metadata", "details", "errors")
_MESSAGES = ("message", "Message", "detail", "error", "error_description", "msg")


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What a body says."""

    codes: frozenset[str]
    """In lower case: `insufficient_quota`, `resource_exhausted`, `throttlingexception`..."""
    status: int | None
    """The HTTP status that the body names."""
    message: str
    """The provider's own sentence, without any wrapping."""
    tree: Any
    """The innermost object or list; None if there is none."""
    names: tuple[str, ...]
    """LiteLLM's classes, as far as the wrapping names them."""


def parse_error_body(body: object) -> ErrorBody:
    """Read a body: text, bytes, or what was parsed already."""
    codes: set[str] = set()
    statuses: list[int] = []
    names: list[str] = []
    tree: Any = None
    message = ""
    left: Any = body
    for _ in range(_DEEPEST):
        text = _text(left)
        if text is not None:
            message = text = _unwrapped(text, names, statuses)
            if _PAGES.match(text):
                codes.add(PAGE)
                message = ""
            left = loads(text)
        if isinstance(left, list):
            left = next((one for one in left if isinstance(one, Mapping)), None)
        if not isinstance(left, Mapping):
            break
        tree = left
        layer: list[int] = []
        for part in _parts(left):
            _collect(part, codes, layer)
        statuses += layer[:1]
        message = left = _sentence(left)
    # What is innermost was said first, by whoever knows best; within a layer, by the error itself.
    return ErrorBody(frozenset(codes), statuses[-1] if statuses else None, message, tree, tuple(names))


def code(text: str) -> str:
    """Return a code as the tables spell it; AWS writes `com.amazon.coral#ThrottlingException` and `...Exception:http://...`."""
    return text[:_LONGEST_CODE].strip().lower().rpartition("#")[2].partition(":")[0]


def mappings(value: object) -> Iterator[Mapping[Any, Any]]:
    """Yield the objects of a list, a reasonable number of them."""
    if isinstance(value, list):
        yield from (one for one in value[:_MOST_DETAILS] if isinstance(one, Mapping))


def error_of(tree: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the error of a body; OpenAI's client hands over the error without the rest."""
    response = tree.get("response")
    holders = (tree, response) if isinstance(response, Mapping) else (tree,)
    return next((found for holder in holders if isinstance(found := holder.get("error"), Mapping)), tree)


def _text(value: object) -> str | None:
    if isinstance(value, bytes | bytearray):
        return bytes(value[:LONGEST]).decode(errors="replace")
    return value[:LONGEST] if isinstance(value, str) else None


def _unwrapped(text: str, names: list[str], statuses: list[int]) -> str:
    """Take off what was put before a message, noting what it says."""
    start = 0
    for _ in range(12):
        match = _WRAPPING.match(text, start)
        if not match:
            break
        start = match.end()
        if match["name"]:
            names.append(match["name"])
        said = match["code"] or match["status"] or match["told"]
        if said:
            _note(said, statuses)
    text = text[start:].strip()
    match = _BYTES.match(text)
    if match:
        # Python prints bytes so; all of it is ASCII then.
        inner = text[2:].removesuffix(match["quote"])
        try:
            text = inner.encode("ascii", "replace").decode("unicode_escape").strip()
        except ValueError:
            text = inner
    return text


def _parts(tree: Mapping[Any, Any]) -> Iterator[Mapping[Any, Any]]:
    """Yield the places where providers put codes."""
    error = error_of(tree)
    yield error
    if error is not tree:
        yield tree
    # Most bodies have none of these, and a look whether they do is cheap.
    for name in _INNER:
        if name in error:
            inner = error[name]
            yield from (inner,) if isinstance(inner, Mapping) else mappings(inner)


def _collect(part: Mapping[Any, Any], codes: set[str], statuses: list[int]) -> None:
    for name in _CODES:
        value = part.get(name)
        if value is None:
            continue
        if isinstance(value, str):
            codes.add(code(value))
        _note(value, statuses)
    if "flagged_input" in part:
        codes.add(FLAGGED)
    if "violations" in part:
        for violation in mappings(part["violations"]):
            _collect_quota(violation, codes)
    if "metadata" in part and isinstance(part["metadata"], Mapping):
        _collect_quota(part["metadata"], codes)


def _collect_quota(violation: Mapping[Any, Any], codes: set[str]) -> None:
    """Note Google's quota as `<quota/day/model>`: what it counts in, and whether per model."""
    said = " ".join(
        str(value)[:200]
        for name in ("quotaId", "quotaMetric", "quota_limit", "quota_metric")
        if (value := violation.get(name))
    )
    if not said:
        return
    said = said.lower().replace("_", "")
    span = "day" if "perday" in said else "minute" if "perminute" in said or "persecond" in said else ""
    dimensions = violation.get("quotaDimensions")
    per_model = "permodel" in said or "basemodel" in said or (isinstance(dimensions, Mapping) and "model" in dimensions)
    if span:
        codes.add(f"<quota/{span}{'/model' if per_model else ''}>")


def _note(value: object, statuses: list[int]) -> None:
    if isinstance(value, str):
        value = int(value) if len(value) == 3 and value.isascii() and value.isdigit() else None  # noqa: PLR2004 - a status
    if isinstance(value, int) and _FIRST_ERROR <= value <= _LAST_ERROR:
        statuses.append(int(value))


def _sentence(tree: Mapping[Any, Any]) -> str:
    """Return the message of a body."""
    error = error_of(tree)
    detail = tree.get("detail")
    for part in (error, tree, *((detail,) if isinstance(detail, Mapping) else ()), *mappings(tree.get("errors"))):
        for name in _MESSAGES:
            value = part.get(name)
            if isinstance(value, str) and value:
                return value
    return ""
