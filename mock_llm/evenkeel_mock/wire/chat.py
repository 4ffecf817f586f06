"""OpenAI's chat completions: `POST /v1/chat/completions`."""

from __future__ import annotations

from typing import Any

from orjson import dumps

from evenkeel_mock import tokens
from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire.answer import LENGTH, STOP, TOOL, Answer, Request
from evenkeel_mock.wire.functions import read as read_functions, schema
from evenkeel_mock.wire.reading import (
    BAD,
    array,
    flag,
    include_usage,
    integer,
    json,
    load,
    missing,
    sampling,
    text,
    wrong_type,
    wrong_value,
)

ROLES = ("user", "assistant", "system", "developer", "tool", "function")
MOST_CHOICES = 128
MEDIA = ("image_url", "input_audio", "file")
DONE = b"data: [DONE]\n\n"
FINISH = {STOP: b'"stop"', LENGTH: b'"length"', TOOL: b'"tool_calls"'}
_ENOUGH = 2

_WHOLE = (
    b'{"id":"chatcmpl-%b","object":"chat.completion","created":%d,"model":%b,"choices":[%b],"usage":%b,'
    b'"service_tier":"default","system_fingerprint":"fp_evenkeel"}'
)
_TEXT_CHOICE = (
    b'{"index":%d,"message":{"role":"assistant","content":"%b","refusal":null,"annotations":[]},'
    b'"logprobs":null,"finish_reason":%b}'
)
_CALLED = (
    b'{"index":%d,"message":{"role":"assistant","content":null,"refusal":null,"annotations":[],"tool_calls":['
    b'{"id":"call_%b%d","type":"function","function":{"name":%b,"arguments":"%b"}}]},'
    b'"logprobs":null,"finish_reason":%b}'
)
_USAGE = (
    b'{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,'
    b'"prompt_tokens_details":{"cached_tokens":%d,"audio_tokens":0},'
    b'"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,'
    b'"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}'
)
_CHUNK = (
    b'data: {"id":"chatcmpl-%b","object":"chat.completion.chunk","created":%d,"model":%b,'
    b'"service_tier":"default","system_fingerprint":"fp_evenkeel","choices":['
)
_DELTA = b'{"index":%d,"delta":{%b},"logprobs":null,"finish_reason":%b}]%b}\n\n'
_CALL_BEGINS = (
    b'"role":"assistant","content":null,"tool_calls":['
    b'{"index":0,"id":"call_%b%d","type":"function","function":{"name":%b,"arguments":""}}],"refusal":null'
)


def parse(body: bytes) -> Request:
    """Parse a request, or raise `BadRequest`."""
    fields = load(body)
    model = text(fields, "model")
    messages = array(fields, "messages", "objects")
    texts: list[str] = []
    last_text, media = "", 0
    for number, message in enumerate(messages):
        if type(message) is not dict:
            raise wrong_type(f"messages[{number}]", message, "an object")
        role, content = message.get("role"), message.get("content")
        if role not in ROLES:
            raise _bad_role(role, number)
        if type(content) is str:
            texts.append(content)
        else:
            content, others = _content(message, content, number)
            media += others
            texts.append(content)
        if role == "user":
            last_text = content
        elif role == "tool":
            text(message, "tool_call_id", f"messages[{number}].tool_call_id")
    count = len(messages)
    if len(fields) == _ENOUGH:
        return Request(model, texts, tokens.prompt(texts, count, media), last_text)
    stream = flag(fields, "stream")
    usage = "stream_options" in fields and include_usage(fields, stream=stream)
    choices = integer(fields, "n", 1, MOST_CHOICES) if "n" in fields else 1
    sampling(fields)
    tool, forced = (
        read_functions(fields, wrapped=True) if "tools" in fields or "tool_choice" in fields else (None, False)
    )
    if fields.get("tools"):
        # Before the messages, as providers put them: a prompt's prefix begins with them.
        texts.insert(0, json(fields["tools"]).decode())
    shape = None
    if fields.get("response_format"):
        shape = schema(fields["response_format"], "response_format", wrapped=True)
        texts.insert(0, json(fields["response_format"]).decode())
    prompt_tokens = tokens.prompt(texts, count, media)
    limit = _max_tokens(fields)
    return Request(model, texts, prompt_tokens, last_text, limit, stream, usage, choices or 1, tool, forced, shape)


def response_body(request: Request, answer: Answer) -> bytes:
    """Return the body of an answer that does not stream."""
    content = b"".join(answer.pieces)
    finish = FINISH[answer.finish]
    call = answer.call
    if call is not None:
        choices = b",".join(
            [_CALLED % (index, answer.identity, index, call.name, content, finish) for index in range(request.choices)]
        )
    elif request.choices == 1:
        choices = _TEXT_CHOICE % (0, content, finish)
    else:
        choices = b",".join([_TEXT_CHOICE % (index, content, finish) for index in range(request.choices)])
    return _WHOLE % (answer.identity, answer.created, dumps(request.model), choices, usage(answer))


def events(request: Request, answer: Answer) -> tuple[bytes, list[bytes], bytes]:
    """Write an answer that streams.

    Head: the event with the role and, for a function call, with its identity and name. One event for each piece (for
    each choice, if there are several). Tail: the event with the finish reason, that with the usage if it was asked
    for, and the end mark.
    """
    start = _CHUNK % (answer.identity, answer.created, dumps(request.model))
    close = b',"usage":null' if request.include_usage else b""
    finish, call, choice_numbers = FINISH[answer.finish], answer.call, range(request.choices)
    if call is None:
        begin = [b'"role":"assistant","content":"","refusal":null'] * request.choices
        opening, ending = b'"content":"', b'"'
    else:
        begin = [_CALL_BEGINS % (answer.identity, index, call.name) for index in choice_numbers]
        opening, ending = b'"tool_calls":[{"index":0,"function":{"arguments":"', b'"}}]'
    after = ending + b'},"logprobs":null,"finish_reason":null}]' + close + b"}\n\n"
    if request.choices == 1:
        before = start + b'{"index":0,"delta":{' + opening
        chunks = [before + piece + after for piece in answer.pieces]
    else:
        befores = [start + b'{"index":%d,"delta":{' % index + opening for index in choice_numbers]
        chunks = [b"".join([before + piece + after for before in befores]) for piece in answer.pieces]
    head = b"".join([start + _DELTA % (index, begin[index], b"null", close) for index in choice_numbers])
    tail = b"".join([start + _DELTA % (index, b"", finish, close) for index in choice_numbers])
    if request.include_usage:
        tail += start + b'],"usage":' + usage(answer) + b"}\n\n"
    return head, chunks, tail + DONE


def usage(answer: Answer) -> bytes:
    """Return the usage object of an answer."""
    prompt, completion = answer.prompt_tokens, answer.completion_tokens
    return _USAGE % (prompt, completion, prompt + completion, answer.cached_tokens)


def _max_tokens(fields: dict[str, Any]) -> int | None:
    old = integer(fields, "max_tokens", 1) if "max_tokens" in fields else None
    new = integer(fields, "max_completion_tokens", 1) if "max_completion_tokens" in fields else None
    if old is not None and new is not None:
        message = "'max_tokens' and 'max_completion_tokens' cannot be set at the same time."
        raise BadRequest(BAD, message, "max_tokens", "invalid_parameter_combination")
    return old if new is None else new


def _bad_role(role: object, number: int) -> BadRequest:
    name = f"messages[{number}].role"
    return missing(name) if role is None else wrong_value(name, role, f"one of {', '.join(map(repr, ROLES))}")


def _content(message: dict[str, Any], content: object, number: int) -> tuple[str, int]:
    """Return the text of a message that is no plain text, and how many images and files it has."""
    name = f"messages[{number}].content"
    if content is None:
        # An assistant that called functions said nothing; what it called counts.
        calls = message.get("tool_calls") or message.get("function_call")
        if message["role"] != "assistant" or (not calls and not message.get("refusal") and not message.get("audio")):
            raise missing(name)
        return json(calls).decode() if calls else str(message.get("refusal") or ""), 0
    if type(content) is not list or not content:
        raise wrong_type(name, content, "a string or an array of parts")
    texts, media = [], 0
    for index, part in enumerate(content):
        if type(part) is not dict:
            raise wrong_type(f"{name}[{index}]", part, "an object")
        match part.get("type"):
            case "text" | "refusal" as kind:
                if type(part.get(kind)) is not str:
                    raise wrong_type(f"{name}[{index}].{kind}", part.get(kind), "a string")
                texts.append(part[kind])
            case kind if kind in MEDIA:
                media += 1
            case kind:
                raise wrong_value(f"{name}[{index}].type", kind, "one of 'text', 'refusal', " + ", ".join(MEDIA))
    return "\n".join(texts), media
