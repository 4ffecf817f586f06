"""The `evenkeel` command. Installed with the plugin, useful with the lab: without it, it says how to get that."""

from __future__ import annotations

import sys

WRONG_USE = 2
INTERRUPTED = 130


def main() -> int:
    """Run the command line."""
    try:
        from evenkeel_lab.cli import cli  # noqa: PLC0415 - its imports exist only with the lab extra

        return cli()
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("evenkeel"):
            raise
        print(  # noqa: T201 - rich is one of the things that may be missing
            f"evenkeel needs the lab, of which {error.name} is not installed: pip install 'litellm-evenkeel[lab]'",
            file=sys.stderr,
        )
        return WRONG_USE


if __name__ == "__main__":
    sys.exit(main())
