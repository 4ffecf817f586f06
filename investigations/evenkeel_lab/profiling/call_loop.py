"""Call one function repeatedly in its own process, so that it can be sampled like a proxy.

    python -m evenkeel_lab.profiling.call_loop '{"function": "package.module:name", "arguments": {}, "seed": 1, ...}'

The process announces that it is ready with the file PATH-PID ("path": PATH), like the probe of a proxy. When a file
PATH.go with a number of seconds appears, it calls the function for that time, and writes the number of calls and their
duration to PATH.done.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from evenkeel_lab.stack.probes.probe_switch import STACKS, Switch
from evenkeel_lab.stack.probes.stacks_of_proxy import Sampler

GO, DONE = ".go", ".done"
STEP_SECONDS = 0.05


def main() -> None:
    """Wait for a request, call the function, write the result; until the process is stopped."""
    spec: dict[str, Any] = json.loads(sys.argv[1])
    module, _, name = spec["function"].partition(":")
    # A session imports it like this too. The rest of the lab would take seconds.
    function, path = getattr(importlib.import_module(module), name), Path(spec["path"])
    # The first call may do work that no other call does. It is not profiled.
    function(spec["seed"], **spec["arguments"])
    switch = Switch(str(path), STACKS, lambda rate: Sampler(int(rate)))
    go, done = (path.with_name(path.name + ending) for ending in (GO, DONE))
    path.with_name(f"{path.name}-{os.getpid()}").touch()
    while True:
        switch.look()
        if go.exists():
            seconds = float(go.read_text(encoding="ascii"))
            go.unlink()
            began, calls = time.monotonic(), 0
            while not calls or time.monotonic() - began < seconds:
                function(spec["seed"] + calls, **spec["arguments"])
                calls += 1
            result = {"calls": calls, "seconds": time.monotonic() - began}
            unfinished = done.with_name(done.name + ".new")
            unfinished.write_text(json.dumps(result), encoding="ascii")
            unfinished.replace(done)
        time.sleep(STEP_SECONDS)


if __name__ == "__main__":
    main()
