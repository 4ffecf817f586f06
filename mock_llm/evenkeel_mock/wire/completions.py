"""OpenAI's legacy completions: `POST /v1/completions`."""

from __future__ import annotations

from typing import Any

from orjson import dumps

from evenkeel_mock import tokens
from evenkeel_mock.wire.answer import LENGTH, STOP, Answer, Request
from evenkeel_mock.wire.chat import DONE, usage
from evenkeel_mock.wire.reading import flag, include_usage, integer, load, missing, sampling, text, wrong_type

DEFAULT_MAX_TOKENS = 16
"""Of the API: who does not say how long an answer may be gets a short one."""
MOST_CHOICES = 128
FINISH = {STOP: b'"stop"', LENGTH: b'"length"'}

_START = b'{"id":"cmpl-%b","object":"text_completion","created":%d,"model":%b,"choices":['
_CHOICE = b'{"text":"%b","index":%d,"logprobs":null,"finish_reason":%b}'


class CompletionRequest(Request):
    """A request that may ask for the prompt to be said again before the answer."""

    __slots__ = ("preludes",)

    preludes: list[bytes]
    """Beginning of each choice, as the inside of a JSON string."""


def parse(body: bytes) -> CompletionRequest:
    """Parse a request, or raise `BadRequest`."""
    fields = load(body)
    model = text(fields, "model")
    if fields.get("prompt") is None:
        raise missing("prompt")
    texts, prompt_tokens = _prompts(fields["prompt"])
    stream = flag(fields, "stream")
    usage_wanted = include_usage(fields, stream=stream)
    each = integer(fields, "n", 1, MOST_CHOICES) or 1
    limit = integer(fields, "max_tokens", 0)
    sampling(fields)
    request = CompletionRequest(
        model,
        texts,
        prompt_tokens,
        texts[-1],
        DEFAULT_MAX_TOKENS if limit is None else limit,
        stream,
        usage_wanted,
        each * len(texts),
    )
    echoed = flag(fields, "echo")
    request.preludes = [dumps(prompt)[1:-1] if echoed else b"" for prompt in texts for _ in range(each)]
    return request


def response_body(request: Request, answer: Answer) -> bytes:
    """Return the body of an answer that does not stream."""
    text_bytes, finish = b"".join(answer.pieces), FINISH[answer.finish]
    choices = b",".join([_CHOICE % (prelude + text_bytes, n, finish) for n, prelude in enumerate(_preludes(request))])
    start = _START % (answer.identity, answer.created, dumps(request.model))
    return start + choices + b'],"usage":' + usage(answer) + b"}"


def events(request: Request, answer: Answer) -> tuple[bytes, list[bytes], bytes]:
    """Write an answer that streams.

    Head: empty, unless the prompt is to be said again, which is then one event. One event for each piece (for each
    choice, if there are several). Tail: the event with the finish reason, that with the usage if it was asked for,
    and the end mark.
    """
    start = b"data: " + _START % (answer.identity, answer.created, dumps(request.model))
    end = b'],"usage":null}\n\n' if request.include_usage else b"]}\n\n"
    preludes = _preludes(request)
    choice_numbers = range(request.choices)
    befores = [start + b'{"text":"'] * request.choices
    afters = [b'","index":%d,"logprobs":null,"finish_reason":null}' % index + end for index in choice_numbers]
    if request.choices == 1:
        before, after = befores[0], afters[0]
        chunks = [before + piece + after for piece in answer.pieces]
    else:
        around = list(zip(befores, afters, strict=True))
        chunks = [b"".join([before + piece + after for before, after in around]) for piece in answer.pieces]
    head = b"".join([start + b'{"text":"' + preludes[n] + afters[n] for n in choice_numbers if preludes[n]])
    finish = FINISH[answer.finish]
    tail = b"".join([start + _CHOICE % (b"", index, finish) + end for index in choice_numbers])
    if request.include_usage:
        tail += start + b'],"usage":' + usage(answer) + b"}\n\n"
    return head, chunks, tail + DONE


def _preludes(request: Request) -> list[bytes]:
    return request.preludes if isinstance(request, CompletionRequest) else [b""] * request.choices


def _prompts(prompt: Any) -> tuple[list[str], int]:
    """Return the texts of all prompts and their tokens in total. A prompt is a text or an array of tokens."""
    if type(prompt) is str:
        return [prompt], tokens.prompt([prompt])
    if type(prompt) is not list or not prompt:
        raise wrong_type("prompt", prompt, "a string or an array that is not empty")
    if all(type(item) is str for item in prompt):
        return prompt, tokens.prompt(prompt)
    numbered = [prompt] if type(prompt[0]) is int else prompt
    for item in numbered:
        if type(item) is not list or not item or not all(type(token) is int for token in item):
            raise wrong_type("prompt", item, "strings, tokens or arrays of tokens")
    return [" ".join(map(str, item)) for item in numbered], sum(map(len, numbered))
