"""How many connections a process may have."""

from __future__ import annotations

import resource

ENOUGH = 65_536


def allow_many_files() -> None:
    """Let this process open as many files as it may: by default it is often no more than a thousand."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if most == resource.RLIM_INFINITY else min(most, ENOUGH)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, wanted), most))
