"""OpenAI's embeddings: `POST /v1/embeddings`.

A vector is a pure function of its text: the bits of a hash decide the signs, all numbers are equally large, its length
is 1. The same text has the same vector everywhere, different texts have nearly orthogonal ones, and a vector of fewer
dimensions is the beginning of a longer one, but for its length.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from functools import lru_cache
from hashlib import shake_128
from math import sqrt
from typing import Any

from orjson import dumps

from evenkeel_mock import tokens
from evenkeel_mock.errors import BadRequest
from evenkeel_mock.wire.answer import Answer, Request
from evenkeel_mock.wire.reading import BAD, integer, load, missing, text, wrong_type, wrong_value

DEFAULT_DIMENSIONS = 1536
DIMENSIONS = {"text-embedding-3-large": 3072}
MOST_DIMENSIONS, MOST_INPUTS = 4096, 2048
FORMATS = ("float", "base64")
_BITS = 8
_FLOAT_BYTES = 4
_FLOAT = struct.Struct("<f")

_WHOLE = b'{"object":"list","data":[%b],"model":%b,"usage":{"prompt_tokens":%d,"total_tokens":%d}}'
_ONE = b'{"object":"embedding","index":%d,"embedding":%b}'


class EmbeddingsRequest(Request):
    """A request for the vectors of some texts."""

    __slots__ = ("as_base64", "dimensions")

    dimensions: int
    as_base64: bool


def parse(body: bytes) -> EmbeddingsRequest:
    """Parse a request, or raise `BadRequest`."""
    fields = load(body)
    model = text(fields, "model")
    if fields.get("input") is None:
        raise missing("input")
    texts, prompt_tokens = _inputs(fields["input"])
    form = fields.get("encoding_format")
    if form is not None and form not in FORMATS:
        raise wrong_value("encoding_format", form, f"one of {', '.join(map(repr, FORMATS))}")
    requested = integer(fields, "dimensions", 1, MOST_DIMENSIONS)
    # No choices: nothing is generated, so whatever is composed has no tokens. And it takes as long as one word would.
    request = EmbeddingsRequest(model, texts, prompt_tokens, max_tokens=1, choices=0)
    request.dimensions = requested or DIMENSIONS.get(model, DEFAULT_DIMENSIONS)
    request.as_base64 = form == "base64"
    return request


def response_body(request: Request, answer: Answer | None = None) -> bytes:  # noqa: ARG001  # as of every family
    """Write the vectors. There is nothing to compose: an answer is accepted, and not looked at."""
    assert isinstance(request, EmbeddingsRequest)
    write = _base64 if request.as_base64 else _decimal
    dimensions = request.dimensions
    data = b",".join([_ONE % (index, write(text, dimensions)) for index, text in enumerate(request.texts)])
    return _WHOLE % (data, dumps(request.model), request.prompt_tokens, request.prompt_tokens)


def _inputs(given: Any) -> tuple[list[str], int]:
    """Return each input's text and the tokens of all: an input is a text or the numbers of its tokens."""
    listed = [given] if type(given) is str or (type(given) is list and given and type(given[0]) is int) else given
    if type(listed) is not list:
        raise wrong_type("input", given, "a string or an array")
    if not listed or any(item in {"", None} if not isinstance(item, list | dict) else not item for item in listed):
        raise BadRequest(BAD, "Invalid 'input': neither it nor anything in it may be empty.", "input", "empty_string")
    if len(listed) > MOST_INPUTS:
        message = f"Invalid 'input': {len(listed)} inputs. Expected at most {MOST_INPUTS}."
        raise BadRequest(BAD, message, "input", "array_above_max_length")
    if all(type(item) is str for item in listed):
        return listed, tokens.prompt(listed)
    for item in listed:
        if type(item) is not list or not all(type(token) is int for token in item):
            raise wrong_type("input", item, "strings, tokens or arrays of tokens")
    return [" ".join(map(str, item)) for item in listed], sum(map(len, listed))


def _signs(text: str, dimensions: int) -> bytes:
    return shake_128(text.encode()).digest(-(-dimensions // _BITS))


def _decimal(text: str, dimensions: int) -> bytes:
    table, digits = _decimals(dimensions), _signs(text, dimensions)
    spare = -dimensions % _BITS
    if not spare:
        return b"[" + b",".join([table[byte] for byte in digits]) + b"]"
    numbers = b",".join([table[byte] for byte in digits]).split(b",")
    return b"[" + b",".join(numbers[:dimensions]) + b"]"


def _base64(text: str, dimensions: int) -> bytes:
    table = _floats(dimensions)
    packed = b"".join([table[byte] for byte in _signs(text, dimensions)])
    return b'"' + b64encode(packed[: dimensions * _FLOAT_BYTES]) + b'"'


@lru_cache(maxsize=16)
def _decimals(dimensions: int) -> list[bytes]:
    """Return how the eight numbers of each byte are written."""
    # As a float of 4 bytes has it, so that both formats say the same number.
    size = dumps(_FLOAT.unpack(_FLOAT.pack(1 / sqrt(dimensions)))[0])
    return [b",".join([b"-" + size if byte >> bit & 1 else size for bit in range(_BITS)]) for byte in range(256)]


@lru_cache(maxsize=16)
def _floats(dimensions: int) -> list[bytes]:
    """Return the eight floats of each byte."""
    size = 1 / sqrt(dimensions)
    plus, minus = _FLOAT.pack(size), _FLOAT.pack(-size)
    return [b"".join([minus if byte >> bit & 1 else plus for bit in range(_BITS)]) for byte in range(256)]
