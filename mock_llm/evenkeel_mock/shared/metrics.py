"""The mock's own metrics, in Prometheus' text format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_mock.shared import counters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_mock.shared.shared_file import Board


def exposition(board: Board) -> str:
    """Return all of them, of all workers together."""
    return "\n".join(_lines(board)) + "\n"


def _lines(board: Board) -> Iterator[str]:
    yield "# HELP evenkeel_mock_requests_total Requests answered."
    yield "# TYPE evenkeel_mock_requests_total counter"
    for endpoint, status, count in counters.requests(board):
        yield f'evenkeel_mock_requests_total{{endpoint="{endpoint}",status="{status}"}} {count}'
    yield "# HELP evenkeel_mock_tokens_total Tokens of successful answers."
    yield "# TYPE evenkeel_mock_tokens_total counter"
    for kind, count in counters.tokens(board).items():
        yield f'evenkeel_mock_tokens_total{{kind="{kind}"}} {count}'
    yield "# HELP evenkeel_mock_in_flight Requests being answered, by account."
    yield "# TYPE evenkeel_mock_in_flight gauge"
    for slot in range(board.used_slots()):
        name = board.name(slot).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        yield f'evenkeel_mock_in_flight{{account="{name}"}} {sum(board.in_flight(slot))}'
