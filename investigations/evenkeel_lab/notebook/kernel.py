"""Execution of a notebook in a kernel of its own, which is always stopped at the end.

The kernel runs the current Python interpreter, whatever kernels are installed. Its sockets lie in a folder that only
this user may enter, and it ignores the user's settings of IPython and matplotlib.
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
# Maximum length of a socket's path. If the temporary folder's path is longer, the kernel listens on the loopback.
MAX_SOCKET_PATH = 100
# Pictures name matplotlib's version, which would change them with each version.
SETTINGS = {"InlineBackend": {"print_figure_kwargs": {"bbox_inches": "tight", "metadata": {"Software": None}}}}


class _ThisPython(KernelSpecManager):
    """Kernel specification of the current Python interpreter."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(argv=make_ipkernel_cmd(), display_name=kernel_name, language="python")


def execute(notebook: NotebookNode, path: Path, seconds: int) -> None:
    """Execute a notebook in the folder of its `path`. Each cell may take `seconds`."""
    with TemporaryDirectory(prefix="evenkeel-notebook-") as folder:
        asyncio.run(_execute(notebook, path, seconds, Path(folder)))


async def _execute(notebook: NotebookNode, path: Path, seconds: int, own: Path) -> None:
    connection = own / "kernel.json"
    manager = AsyncKernelManager(kernel_spec_manager=_ThisPython(), connection_file=str(connection))
    manager.transport = "ipc" if len(os.fsencode(connection)) < MAX_SOCKET_PATH else "tcp"
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
        raise _failed(path, notebook, number, f"the cell did not end within {seconds} s") from None
    except (DeadKernelError, RuntimeError) as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            # nbclient mistakes Ctrl-C for a dead kernel.
            raise asyncio.CancelledError from None
        when = f"in cell {number}" if number else "at its start"
        raise ProcessFailed(
            f"The Python that executes {path} ended or did not answer {when}.",
            hint="Check that the machine has enough memory, and try again.",
            details="\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:]),
        ) from error
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
        await manager.shutdown_kernel(now=True)


def _failed(path: Path, notebook: NotebookNode, number: int, what: str) -> CellFailed:
    line = notebook.cells[number - 1].source.partition("\n")[0]
    return CellFailed(f"{path}, cell {number} (`{line}`): {what}.", hint="Fix that cell.")


def _environment(own: Path) -> dict[str, str]:
    """Return an environment without settings of this machine and this user, which could change the output."""
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
