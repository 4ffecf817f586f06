"""Outcomes of good and bad answers, from a server with scripted answers."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

import gevent
import pytest

from evenkeel_load.http.client import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkeel_load.records.outcome import Outcome


@contextlib.contextmanager
def answering(say: Callable[[socket.socket, bytes], None]) -> Iterator[str]:
    """Serve connections one after another: take in a request, say something, close."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                say(connection, connection.recv(65536))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def send(url: str, *, stream: bool = False, timeout: float = 5.0) -> Outcome:
    target = Target(url, connections=4, timeout=timeout)
    try:
        return target.send("/v1/chat/completions", b"{}", {}, stream=stream)
    finally:
        target.close()


def outcome(answer: bytes, *, stream: bool = False) -> Outcome:
    with answering(lambda connection, _: connection.sendall(answer)) as url:
        return send(url, stream=stream)


def whole(body: bytes, status: str = "200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (whole(b'{"choices": []}'), ""),
        (whole(b'{"choices": []}', "201 Created"), ""),
        (whole(b'{"choices": [], "error": null}'), ""),
        (whole(b""), "malformed"),
        (whole(b"<html>"), "malformed"),
        (whole(b"[]"), "malformed"),
        (whole(b'{"error": {"message": "no"}}'), "error_body"),
        (whole(b"slow down", "429 Too Many Requests"), "http_429"),
        (whole(b"", "302 Found"), "http_302"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nfew", "cut_short"),
        (b"SSH-2.0-x\r\n", "protocol"),
        (b"", "reset"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx-mock-sent-ns: 99999999999999999999\r\n\r\n{}", ""),
    ],
)
def test_an_answer_is_one_kind_of_success_or_failure(answer: bytes, error: str) -> None:
    found = outcome(answer)
    assert found.error == error
    assert found.mock_sent_ns is None
    assert 0 < found.sent_ns <= found.end_ns


def chunk(data: str) -> str:
    return f'data: {{"choices": [{{"delta": {data}}}]}}\n\n'


ROLE, WORD, LAST, DONE = chunk('{"role": "assistant"}'), chunk('{"content": "ahoy"}'), chunk("{}"), "data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (ROLE + WORD + WORD + LAST + DONE, ""),
        ((ROLE + WORD + WORD + LAST + DONE).replace("\n", "\r\n"), ""),
        ((ROLE + WORD + WORD + LAST + DONE).replace("data: ", "data:"), ""),
        ("\ufeff" + ROLE + WORD + WORD + LAST + DONE, ""),
        (": hello\n\n" + (ROLE + WORD + WORD + LAST).replace("data", "event: x\nid: 1\ndata") + DONE, ""),
        (ROLE + WORD + WORD + LAST, "cut_short"),
        (ROLE + WORD + 'data: {"code": 1, "error": {"message": "no"}}\n\n', "error_event"),
        (ROLE + WORD + 'event: error\ndata: {"type": "overloaded"}\n\n' + DONE, "error_event"),
        ("<html>all is well</html>", "malformed"),
        ('{"choices": []}', "malformed"),
        ("", "malformed"),
    ],
)
def test_a_stream_is_read_whatever_its_lines_look_like(text: str, error: str) -> None:
    found = outcome(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + text.encode(), stream=True)
    assert found.error == error
    if not error:
        assert len(found.chunk_ns) == 4
        assert found.first_token_ns == found.chunk_ns[1]
        assert found.last_token_ns == found.chunk_ns[2]
        assert 0 < found.size <= len(text.encode())


def test_a_stream_that_the_connection_cuts_is_cut_short() -> None:
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n"
    assert outcome(start + b"5\r\ndata:", stream=True).error == "cut_short"


def test_a_timeout_is_one_deadline_for_all_of_an_answer() -> None:
    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(40):
            connection.sendall(b" ")
            time.sleep(0.05)

    with answering(drip) as url:
        found = send(url, timeout=0.3)
    assert found.error == "timeout"
    assert 0.25e9 < found.end_ns - found.sent_ns < 1.5e9


ENDLESS = b"x" * 65536


@pytest.mark.alone
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("line", [ENDLESS, WORD.encode() * 1000])
def test_an_answer_without_an_end_ends_all_the_same_and_others_have_their_turn(line: bytes, stream: bool) -> None:  # noqa: FBT001
    def flood(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while True:
            connection.sendall(line)

    turns: list[int] = []

    def others() -> None:
        while True:
            turns.append(1)
            gevent.sleep(0.001)

    other = gevent.spawn(others)
    with answering(flood) as url:
        found = send(url, stream=stream, timeout=1.5)
    other.kill()
    assert found.error in {"timeout", "too_large"}
    assert found.end_ns - found.sent_ns < 5e9
    assert len(turns) > 1


def test_a_stream_ends_with_its_end_mark_whatever_the_connection_does() -> None:
    def linger(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + (ROLE + WORD + LAST + DONE).encode())
        time.sleep(1)

    with answering(linger) as url:
        found = send(url, stream=True, timeout=0.5)
    assert found.error == ""
    assert found.end_ns - found.sent_ns < 0.5e9


def test_a_comment_is_no_token() -> None:
    def pause(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n: ping\nevent: x\n")
        time.sleep(0.3)
        connection.sendall((WORD + DONE).encode())

    with answering(pause) as url:
        found = send(url, stream=True)
    assert found.first_token_ns - found.first_byte_ns > 0.25e9


def test_waiting_for_a_connection_of_ones_own_is_no_service() -> None:
    def late(connection: socket.socket, _: bytes) -> None:
        time.sleep(0.2)
        connection.sendall(whole(b"{}"))

    with answering(late) as url:
        target = Target(url, connections=1, timeout=5)
        both = [gevent.spawn(target.send, "/", b"{}", {}, stream=False) for _ in range(2)]
        gevent.joinall(both)
        first, second = sorted((one.get() for one in both), key=lambda found: found.sent_ns)
        target.close()
    assert second.sent_ns >= first.end_ns


def test_a_path_before_the_endpoints_is_kept() -> None:
    asked: list[bytes] = []

    def listen(connection: socket.socket, request: bytes) -> None:
        asked.append(request)
        connection.sendall(whole(b"{}"))

    with answering(listen) as url:
        assert not send(f"{url}/openai/").error
    assert asked[0].startswith(b"POST /openai/v1/chat/completions ")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://nowhere.invalid"])
def test_a_target_that_is_not_there(url: str) -> None:
    assert send(url).error in {"refused", "unresolved"}
