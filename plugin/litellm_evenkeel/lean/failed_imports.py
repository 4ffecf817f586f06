"""Imports that fail with every request.

Where OpenTelemetry is not installed, LiteLLM tries to import its own logger for it while it authorizes each request.
Python remembers modules that could be imported, but not those that could not: each time, it looks for the files,
reads them and runs them until the first import that is missing.
"""

from __future__ import annotations

import logging
import sys
from importlib import import_module

LOG = logging.getLogger("litellm_evenkeel.lean")

# Modules of LiteLLM that the path of a request imports, and the package that each of them needs.
NEEDED = {"litellm.integrations.otel.logger": "opentelemetry"}


def let_imports_fail_at_once() -> None:
    """Make imports of modules whose package is not installed fail without another try."""
    for module, package in NEEDED.items():
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != package:
                raise
            LOG.debug("evenkeel: %s cannot be imported: %s", module, error)
            # Python's own mark for a module that cannot be imported.
            sys.modules[module] = None  # type: ignore[assignment]
        except Exception as error:  # a package of another version must not keep the proxy from starting
            raise ImportError(f"{module} cannot be imported: {error}") from error
