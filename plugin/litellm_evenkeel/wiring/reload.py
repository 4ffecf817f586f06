"""Reload of settings while the proxy runs: each worker looks at the file, and applies all changes of it or none."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings import SECTION, Settings, settings
from litellm_evenkeel.settings_schema.loader import leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LOG = logging.getLogger("litellm_evenkeel.settings")
INTERVAL_SECONDS = 2.0
ENVIRONMENT = "os.environ/"
# Other settings are used where a worker opens its connections and creates its metrics.
RELOADABLE = (
    "rotation.strategy",
    "rotation.strategies",
    "rotation.snapshot_ttl",
    "rotation.queue_timeout",
    "rotation.reservation_ttl",
    "rotation.error_rules",
    "rotation.cooldown.",
    "rotation.accounts",
    "rotation.affinity.slow_factor",
    "rotation.affinity.slow_floor",
    "rotation.affinity.failure_threshold",
    "rotation.affinity.move_after",
    "rotation.affinity.prefill_rate",
    "rotation.affinity.overload_factor",
    "rotation.affinity.overload_min_requests",
)


@dataclass
class ReloadStatus:
    """Result of the last reload."""

    reloads: int = 0
    """Number of reloads that changed settings."""
    problem: str = ""
    """Why the file as it is now was not applied; empty if it was."""


class SettingsReloader:
    """Applies changes of a configuration file to one worker."""

    def __init__(
        self, path: Path, current: Settings, apply: Callable[[Settings], None], environ: Mapping[str, str] = os.environ
    ) -> None:
        self._path, self._current, self._apply, self._environ = path, current, apply, environ
        self._files = [path]
        self._read()
        self._seen = self._read_stamps()
        self.status = ReloadStatus()

    async def run(self) -> None:
        """Look at the files again and again until cancelled."""
        former = self._seen
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            stamps = await asyncio.to_thread(self._read_stamps)
            # A file that has just changed may still be written.
            if stamps != self._seen and stamps == former:
                # A large file takes too long to parse between requests.
                read = await asyncio.to_thread(self._read)
                self._seen = await asyncio.to_thread(self._read_stamps)
                self.apply(read)
            former = stamps

    def reload(self) -> None:
        """Read the files, and apply their changes. If one cannot be applied, none is."""
        self.apply(self._read())

    def apply(self, read: Settings | SettingsError) -> None:
        """Apply settings that were read, or report why they cannot be."""
        if isinstance(read, SettingsError):
            self._reject(read)
            return
        changed = changes(self._current, read)
        fixed = [name for name in changed if not name.startswith(RELOADABLE)]
        if fixed:
            self._reject(f"{', '.join(fixed)}: needs a restart. Hint: restart, or take that change back.")
            return
        try:
            if changed:
                self._apply(read)
        except Exception as error:  # noqa: BLE001 - requests go on with the settings that are in force
            self._reject(error)
            return
        self.status.problem = ""
        if changed:
            self._current = read
            self.status.reloads += 1
            LOG.warning("evenkeel: applied changed settings: %s", ", ".join(changed))

    def _reject(self, problem: object) -> None:
        self.status.problem = str(problem)
        LOG.warning("evenkeel: the changed settings are not applied: %s", problem)

    def _read(self) -> Settings | SettingsError:
        try:
            document, self._files = read_configuration(self._path)
            return settings(resolve(document.get(SECTION), self._environ), self._environ)
        except SettingsError as error:
            return error
        except Exception as error:  # noqa: BLE001 - YAML can fail in many ways, and the next version may be right
            return SettingsError(f"{self._path}: cannot be read ({type(error).__name__}: {error}). Hint: correct it.")

    def _read_stamps(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(path) for path in self._files]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        file = path.stat()
    except OSError:
        return None
    return file.st_mtime_ns, file.st_ino, file.st_size


def changes(former: Settings, wanted: Settings) -> list[str]:
    """Return the names of the settings that differ."""
    return [leaf.name for leaf in leaves(Settings) if _value(former, leaf.path) != _value(wanted, leaf.path)]


def read_configuration(path: Path) -> tuple[Mapping[str, Any], list[Path]]:
    """Return a configuration with the sections of the files that it includes, as LiteLLM joins them, and all files."""
    path = path.absolute()
    document, files = _read_yaml(path), [path]
    waiting = _included(document, path, path)
    while waiting:
        included = waiting.pop(0)
        if included not in files:
            other = _read_yaml(included, may_be_empty=True)
            files.append(included)
            # A section of an included file replaces that of the file itself.
            document = {**document, **other}
            waiting += _included(other, included, path)
    return document, files


def _included(document: Mapping[str, Any], path: Path, root: Path) -> list[Path]:
    """Return the files that a file includes: beside it, or else beside the first file, as LiteLLM finds them."""
    names = document.get("include")
    files = []
    for name in names if isinstance(names, list) else []:
        own, other = (Path(os.path.abspath(each.parent / str(name))) for each in (path, root))  # noqa: PTH100 - no links
        files.append(other if other.exists() and not own.exists() else own)
    return files


def _read_yaml(path: Path, *, may_be_empty: bool = False) -> Mapping[str, Any]:
    import yaml  # noqa: PLC0415 - a dependency of LiteLLM's proxy

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path}: cannot be read ({type(error).__name__}). Hint: correct the file.") from None
    if document is None and may_be_empty:
        return {}
    if not isinstance(document, Mapping):
        raise SettingsError(f"{path}: expected a mapping, got {type(document).__name__}.")
    return document


def resolve(value: Any, environ: Mapping[str, str]) -> Any:
    """Return a value whose references to environment variables are replaced, as LiteLLM does."""
    if isinstance(value, str) and value.startswith(ENVIRONMENT):
        return environ.get(value.removeprefix(ENVIRONMENT))
    if isinstance(value, Mapping):
        return {name: resolve(item, environ) for name, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, environ) if isinstance(item, Mapping) else item for item in value]
    return value


def _value(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = getattr(tree, name)
    return tree
