"""Classes of database and Redis errors that may be shown. A driver's own text may contain ids and addresses."""

from __future__ import annotations

from enum import StrEnum

# Classes of SQLSTATE codes, and whole codes, by prefix.
REFUSED_STATES = ("08", "53", "57P")
DENIED_STATES = ("28", "42501")
SCHEMA_STATES = ("42P01", "42703", "42883", "42804", "3D", "3F")
# A statement that took too long, or waited too long for a lock.
TIMEOUT_STATES = ("57014", "55P03", "25P03")
# Protocol violation: a server answers, but it does not speak Postgres. It would match "08" otherwise.
PROTOCOL_STATES = ("08P01",)
DENIED_NAMES = frozenset({"AuthenticationError", "AuthenticationWrongNumberOfArgsError", "NoPermissionError"})
TIMEOUT_NAMES = frozenset({"TimeoutError"})
REFUSED_NAMES = frozenset({"OSError", "ConnectionError", "MaxConnectionsError", "InterfaceError"})
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


def driver_error(error: BaseException) -> DriverError:
    """Return the class of a driver's error."""
    state = _sqlstate(error)
    if state:
        by_state = (
            (TIMEOUT_STATES, DriverError.TIMEOUT),
            (PROTOCOL_STATES, DriverError.ERROR),
            (DENIED_STATES, DriverError.DENIED),
            (SCHEMA_STATES, DriverError.SCHEMA),
            (REFUSED_STATES, DriverError.REFUSED),
        )
        return next((result for states, result in by_state if state.startswith(states)), DriverError.ERROR)
    class_names = {kind.__name__ for kind in type(error).__mro__}
    by_name = (
        (TIMEOUT_NAMES, DriverError.TIMEOUT),
        (DENIED_NAMES, DriverError.DENIED),
        (REFUSED_NAMES, DriverError.REFUSED),
    )
    return next((result for names, result in by_name if class_names & names), DriverError.ERROR)


def cause(error: BaseException) -> str:
    """Return what may be shown of an error: its class name and its SQLSTATE code, if it has one."""
    state = _sqlstate(error)
    return f"{type(error).__name__} {state}" if state else type(error).__name__


def _sqlstate(error: BaseException) -> str:
    state = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) and len(state) == SQLSTATE_LENGTH and state.isalnum() else ""
