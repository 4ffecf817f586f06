"""A notebook's cells, executed one after the other in a kernel of their own, which ends with them whatever happens.

The kernel is this very Python, whatever kernels are installed; it hears on sockets in a folder that only this user may
enter, and sees nothing of the user's own settings of IPython and matplotlib.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ipykernel.kernelspec import make_ipkernel_cmd
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from evenkeel_lab.errors import CellFailed, ProcessFailed

if TYPE_CHECKING:
    from nbformat import NotebookNode

START_SECONDS = 60
LOG_LINES = 15
# A socket's path may have about a hundred bytes; where the temporary folder's is longer it must be the loopback.
LONGEST = 100
# A picture's own note on who made it changes with matplotlib's version.
SETTINGS = {"InlineBackend": {"print_figure_kwargs": {"bbox_inches": "tight", "metadata": {"Software": None}}}}


class _ThisPython(KernelSpecManager):
    """Knows one kernel."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(argv=make_ipkernel_cmd(), display_name=kernel_name, language="python")


def execute(notebook: NotebookNode, path: Path, seconds: int) -> None:
    """Execute a notebook that was read from a path, in that path's folder; each cell may take so many seconds."""
    with TemporaryDirectory(prefix="evenkeel-notebook-") as folder:
        asyncio.run(_execute(notebook, path, seconds, Path(folder)))


async def _execute(notebook: NotebookNode, path: Path, seconds: int, own: Path) -> None:
    connection = own / "kernel.json"
    manager = AsyncKernelManager(kernel_spec_manager=_ThisPython(), connection_file=str(connection))
    manager.transport = "ipc" if len(os.fsencode(connection)) < LONGEST else "tcp"
    client = NotebookClient(notebook, km=manager, timeout=seconds, coalesce_streams=True, force_raise_errors=True)
    client.record_timing = client.store_widget_state = False
    log = own / "log"
    number = 0
    try:
        with log.open("wb") as output:
            await manager.start_kernel(cwd=str(path.parent), env=_environment(own), stdout=output, stderr=output)
        client.kc = manager.client()
        client.kc.start_channels()
        client.kc.allow_stdin = False
        await client.kc.wait_for_ready(timeout=START_SECONDS)
        for number, cell in enumerate(notebook.cells, 1):
            await client.async_execute_cell(cell, number - 1, execution_count=client.code_cells_executed + 1)
    except CellExecutionError as error:
        what = ": ".join(filter(None, (error.ename, error.evalue.partition("\n")[0])))
        raise _failed(path, notebook, number, what) from None
    except CellTimeoutError:
        raise _failed(path, notebook, number, f"it has not ended within {seconds} s") from None
    except (DeadKernelError, RuntimeError) as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            # nbclient takes Ctrl-C for the death of its kernel.
            raise asyncio.CancelledError from None
        raise ProcessFailed(
            f"The Python that executes {path} died or was silent{f' in cell {number}' if number else ' at once'}.",
            hint="See whether the machine has enough memory, and try again.",
            details="\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:]),
        ) from error
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
        await manager.shutdown_kernel(now=True)


def _failed(path: Path, notebook: NotebookNode, number: int, what: str) -> CellFailed:
    line = notebook.cells[number - 1].source.partition("\n")[0]
    return CellFailed(f"{path}, cell {number} (`{line}`): {what}.", hint="Mend that cell.")


def _environment(own: Path) -> dict[str, str]:
    """Return an environment in which nothing of this machine or this user shows in a notebook."""
    profile = own / "profile_default"
    profile.mkdir()
    (profile / "ipython_kernel_config.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    rc = own / "matplotlibrc"
    rc.touch()
    return os.environ | {
        "IPYTHONDIR": str(own),
        "MATPLOTLIBRC": str(rc),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONWARNINGS": "",
        "TZ": "UTC",
    }
