"""Start and end recordings inside a proxy's process, on request of the lab.

The lab writes a request file, with an argument and a name. The process answers with an empty unfinished file when its
recording begins. When the request file is gone, it ends the recording and writes the result to a file of that name.

Only the standard library: this runs inside LiteLLM's environment.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

STACKS, TRACES = "stacks", "traces"
UNFINISHED = ".new"


class Recording(Protocol):
    """A recording that began with its creation."""

    def end(self) -> dict[str, Any]:
        """End it, and return the result."""


class Switch:
    """Runs one kind of recording while its request file exists. `begin` gets the request's argument."""

    def __init__(self, path: str, kind: str, begin: Callable[[str], Recording]) -> None:
        self._path, self._kind, self._begin = path, kind, begin
        self._request = ""
        self._recording: Recording | None = None

    def look(self) -> None:
        """Check whether the request file appeared or disappeared."""
        try:
            request = Path(request_file(self._path, self._kind)).read_text(encoding="ascii")
        except FileNotFoundError:
            request = ""
        if request == self._request:
            return
        if self._recording is not None:
            begun, answer = answers(self._path, self._kind, os.getpid(), self._request)
            begun.write_text(json.dumps(self._recording.end()), encoding="utf-8")
            begun.replace(answer)
            self._recording = None
        self._request = request
        if request:
            answers(self._path, self._kind, os.getpid(), request)[0].touch()
            self._recording = self._begin(request.split()[0])


def request_file(path: str, kind: str) -> str:
    """Return the request file of a kind of recording."""
    return f"{path}.{kind}"


def answers(path: str, kind: str, pid: int, request: str) -> tuple[Path, Path]:
    """Return the files that a process writes when a recording begins, and when it has ended."""
    done = f"{request_file(path, kind)}.{pid}.{request.split()[1]}"
    return Path(done + UNFINISHED), Path(done)
