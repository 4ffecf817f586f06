"""Where the workers of one proxy leave their series for each other: made by whichever of them comes first.

LiteLLM makes such a folder for its own callback only. It has to be there before Prometheus' client is imported.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import MutableMapping

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
WORKERS = "NUM_WORKERS"
PREFIX = "evenkeel-prometheus"
OURS = re.compile(rf"{PREFIX}-\d+-(\d+)-(\d+)")


def prepare(environ: MutableMapping[str, str] = os.environ, root: Path | None = None) -> Path | None:
    """Return the folder, made if there are several workers and none is named; None if there is one worker."""
    told = environ.get(VARIABLE) or environ.get(VARIABLE.lower())
    if told:
        folder = Path(told)
    elif _several(environ):
        root = root or Path(tempfile.gettempdir())
        parent = os.getppid()
        _tidy(root)
        # All workers have the same parent, and no other proxy has it.
        folder = root / f"{PREFIX}-{os.getuid()}-{parent}-{_began(parent)}"
    else:
        return None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid() and not told:
        raise SettingsError(f"{folder}: this belongs to somebody else. Remove it, or name a folder with {VARIABLE}.")
    environ[VARIABLE] = str(folder)
    return folder


def _several(environ: MutableMapping[str, str]) -> bool:
    told = environ.get(WORKERS, "")
    return told.isdecimal() and told.isascii() and int(told[:4]) > 1


def tell_client() -> None:
    """Make Prometheus' client write to the folder, if it was imported before it could know of it.

    Metrics that were made before are written there as well, with the values that they have: LiteLLM makes some when its
    proxy is imported, and a scrape of several workers shows only what is in the folder.
    """
    values: Any = sys.modules.get("prometheus_client.values")
    if values is None or values.ValueClass is not values.MutexValue:
        return
    values.ValueClass = values.MultiProcessValue()
    client: Any = sys.modules["prometheus_client"]
    kinds = client.Counter, client.Gauge, client.Histogram, client.Summary
    for metric in set(getattr(client.REGISTRY, "_names_to_collectors", {}).values()):
        if isinstance(metric, kinds):
            for one in (metric, *getattr(metric, "_metrics", {}).values()):
                _move(one)


def _move(metric: Any) -> None:
    """Make a metric's values anew, where the client now makes them. One with labels has none of its own."""
    before = _values(metric)
    if before:
        metric._metric_init()  # noqa: SLF001 - the client has no other way
        for old, new in zip(before, _values(metric), strict=True):
            new.set(old.get())


def _values(metric: Any) -> list[Any]:
    parts = [getattr(metric, name, None) for name in ("_value", "_sum", "_count")]
    return [one for one in (*parts, *getattr(metric, "_buckets", ())) if one is not None]


def _tidy(root: Path) -> None:
    """Remove the folders of proxies that are no more."""
    for path in root.glob(f"{PREFIX}-*"):
        found = OURS.fullmatch(path.name)
        if found and _began(int(found[1])) != int(found[2]):
            shutil.rmtree(path, ignore_errors=True)


def _began(pid: int) -> int:
    """Return when a process began, in whatever unit its system has; 0 if it is no more, or nobody tells."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    # Its name stands in brackets, and may hold anything.
    return int(told.rpartition(")")[2].split()[19])
