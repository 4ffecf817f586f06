"""Visibility of a fault: when the plugin's metrics and its log change."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx
from prometheus_client.parser import text_string_to_metric_families

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.http_client import client

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.chaos.fault import Fault
    from evenkeel_lab.chaos.rig import Subject

POLL_SECONDS = 0.1
SCRAPE_SECONDS = 3.0
LOG_INTERVAL_SECONDS = 60.0
PICKS = "evenkeel_rotation_pick_seconds_bucket"
# What the plugin logs, and a stack trace through its code. The bare name is also in paths of the lab's cache.
PLUGIN_MARKS = ("evenkeel: ", "/litellm_evenkeel/")
# First words of the stack traces that Python writes if a worker crashes, and enough for all threads of one.
CRASH, TRACE_CHARACTERS = "Fatal Python error: ", 20_000
# Attempts that succeed show no fault.
SUCCESSES = frozenset({("outcome", "success"), ("outcome", "cached")})

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@dataclass
class Sighting:
    """The visibility of a fault. Times are seconds from its beginning; `None` if it was not seen."""

    metric_after: float | None = None
    log_after: float | None = None
    log_lines: int = 0
    """Lines of the plugin's log with the fault's words."""
    plugin_lines: int = 0
    """All lines of the log that come from the plugin."""


@dataclass
class Watch:
    """Watches the proxy with the plugin from before a fault until it is stopped."""

    subject: Subject
    fault: Fault
    logged: dict[str, float]
    """When words of a fault were last seen in the log."""
    sighting: Sighting = field(default_factory=Sighting)
    before: Samples = field(default_factory=dict)
    """The plugin's samples before the fault."""

    async def begin(self) -> None:
        """Note how everything is before the fault."""
        self.before = await scrape(self.subject)
        if not self.before:
            raise RigFailure("The proxy returned no metrics before the fault.", hint="See the proxy's log.")
        self._offset = self.log.stat().st_size
        # The plugin logs a cause once a minute.
        self.is_log_due = time.monotonic() - self.logged.get(self.fault.log, -math.inf) > LOG_INTERVAL_SECONDS

    async def run(self, struck: float) -> None:
        """Poll until cancelled, `struck` being the beginning of the fault by the monotonic clock."""
        while True:
            self._read_log(struck)
            if self.fault.metric and self.sighting.metric_after is None:
                # Prometheus dates samples by the beginning of their scrape too.
                began = time.monotonic()
                samples = await scrape(self.subject)
                if samples and changed(self.before, samples, self.fault.metric):
                    self.sighting.metric_after = began - struck
            await asyncio.sleep(POLL_SECONDS)

    @property
    def log(self) -> Path:
        """The log of the proxy."""
        log = self.subject.proxy.info.log
        assert log is not None
        return log

    def _read_log(self, struck: float) -> None:
        with self.log.open("rb") as lines:
            lines.seek(self._offset)
            text = lines.read().decode(errors="replace")
        sighting = self.sighting
        sighting.plugin_lines = sum(map(is_of_plugin, text.splitlines()))
        number = text.count(self.fault.log) if self.fault.log else 0
        if number > sighting.log_lines:
            self.logged[self.fault.log] = time.monotonic()
            if sighting.log_after is None:
                sighting.log_after = time.monotonic() - struck
        sighting.log_lines = number


def is_of_plugin(text: str) -> bool:
    """Return whether a line or record of the log comes from the plugin."""
    return any(mark in text for mark in PLUGIN_MARKS)


def crashes(log: str) -> list[str]:
    """Return the stack trace of each worker that crashed, from the text of a proxy's log."""
    return [f"{CRASH}{trace[:TRACE_CHARACTERS]}" for trace in log.split(CRASH)[1:]]


async def scrape(subject: Subject) -> Samples:
    """Return the plugin's samples; none if the proxy does not answer."""
    headers = {"authorization": f"Bearer {subject.proxy.master_key}"}
    try:
        async with client(seconds=SCRAPE_SECONDS, headers=headers, follow_redirects=True) as reading:
            text = (await reading.get(f"{subject.proxy.url}/evenkeel/metrics")).raise_for_status().text
    except httpx.HTTPError:
        return {}
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def changed(before: Samples, after: Samples, metric: str) -> bool:
    """Return whether a sample of a metric, but for successes, is new or has another value."""
    relevant = ((key, value) for key, value in after.items() if key[0] == metric and not SUCCESSES & {*key[1]})
    return any(before.get(key) != value for key, value in relevant)


async def longest_cooldown(subject: Subject) -> float | None:
    """Return the seconds of the longest cooldown of an account, quarantines left out; `None` if there is none."""
    headers = {"authorization": f"Bearer {subject.proxy.master_key}"}
    async with client(seconds=SCRAPE_SECONDS, headers=headers) as reading:
        answer = (await reading.get(f"{subject.proxy.url}/evenkeel/accounts")).raise_for_status().json()
    scopes = [scope for account in answer["accounts"] for scope in (account, *account.get("models", ()))]
    lengths = [scope.get("cooldown_seconds") for scope in scopes]
    return max((seconds for seconds in lengths if seconds is not None), default=None)


def picks(before: Samples, after: Samples) -> dict[str, float]:
    """Return the histogram of the time to pick an account: the number of picks up to each bound in seconds."""
    grown: dict[str, float] = {}
    for (name, labels), value in after.items():
        if name == PICKS:
            bound = dict(labels)["le"]
            grown[bound] = grown.get(bound, 0.0) + value - before.get((name, labels), 0.0)
    return grown
