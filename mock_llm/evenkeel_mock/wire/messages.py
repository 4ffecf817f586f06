"""Anthropic's messages: `POST /v1/messages` and `POST /v1/messages/count_tokens`."""

from __future__ import annotations

from typing import Any

import orjson
from orjson import dumps

from evenkeel_mock import tokens
from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire.answer import LENGTH, STOP, TOOL, Answer, Request, Tool
from evenkeel_mock.wire.functions import ANY_OBJECT

ROLES = ("user", "assistant")
MEDIA = ("image", "document")
CHOICES = ("auto", "any", "tool", "none")
FINISH = {STOP: b"end_turn", LENGTH: b"max_tokens", TOOL: b"tool_use"}
_BAD = 400

_MESSAGE = (
    b'{"id":"msg_%b","type":"message","role":"assistant","model":%b,"content":[%b],"stop_reason":%b,'
    b'"stop_sequence":null,"usage":%b}'
)
_USAGE = (
    b'{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,'
    b'"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},'
    b'"output_tokens":%d,"service_tier":"standard"}'
)
_TEXT = b'{"type":"text","text":"%b"}'
_TOOL = b'{"type":"tool_use","id":"toolu_%b","name":%b,"input":%b}'
_START = (
    b'event: message_start\ndata: {"type":"message_start","message":%b}\n\n'
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":%b}\n\n'
    b'event: ping\ndata: {"type":"ping"}\n\n'
)
_DELTA = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"'
_TEXT_DELTA = _DELTA + b'text_delta","text":"'
_JSON_DELTA = _DELTA + b'input_json_delta","partial_json":"'
_DELTA_ENDS = b'"}}\n\n'
_END = (
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"%b","stop_sequence":null},'
    b'"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,"output_tokens":%d}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
)


def parse(body: bytes) -> Request:
    """Parse a request, or raise `BadRequest`."""
    fields = _load(body)
    limit = fields.get("max_tokens")
    if limit is None:
        raise _bad("max_tokens", "Field required")
    if type(limit) is not int:
        raise _bad("max_tokens", "Input should be a valid integer")
    if limit < 1:
        raise _bad("max_tokens", "Input should be greater than or equal to 1")
    stream = fields.get("stream")
    if stream is not None and type(stream) is not bool:
        raise _bad("stream", "Input should be a valid boolean")
    for name in ("temperature", "top_p"):
        if name in fields:
            _share(fields[name], name)
    request = _prompt(fields)
    request.max_tokens = limit
    request.stream = stream is True
    return request


def parse_count(body: bytes) -> Request:
    """Read a request to count a prompt's tokens, or say what is wrong with it."""
    return _prompt(_load(body))


def count(request: Request) -> bytes:
    """Write how many tokens a prompt has."""
    return b'{"input_tokens":%d}' % request.prompt_tokens


def response_body(request: Request, answer: Answer) -> bytes:
    """Return the body of an answer that does not stream."""
    call, finish = answer.call, answer.finish
    if call is None:
        content = _TEXT % b"".join(answer.pieces)
    else:
        # Arguments that were cut short are no JSON, and what is whole has to be an object.
        content = _TOOL % (answer.identity, call.name, b"{}" if finish == LENGTH else call.arguments)
    return _MESSAGE % (
        answer.identity,
        dumps(request.model),
        content,
        b'"' + FINISH[finish] + b'"',
        _usage(answer, answer.completion_tokens),
    )


def events(request: Request, answer: Answer) -> tuple[bytes, list[bytes], bytes]:
    """Write an answer that streams.

    Head: `message_start`, `content_block_start` and a `ping`. One `content_block_delta` for each piece. Tail:
    `content_block_stop`, `message_delta` with the stop reason and the usage, `message_stop`.
    """
    call, identity = answer.call, answer.identity
    started = _MESSAGE % (identity, dumps(request.model), b"", b"null", _usage(answer, 1))
    block, before = (_TEXT % b"", _TEXT_DELTA) if call is None else (_TOOL % (identity, call.name, b"{}"), _JSON_DELTA)
    chunks = [before + piece + _DELTA_ENDS for piece in answer.pieces]
    cached, completion = answer.cached_tokens, answer.completion_tokens
    tail = _END % (FINISH[answer.finish], answer.prompt_tokens - cached, cached, completion)
    return _START % (started, block), chunks, tail


def _usage(answer: Answer, completion: int) -> bytes:
    # Unlike OpenAI's, what was read from the cache is not among the input tokens.
    return _USAGE % (answer.prompt_tokens - answer.cached_tokens, answer.cached_tokens, completion)


def _bad(path: str, what: str) -> BadRequest:
    return BadRequest(_BAD, f"{path}: {what}", path)


def _share(value: object, name: str) -> None:
    if value is not None and (type(value) not in {int, float} or not 0 <= value <= 1):  # type: ignore[operator]  # a number
        raise _bad(name, "Input should be a number between 0 and 1")


def _load(body: bytes) -> dict[str, Any]:
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(_BAD, f"The request body is not valid JSON: {error}") from error
    if type(fields) is not dict:
        raise BadRequest(_BAD, "The request body must be a JSON object.")
    return fields


def _prompt(fields: dict[str, Any]) -> Request:
    """Return what both endpoints read: the prompt, and what it is answered with."""
    model = _string(fields, "model", "model")
    messages = fields.get("messages")
    if type(messages) is not list or not messages:
        raise _bad_messages(messages)
    texts: list[str] = []
    media = 0
    tool, forced = None, False
    if fields.get("tools") is not None or fields.get("tool_choice") is not None:
        # First tools, then the system prompt, then messages: that is the order in which the API caches them.
        tool, forced = _tools(fields, texts)
    if fields.get("system") is not None:
        media += _content(fields["system"], "system", texts)
    last_text = ""
    for number, message in enumerate(messages):
        if type(message) is not dict:
            raise _bad(f"messages.{number}", "Input should be an object")
        role, content = message.get("role"), message.get("content")
        if role not in ROLES:
            what = "Field required" if role is None else "Input should be 'user' or 'assistant'"
            raise _bad(f"messages.{number}.role", what)
        # Here rather than in `_content`: most messages are plain texts, and a call costs.
        if type(content) is str:
            texts.append(content)
        else:
            media += _content(content, f"messages.{number}.content", texts)
        if role == "user":
            last_text = _text_of(content)
    shape = _schema(fields) if "output_config" in fields or "output_format" in fields else None
    if shape is not None:
        texts.insert(0, _json(shape))
    prompt_tokens = tokens.prompt(texts, len(messages), media)
    return Request(model, texts, prompt_tokens, last_text, tool=tool, forced=forced, schema=shape)


def _bad_messages(messages: object) -> BadRequest:
    if messages is None:
        return _bad("messages", "Field required")
    return _bad("messages", "at least one message is required" if messages == [] else "Input should be a valid list")


def _string(holder: dict[str, Any], name: str, path: str) -> str:
    value = holder.get(name)
    if type(value) is str and value:
        return value
    raise _bad(path, "Field required" if value is None else "Input should be a valid string, not an empty one")


def _content(content: object, path: str, texts: list[str]) -> int:
    """Add the texts of a content; return how many images and documents it has."""
    if type(content) is str:
        texts.append(content)
        return 0
    if type(content) is not list:
        raise _bad(path, "Field required" if content is None else "Input should be a string or a list of blocks")
    media = 0
    for number, block in enumerate(content):
        if type(block) is not dict:
            raise _bad(f"{path}.{number}", "Input should be an object")
        kind = _string(block, "type", f"{path}.{number}.type")
        if kind == "text":
            if type(block.get("text")) is not str:
                raise _bad(f"{path}.{number}.text", "Input should be a valid string")
            texts.append(block["text"])
        elif kind in MEDIA:
            media += 1
        else:
            # Calls of tools, what they returned, thoughts: the model reads all of it.
            texts.append(_json(block))
    return media


def _text_of(content: Any) -> str:
    if type(content) is str:
        return content
    return "\n".join([block["text"] for block in content if block["type"] == "text"])


def _json(value: object) -> str:
    try:
        return dumps(value).decode()
    except orjson.JSONEncodeError as error:
        # What orjson reads may be nested four times deeper than what it writes.
        raise BadRequest(_BAD, "The request body is nested too deeply.") from error


def _tools(fields: dict[str, Any], texts: list[str]) -> tuple[Tool | None, bool]:
    """Add the definitions of tools to the texts; return the one a call would be of, and whether one is demanded."""
    tools = fields.get("tools") or []
    if type(tools) is not list:
        raise _bad("tools", "Input should be a valid list")
    read = [_tool(tool, f"tools.{number}") for number, tool in enumerate(tools)]
    offered = [tool for tool in read if tool is not None]
    if tools:
        texts.append(_json(tools))
    first = offered[0] if offered else None
    choice = fields.get("tool_choice")
    if choice is None:
        return first, False
    kind = choice.get("type") if type(choice) is dict else None
    if kind not in CHOICES:
        raise _bad("tool_choice.type", f"Input should be one of {', '.join(map(repr, CHOICES))}")
    if kind in {"auto", "any"}:
        return first, kind == "any" and first is not None
    if kind == "none":
        return None, False
    name = _string(choice, "name", "tool_choice.name")
    for tool in offered:
        if tool.name == name:
            return tool, True
    raise _bad("tool_choice", f"There is no tool {name!r}")


def _tool(tool: object, path: str) -> Tool | None:
    if type(tool) is not dict:
        raise _bad(path, "Input should be an object")
    name = _string(tool, "name", f"{path}.name")
    kind = tool.get("type")
    if kind is not None and kind != "custom":
        # A tool of the provider's own runs on its side.
        return None
    schema = tool.get("input_schema")
    if type(schema) is not dict:
        raise _bad(f"{path}.input_schema", "Field required" if schema is None else "Input should be an object")
    return Tool(name, schema | {"type": "object"})


def _schema(fields: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema that the text must follow; the format has moved from a field of its own into another."""
    config = fields.get("output_config") or {}
    if type(config) is not dict:
        raise _bad("output_config", "Input should be an object")
    shape = config.get("format") or fields.get("output_format")
    if shape is None:
        return None
    if type(shape) is not dict or shape.get("type") != "json_schema" or type(shape.get("schema")) is not dict:
        raise _bad("output_config.format", "Input should be an object with type 'json_schema' and a schema")
    return shape["schema"] or ANY_OBJECT
