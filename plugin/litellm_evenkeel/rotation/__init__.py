"""Account rotation: picks the account for each request, and learns from the outcome of each attempt."""

from __future__ import annotations
