"""Why a lookup failed, in a few words that may be shown: never a driver's own, in which ids and addresses stand."""

from __future__ import annotations

from enum import StrEnum

REFUSED_STATES = ("08", "53", "57P")
DENIED_STATES = ("28", "42501")
SCHEMA_STATES = ("42P01", "42703", "42883", "42804", "3D", "3F")
# A question that went on for too long, or waited for a lock.
TIMEOUT_STATES = ("57014", "55P03", "25P03")
# It speaks, but not as we do.
ODD_STATES = ("08P01",)
DENIED_NAMES = frozenset({"AuthenticationError", "AuthenticationWrongNumberOfArgsError", "NoPermissionError"})
TIMEOUT_NAMES = frozenset({"TimeoutError"})
REFUSED_NAMES = frozenset({"OSError", "ConnectionError", "MaxConnectionsError", "InterfaceError"})


class DriverError(StrEnum):
    """What kind of trouble it was."""

    TIMEOUT = "timeout"
    REFUSED = "refused"
    """Nobody is there, or nobody who would talk."""
    DENIED = "denied"
    """We may not."""
    SCHEMA = "schema"
    """There are no such tables or columns."""
    ERROR = "error"
    """Anything else."""
    CIRCUIT_OPEN = "circuit_open"
    """It has failed too often, and was not asked."""


def driver_error(error: BaseException) -> DriverError:
    """Return what kind of trouble an error of a driver's is."""
    state = _state(error)
    if state:
        by_state = (
            (TIMEOUT_STATES, DriverError.TIMEOUT),
            (ODD_STATES, DriverError.ERROR),
            (DENIED_STATES, DriverError.DENIED),
            (SCHEMA_STATES, DriverError.SCHEMA),
            (REFUSED_STATES, DriverError.REFUSED),
        )
        return next((told for states, told in by_state if state.startswith(states)), DriverError.ERROR)
    names = {kind.__name__ for kind in type(error).__mro__}
    by_name = (
        (TIMEOUT_NAMES, DriverError.TIMEOUT),
        (DENIED_NAMES, DriverError.DENIED),
        (REFUSED_NAMES, DriverError.REFUSED),
    )
    return next((told for some, told in by_name if names & some), DriverError.ERROR)


def cause(error: BaseException) -> str:
    """Return what may be told of an error: its class, and the five characters with which Postgres names it."""
    state = _state(error)
    return f"{type(error).__name__} {state}" if state else type(error).__name__


def _state(error: BaseException) -> str:
    found = getattr(error, "sqlstate", None)
    return found if isinstance(found, str) and len(found) == 5 and found.isalnum() else ""  # noqa: PLR2004 - SQL's
