from __future__ import annotations

import socket

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stack.ports import LOOPBACK, free_port, is_free


def test_no_port_is_returned_twice() -> None:
    ports = [free_port() for _ in range(200)]
    assert len(set(ports)) == 200
    assert all(is_free(port) for port in ports)


def test_a_requested_port_that_is_in_use_is_wrong_use() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(WrongUse, match=f"Port {port} is in use"):
            free_port(port)
    assert free_port(port) == port
