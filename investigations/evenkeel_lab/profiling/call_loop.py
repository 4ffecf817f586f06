"""Calls one function again and again in a process of its own, so that it can be sampled as a proxy is.

    python -m evenkeel_lab.profiling.call_loop '{"function": "package.module:name", "arguments": {}, "seed": 1, ...}'

Beside its place ("place": PATH) it says that it is ready, by a file that a proxy's probe would write, too. Whenever
there is a file PATH.go, which holds a number of seconds, it calls the function for so long, and then writes to
PATH.done how often and how long.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from evenkeel_lab.stack.probes.stacks_of_proxy import Switch

GO, DONE = ".go", ".done"
STEP_SECONDS = 0.05


def main() -> None:
    """Wait, call, tell; until somebody ends it."""
    spec: dict[str, Any] = json.loads(sys.argv[1])
    module, _, name = spec["function"].partition(":")
    # Imported as a session does, but without the rest of the lab, which takes seconds.
    function, place = getattr(importlib.import_module(module), name), Path(spec["place"])
    # What it only does the first time is no part of a profile.
    function(spec["seed"], **spec["arguments"])
    switch = Switch(str(place))
    go, done = (place.with_name(place.name + ending) for ending in (GO, DONE))
    place.with_name(f"{place.name}-{os.getpid()}").touch()
    while True:
        switch.look()
        if go.exists():
            seconds = float(go.read_text(encoding="ascii"))
            go.unlink()
            began, calls = time.monotonic(), 0
            while not calls or time.monotonic() - began < seconds:
                function(spec["seed"] + calls, **spec["arguments"])
                calls += 1
            told = {"calls": calls, "seconds": time.monotonic() - began}
            unfinished = done.with_name(done.name + ".new")
            unfinished.write_text(json.dumps(told), encoding="ascii")
            unfinished.replace(done)
        time.sleep(STEP_SECONDS)


if __name__ == "__main__":
    main()
