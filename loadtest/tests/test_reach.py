"""Whether a target is there, before anything is sent to it."""

from __future__ import annotations

import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from evenkeel_load.errors import LoadFailed
from evenkeel_load.run import reach


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel_load.run.REACH_SECONDS", 0.2)


def test_a_target_that_takes_long_to_name_its_models_is_there() -> None:
    over = Event()

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/v1/models":
                over.wait(60)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        try:
            reach(f"http://127.0.0.1:{server.server_port}", "sk-x")
        finally:
            over.set()
            server.shutdown()
            serving.join()


def test_who_only_takes_connections_is_no_target() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(LoadFailed, match="accepts connections, but answers neither"):
            reach(address, "sk-x")
    with pytest.raises(LoadFailed, match="Nothing answers"):
        reach(address, "sk-x")
