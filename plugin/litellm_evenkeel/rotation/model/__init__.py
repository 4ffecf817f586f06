"""Values of the rotation. None of them changes."""

from __future__ import annotations
