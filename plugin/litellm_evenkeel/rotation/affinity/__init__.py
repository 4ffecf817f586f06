"""Session affinity: requests of a session stay with one account."""

from __future__ import annotations
