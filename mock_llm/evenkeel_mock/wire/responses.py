"""OpenAI's responses: `POST /v1/responses`. No state is kept: an earlier response may be named, but is not read."""

from __future__ import annotations

from typing import Any

from orjson import dumps

from evenkeel_mock import tokens
from evenkeel_mock.wire.answer import LENGTH, Answer, Call, Request
from evenkeel_mock.wire.functions import read as read_functions, schema
from evenkeel_mock.wire.reading import (
    flag,
    integer,
    json,
    kind as kind_of,
    load,
    missing,
    sampling,
    text,
    wrong_type,
    wrong_value,
)

LEAST_MAX_TOKENS = 16
"""Of the API: it refuses to say less."""
ROLES = ("user", "assistant", "system", "developer")
TEXTS = ("input_text", "output_text", "text", "refusal", "summary_text", "reasoning_text")
MEDIA = ("input_image", "input_file", "input_audio")

DEFAULTS: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""Fields that a response repeats from its request, with their defaults."""
_TYPES: dict[str, tuple[type, str]] = {
    "instructions": (str, "a string"),
    "metadata": (dict, "an object"),
    "parallel_tool_calls": (bool, "a boolean"),
    "previous_response_id": (str, "a string"),
    "reasoning": (dict, "an object"),
    "text": (dict, "an object"),
    "truncation": (str, "a string"),
    "user": (str, "a string"),
}
_MERGED = ("reasoning", "text")
_ONLY_DEFAULTS = dumps(DEFAULTS)[1:-1]

_RESPONSE = (
    b'{"id":"resp_%b","object":"response","created_at":%d,"status":"%b","background":false,"error":null,'
    b'"incomplete_details":%b,"model":%b,%b,"service_tier":"default","output":[%b],"usage":%b}'
)
_MESSAGE = b'{"type":"message","id":"msg_%b","status":"%b","role":"assistant","content":[%b]}'
_PART = b'{"type":"output_text","text":"%b","annotations":[],"logprobs":[]}'
_CALLED = b'{"type":"function_call","id":"fc_%b","call_id":"call_%b","name":%b,"arguments":"%b","status":"%b"}'
_USAGE = (
    b'{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":0},'
    b'"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}'
)
_EVENT = b'event: %b\ndata: {"type":"%b",%b,"sequence_number":%d}\n\n'
_IN_PROGRESS, _COMPLETED, _INCOMPLETE = b"in_progress", b"completed", b"incomplete"
_CUT = b'{"reason":"max_output_tokens"}'


class ResponsesRequest(Request):
    """A request with fields that the response repeats."""

    __slots__ = ("echoed_fields",)

    echoed_fields: bytes
    """Members of a JSON object."""


def parse(body: bytes) -> ResponsesRequest:
    """Parse a request, or raise `BadRequest`."""
    fields = load(body)
    model = text(fields, "model")
    stream = flag(fields, "stream")
    limit = integer(fields, "max_output_tokens", LEAST_MAX_TOKENS)
    sampling(fields)
    for name, (wanted, expected) in _TYPES.items():
        if fields.get(name) is not None and type(fields[name]) is not wanted:
            raise wrong_type(name, fields[name], expected)
    tool, forced = read_functions(fields, wrapped=False)
    shape = schema((fields.get("text") or {}).get("format"), "text.format", wrapped=False)
    texts = [json(fields["tools"]).decode()] if fields.get("tools") else []
    if fields.get("instructions"):
        texts.append(fields["instructions"])
    last_text, messages, media = _input(fields.get("input"), texts)
    prompt_tokens = tokens.prompt(texts, messages, media)
    request = ResponsesRequest(
        model,
        texts,
        prompt_tokens,
        last_text,
        limit,
        stream,
        tool=tool,
        forced=forced,
        schema=shape,
    )
    request.echoed_fields = _echoed_fields(fields)
    return request


def response_body(request: Request, answer: Answer) -> bytes:
    """Return the body of an answer that does not stream."""
    status = _status(answer)
    return _response(request, answer, status, _item(answer, b"".join(answer.pieces), status), _usage(answer))


def events(request: Request, answer: Answer) -> tuple[bytes, list[bytes], bytes]:
    """Write an answer that streams.

    Head: `response.created`, `response.in_progress`, `response.output_item.added` and, for a text,
    `response.content_part.added`. One delta event for each piece. Tail: the `done` events of the text or the arguments,
    of the part and of the item, then `response.completed` or `response.incomplete`. There is no end mark.
    """
    identity, call = answer.identity, answer.call
    begun = b'"response":' + _response(request, answer, _IN_PROGRESS, b"", b"null")
    item = b'"output_index":0,"item":' + _item(answer, b"", _IN_PROGRESS)
    opening = [(b"response.created", begun), (b"response.in_progress", begun), (b"response.output_item.added", item)]
    if call is None:
        position = b'"item_id":"msg_%b","output_index":0,"content_index":0' % identity
        opening.append((b"response.content_part.added", position + b',"part":' + _PART % b""))
        kind, close = b"response.output_text.delta", b'","logprobs":[],"sequence_number":%d}\n\n'
    else:
        position = b'"item_id":"fc_%b","output_index":0' % identity
        kind, close = b"response.function_call_arguments.delta", b'","sequence_number":%d}\n\n'
    before = b'event: %b\ndata: {"type":"%b",%b,"delta":"' % (kind, kind, position)
    chunks = [before + piece + close % number for number, piece in enumerate(answer.pieces, len(opening))]
    return _numbered(opening, 0), chunks, _numbered(_closing(request, answer, position), len(opening) + len(chunks))


def _closing(request: Request, answer: Answer, position: bytes) -> list[tuple[bytes, bytes]]:
    content, status, call = b"".join(answer.pieces), _status(answer), answer.call
    item = _item(answer, content, status)
    response = b'"response":' + _response(request, answer, status, item, _usage(answer))
    if call is None:
        done = [
            (b"response.output_text.done", position + b',"text":"' + content + b'","logprobs":[]'),
            (b"response.content_part.done", position + b',"part":' + _PART % content),
        ]
    else:
        arguments = position + b',"name":' + call.name + b',"arguments":"' + content + b'"'
        done = [(b"response.function_call_arguments.done", arguments)]
    return [
        *done,
        (b"response.output_item.done", b'"output_index":0,"item":' + item),
        (b"response." + status, response),
    ]


def _numbered(events_to_write: list[tuple[bytes, bytes]], first: int) -> bytes:
    return b"".join(
        [_EVENT % (kind, kind, members, number) for number, (kind, members) in enumerate(events_to_write, first)]
    )


def _status(answer: Answer) -> bytes:
    return _INCOMPLETE if answer.finish == LENGTH else _COMPLETED


def _response(request: Request, answer: Answer, status: bytes, output: bytes, usage: bytes) -> bytes:
    echoed_fields = request.echoed_fields if isinstance(request, ResponsesRequest) else _ONLY_DEFAULTS
    cut = _CUT if status is _INCOMPLETE else b"null"
    return _RESPONSE % (
        answer.identity,
        answer.created,
        status,
        cut,
        dumps(request.model),
        echoed_fields,
        output,
        usage,
    )


def _item(answer: Answer, content: bytes, status: bytes) -> bytes:
    identity, call = answer.identity, answer.call
    if isinstance(call, Call):
        return _CALLED % (identity, identity, call.name, content, status)
    return _MESSAGE % (identity, status, b"" if status is _IN_PROGRESS else _PART % content)


def _usage(answer: Answer) -> bytes:
    prompt, completion = answer.prompt_tokens, answer.completion_tokens
    return _USAGE % (prompt, answer.cached_tokens, completion, prompt + completion)


def _echoed_fields(fields: dict[str, Any]) -> bytes:
    given = {name: fields[name] for name in DEFAULTS if fields.get(name) is not None}
    if not given:
        return _ONLY_DEFAULTS
    for name in _MERGED:
        if name in given:
            given[name] = DEFAULTS[name] | given[name]
    if "tools" in given:
        given["tools"] = [_tool(tool) for tool in given["tools"]]
    return json(DEFAULTS | given)[1:-1]


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    if tool["type"] != "function":
        return tool
    return {"description": None, "parameters": None, "strict": True} | tool


def _input(given: object, texts: list[str]) -> tuple[str, int, int]:
    """Add the input's texts; return the user's last, the number of messages, and that of images and files."""
    if type(given) is str:
        texts.append(given)
        return given, 1, 0
    if given is None:
        raise missing("input")
    if type(given) is not list or not given:
        raise wrong_type("input", given, "a string or an array of items")
    last_text, media = "", 0
    for number, item in enumerate(given):
        path = f"input[{number}]"
        if type(item) is not dict:
            raise wrong_type(path, item, "an object")
        if item.get("type", "message") != "message":
            # What functions were called with, what they returned, references: all of it is read by the model.
            text(item, "type", f"{path}.type")
            texts.append(json(item).decode())
            continue
        if item.get("role") not in ROLES:
            raise wrong_value(f"{path}.role", item.get("role"), f"one of {', '.join(map(repr, ROLES))}")
        message_text, media_count = _content(item.get("content"), f"{path}.content")
        texts.append(message_text)
        media += media_count
        if item["role"] == "user":
            last_text = message_text
    return last_text, len(given), media


def _content(content: object, path: str) -> tuple[str, int]:
    if type(content) is str:
        return content, 0
    if type(content) is not list:
        raise missing(path) if content is None else wrong_type(path, content, "a string or an array of parts")
    texts, media = [], 0
    for number, part in enumerate(content):
        kind = part.get("type") if type(part) is dict else kind_of(part)
        if kind in MEDIA:
            media += 1
        elif kind in TEXTS and type(part) is dict:
            words = part.get("refusal" if kind == "refusal" else "text")
            if type(words) is not str:
                raise wrong_type(f"{path}[{number}].text", words, "a string")
            texts.append(words)
        else:
            raise wrong_value(f"{path}[{number}].type", kind, f"one of {', '.join(map(repr, TEXTS + MEDIA))}")
    return "\n".join(texts), media
