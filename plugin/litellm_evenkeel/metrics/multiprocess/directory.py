"""Folder in which the workers of one proxy share their metrics; the first worker to start creates it.

LiteLLM creates such a folder for its own callback only. It has to exist before the Prometheus client is imported.
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
from litellm_evenkeel.proxy_process import MULTIPROCESS_VARIABLE, has_several_workers, multiprocess_folder

if TYPE_CHECKING:
    from collections.abc import MutableMapping

FOLDER_PREFIX = "evenkeel-prometheus"
# The groups are the process id and the start time of the workers' parent.
FOLDER_NAME = re.compile(rf"{FOLDER_PREFIX}-\d+-(\d+)-(\d+)")


def prepare_folder(environ: MutableMapping[str, str] = os.environ, root: Path | None = None) -> Path | None:
    """Return the workers' folder, created if necessary; `None` if there is one worker and no folder is configured.

    Raise `SettingsError` if the folder belongs to another user.
    """
    configured = multiprocess_folder(environ)
    if configured:
        folder = Path(configured)
    elif has_several_workers(environ):
        root = root or Path(tempfile.gettempdir())
        parent = os.getppid()
        _remove_stale(root)
        # All workers of a proxy have the same parent, and the workers of another proxy have another one.
        folder = root / f"{FOLDER_PREFIX}-{os.getuid()}-{parent}-{_start_time(parent)}"
    else:
        return None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = folder.stat().st_uid
    if owner != os.getuid() and not configured:
        raise SettingsError(
            f"{folder}: expected a folder of user {os.getuid()}, got one of user {owner}. "
            f"Hint: remove it, or set {MULTIPROCESS_VARIABLE} to another folder."
        )
    environ[MULTIPROCESS_VARIABLE] = str(folder)
    return folder


def enable_multiprocess_values() -> None:
    """Make the Prometheus client write to the folder, if it was imported before the folder was configured.

    Existing metrics are moved there with their values: LiteLLM creates some when its proxy is imported, and a scrape of
    several workers shows only what is in the folder.
    """
    values: Any = sys.modules.get("prometheus_client.values")
    if values is None or values.ValueClass is not values.MutexValue:
        return
    values.ValueClass = values.MultiProcessValue()
    client: Any = sys.modules["prometheus_client"]
    kinds = client.Counter, client.Gauge, client.Histogram, client.Summary
    for family in set(getattr(client.REGISTRY, "_names_to_collectors", {}).values()):
        if isinstance(family, kinds):
            for metric in (family, *getattr(family, "_metrics", {}).values()):
                _recreate_values(metric)


def _recreate_values(metric: Any) -> None:
    """Create a metric's values again, now in the folder. A family with labels has no values of its own."""
    before = _values(metric)
    if before:
        metric._metric_init()  # noqa: SLF001 - the client has no public way
        for old, new in zip(before, _values(metric), strict=True):
            new.set(old.get())


def _values(metric: Any) -> list[Any]:
    parts = [getattr(metric, name, None) for name in ("_value", "_sum", "_count")]
    return [value for value in (*parts, *getattr(metric, "_buckets", ())) if value is not None]


def _remove_stale(root: Path) -> None:
    """Remove the folders of proxies that have ended."""
    for path in root.glob(f"{FOLDER_PREFIX}-*"):
        match = FOLDER_NAME.fullmatch(path.name)
        if match and _start_time(int(match[1])) != int(match[2]):
            shutil.rmtree(path, ignore_errors=True)


def _start_time(pid: int) -> int:
    """Return the start time of a process in the system's unit; 0 if it has ended or the time is unknown."""
    fields = process_fields(pid)
    return int(fields[19]) if fields else 0


def process_fields(pid: int) -> list[str]:
    """Return the fields of `/proc/{pid}/stat` after the process name; none if there is no such process or file."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    # The process name stands in brackets and may contain anything, spaces and brackets included.
    return stat.rpartition(")")[2].split()
