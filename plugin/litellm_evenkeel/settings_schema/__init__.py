"""How what operators write, in YAML and in the environment, becomes frozen dataclasses; it knows none of them."""

from __future__ import annotations
