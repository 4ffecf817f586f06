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
    """Have Prometheus' client write to the folder, if it was imported before it could know of it."""
    values: Any = sys.modules.get("prometheus_client.values")
    if values is not None and values.ValueClass is values.MutexValue:
        values.ValueClass = values.MultiProcessValue()


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
