"""Classes of database and Redis errors that may be shown. A driver's own text may contain ids and addresses."""

from __future__ import annotations

from enum import StrEnum

SQLSTATE_LENGTH = 5


class DriverError(StrEnum):
    """Class of a failed lookup."""

    TIMEOUT = "timeout"
    REFUSED = "refused"
    """No server listens there, or it accepts no connection."""
    DENIED = "denied"
    """The credentials are wrong, or lack a permission."""
    SCHEMA = "schema"
    """The table or the column does not exist."""
    ERROR = "error"
    """Any other error."""
    CIRCUIT_OPEN = "circuit_open"
    """The circuit breaker is open: the server was not called."""


# The first entry that matches applies. SQLSTATE codes match by their prefix, exceptions by the names of their classes.
SQLSTATES = (
    # A statement that took too long, or waited too long for a lock.
    (DriverError.TIMEOUT, ("57014", "55P03", "25P03")),
    # Protocol violation: a server answers, but it does not speak Postgres. It would match "08" otherwise.
    (DriverError.ERROR, ("08P01",)),
    (DriverError.DENIED, ("28", "42501")),
    (DriverError.SCHEMA, ("42P01", "42703", "42883", "42804", "3D", "3F")),
    (DriverError.REFUSED, ("08", "53", "57P")),
)
CLASS_NAMES = (
    (DriverError.TIMEOUT, {"TimeoutError"}),
    (DriverError.DENIED, {"AuthenticationError", "AuthenticationWrongNumberOfArgsError", "NoPermissionError"}),
    (DriverError.REFUSED, {"OSError", "ConnectionError", "MaxConnectionsError", "InterfaceError"}),
)


def driver_error(error: BaseException) -> DriverError:
    """Return the class of a driver's error."""
    state = _sqlstate(error)
    if state:
        return next((result for result, prefixes in SQLSTATES if state.startswith(prefixes)), DriverError.ERROR)
    class_names = {kind.__name__ for kind in type(error).__mro__}
    return next((result for result, names in CLASS_NAMES if class_names & names), DriverError.ERROR)


def cause(error: BaseException) -> str:
    """Return what may be shown of an error: its class name and its SQLSTATE code, if it has one."""
    state = _sqlstate(error)
    return f"{type(error).__name__} {state}" if state else type(error).__name__


def _sqlstate(error: BaseException) -> str:
    state = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) and len(state) == SQLSTATE_LENGTH and state.isalnum() else ""
