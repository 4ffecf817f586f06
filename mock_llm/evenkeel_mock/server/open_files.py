"""The limit of open files, which bounds the connections of a process."""

from __future__ import annotations

import resource

ENOUGH = 65_536


def allow_many_files() -> None:
    """Raise the soft limit of open files, which is often about a thousand by default."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = ENOUGH if most == resource.RLIM_INFINITY else min(most, ENOUGH)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, target), most))
