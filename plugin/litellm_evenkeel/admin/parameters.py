"""Parameters of requests to the admin API. Each function raises AdminRequestError for an invalid one."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.errors import AdminRequestError
from litellm_evenkeel.rotation.inspection.account_status import AccountState
from litellm_evenkeel.support import durations, formatting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_CHARACTERS = 512
DEFAULT_ACCOUNTS, MAX_ACCOUNTS = 1000, 10_000
MAX_LIST_ITEMS = 1000
MAX_SUGGESTIONS = 5
# Former names of states and parameters.
RENAMED = {"open": "healthy", "held": "cooling_down", "ramping": "ramping_up", "tried": "excluded"}
TRUE_WORDS, FALSE_WORDS = frozenset({"true", "1", "on", "yes"}), frozenset({"false", "0", "off", "no", ""})


def reject_unknown(parameters: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise an error for a parameter that is not among `names`."""
    for name in parameters:
        if name not in names:
            raise AdminRequestError(f"There is no parameter {str(name)[:40]!r}.", suggestion(str(name), names))


def parse_text(value: object, name: str) -> str:
    """Return a text; empty if it is missing."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_CHARACTERS:
        raise AdminRequestError(
            f"{name}: expected one text of up to {MAX_CHARACTERS} characters.", f"Write {name}=TEXT, once."
        )
    return value.strip()


def parse_texts(value: object, name: str) -> list[str]:
    """Return the texts of a list, or of a text with commas."""
    items = value if isinstance(value, list | tuple) else [value]
    if len(items) > MAX_LIST_ITEMS:
        raise AdminRequestError(
            f"{name}: expected up to {MAX_LIST_ITEMS} values, got {len(items)}.", "Write fewer of them."
        )
    return [part.strip() for item in items for part in parse_text(item, name).split(",") if part.strip()]


def parse_integer(value: object, name: str, default: int, maximum: int) -> int:
    """Return a whole number from 1 to `maximum`; `default` if it is missing."""
    if value is None:
        return default
    amount = durations.number(value)
    if not amount or amount != int(amount) or amount > maximum:
        raise AdminRequestError(
            f"{name}: expected a whole number from 1 to {maximum}, got {str(value)[:40]!r}.",
            f"Write a number such as {name}={default}.",
        )
    return int(amount)


def parse_state(value: object) -> AccountState | None:
    """Return the state of accounts; `None` if it is missing."""
    name = parse_text(value, "state")
    if not name:
        return None
    if name not in list(AccountState):
        raise AdminRequestError(f"state: there is no state {name[:40]!r}.", suggestion(name, list(AccountState)))
    return AccountState(name)


def parse_flag(value: object, name: str) -> bool:
    """Return a switch; false if it is missing."""
    word = str(value).lower() if isinstance(value, bool) else parse_text(value, name).lower()
    if word not in TRUE_WORDS | FALSE_WORDS:
        raise AdminRequestError(f"{name}: expected true or false, got {word[:40]!r}.", f"Write {name}=true.")
    return word in TRUE_WORDS


def suggestion(name: str, existing: Sequence[str]) -> str:
    """Return a hint that names what a wrong name may mean."""
    renamed = RENAMED.get(name)
    if renamed in existing:
        return f"It was renamed: write {renamed}."
    close = get_close_matches(name, existing, n=1, cutoff=0.5)
    if close:
        return f"Did you mean {close[0]}?"
    return f"There are {formatting.names(existing, MAX_SUGGESTIONS)}."
