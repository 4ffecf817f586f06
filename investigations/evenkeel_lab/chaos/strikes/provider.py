"""Faults of the provider: half of its accounts fail, in one way or in several."""

from __future__ import annotations

import itertools
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import FaultNotCaused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evenkeel_lab.chaos.fault import Strike
    from evenkeel_lab.chaos.rig import Rig

# Half of the accounts, so that the others could serve all requests.
FAILING_ACCOUNTS = ("account-0", "account-1", "account-2", "account-3")
UNTIL_ENDED_SECONDS = 3600


def failing(*faults: dict[str, Any]) -> Strike:
    """Make half of the accounts fail, each in one of these ways."""

    @asynccontextmanager
    async def strike(rig: Rig) -> AsyncIterator[None]:
        began = time.time_ns()
        ways = zip(FAILING_ACCOUNTS, itertools.cycle(faults), strict=False)
        await rig.post_faults(
            *({"at": 0, "for": UNTIL_ENDED_SECONDS, "account": account, **fault} for account, fault in ways)
        )
        try:
            yield
        finally:
            await rig.post_faults()
        met = {attempt["account"] for attempt in await rig.failed_attempts(since_ns=began)}
        missing = [account for account in FAILING_ACCOUNTS if account not in met]
        if missing:
            raise FaultNotCaused(f"No request met the fault of {', '.join(missing)}.", hint="Send more requests.")

    return strike
