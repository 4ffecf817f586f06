"""Answers as no honest provider sends them: huge, with absurd headers, or encoded otherwise than they say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkeel_mock.faults import Encoding
from evenkeel_mock.quotas.rejections import Response

if TYPE_CHECKING:
    from evenkeel_mock.faults import Fault

KB = 1024
# Parsers limit the length of a line, name included, to 8 KB or less, rather than that of all headers.
HEADER_LINE_BYTES = 4 * KB
RETRY_AFTER = ("retry-after", "retry-after-ms")


def hostile(response: Response, fault: Fault, secrets: str = "") -> Response:
    """Return what a fault makes of an error response. `secrets` are the key and the prompt of the request."""
    status, headers, body = response
    if fault.echo:
        body = body.replace(b'"message":"', b'"message":"' + json.dumps(f"{secrets} ")[1:-1].encode(), 1)
    if fault.raw_retry_after:
        headers = [header for header in headers if header[0] not in RETRY_AFTER]
        headers.append(("retry-after", fault.raw_retry_after))
    for number in range(-(-fault.header_kb * KB // HEADER_LINE_BYTES)):
        headers.append((f"x-padding-{number}", "x" * min(HEADER_LINE_BYTES, fault.header_kb * KB)))
    if fault.body_kb:
        # In the message, which clients copy into their errors.
        body = body.replace(b'"message":"', b'"message":"' + b"x" * (fault.body_kb * KB), 1)
    if fault.encoding is Encoding.UTF_16:
        body = body.decode().encode("utf-16")
    elif fault.encoding is Encoding.INVALID:
        body = body.replace(b'"message":"', b'"message":"\xff\xfe\x80', 1)
    elif fault.encoding is Encoding.GZIP:
        headers.append(("content-encoding", "gzip"))
    return Response(status, headers, body)
