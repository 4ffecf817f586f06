"""Failures of a running stack's parts: their processes are killed, suspended, resumed and started again."""

from __future__ import annotations

import contextlib
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil

from evenkeel_lab.errors import ProcessFailed, WrongUse, nearest
from evenkeel_lab.stack.ports import accepts
from evenkeel_lab.stack.processes.process import running, until_ready

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from evenkeel_lab.stack.service_info import ServiceInfo

READY_SECONDS = 300.0
# The kernel ends a killed process a moment later.
KILLED_SECONDS = 1.0


class Parts:
    """Parts by name. Those that were started again are stopped at the end."""

    def __init__(self, infos: Sequence[ServiceInfo]) -> None:
        # Servers of the user's own are not touched.
        self._infos = {info.name: info for info in infos if info.child is not None}
        self._restarted = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Return these parts."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop the parts that were started again."""
        await self._restarted.aclose()

    @property
    def infos(self) -> list[ServiceInfo]:
        """The parts, each with its latest process."""
        return list(self._infos.values())

    def kill(self, name: str) -> None:
        """Kill a part with SIGKILL. Its children end too."""
        process = self._process(name)
        process.kill()
        end = time.monotonic() + KILLED_SECONDS
        while _is_running(process) and time.monotonic() < end:
            time.sleep(0.001)

    def stop(self, name: str) -> None:
        """Ask a part to end, as an administrator would."""
        info = self._info(name)
        assert info.child is not None
        self._process(name).send_signal(info.child.command.stop_signal)

    def suspend(self, name: str) -> None:
        """Suspend a part: it keeps its connections, and does nothing."""
        self._signal_all(name, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Resume a suspended part."""
        self._signal_all(name, signal.SIGCONT)

    async def restart(self, name: str) -> None:
        """Kill a part if it runs, and start it again with the same port, settings and data."""
        info = self._info(name)
        assert info.child is not None
        with contextlib.suppress(ProcessFailed):
            self.kill(name)
        await info.child.wait()
        child = await self._restarted.enter_async_context(running(info.child.command))
        port = int(info.address.rpartition(":")[2])
        seconds = await until_ready(child, lambda: accepts(port), READY_SECONDS)
        self._infos[name] = replace(info, pid=child.pid, started=child.started, ready_after=seconds, child=child)

    def _info(self, name: str) -> ServiceInfo:
        if name not in self._infos:
            raise WrongUse(f"The stack has no part {name!r} of its own.", hint=nearest(name, list(self._infos)))
        return self._infos[name]

    def _process(self, name: str) -> psutil.Process:
        pid = self._info(name).pid
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if _is_running(process):
                return process
        raise ProcessFailed(f"{name} does not run.", hint=f"Start it: evenkeel part restart {name}")

    def _signal_all(self, name: str, number: signal.Signals) -> None:
        process = self._process(name)
        for member in [process, *process.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.send_signal(number)


def _is_running(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
