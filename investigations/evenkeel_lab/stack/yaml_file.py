"""Writing settings as YAML, fast enough for thousands of accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# libyaml's dumper writes the same text, three times as fast. PyYAML is built without it on some machines.
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write_yaml(settings: Mapping[str, Any], path: Path) -> None:
    """Write `settings` to the file `path`, with keys in their own order."""
    path.write_text(yaml.dump(dict(settings), Dumper=DUMPER, sort_keys=False), encoding="utf-8")
