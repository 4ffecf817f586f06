"""The table of a running proxy's accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

STYLES = {
    "paused": "bold magenta",
    "quarantined": "bold red",
    "cooling_down": "red",
    "draining": "magenta",
    "probing": "yellow",
    "ramping_up": "yellow",
    "healthy": "green",
}
STATES = tuple(STYLES)
MINUTE, HOUR, DAY = 60, 3600, 86_400
# A narrower terminal has the reasons of cooldowns below the table.
WIDE = 100
LOW, SOON_SECONDS = 0.1, 60
# The heading, and the line below the table.
FIXED_LINES = 2


def by_severity(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the accounts of an answer, those with the least traffic first."""
    return sorted(document["accounts"], key=lambda account: (STATES.index(account["state"]), account["account"]))


def page(document: Mapping[str, Any], width: int, selected: str = "", height: int | None = None) -> RenderableType:
    """Return the table of an answer. The account `selected` is highlighted.

    With a `height`, as many accounts are shown as fit into these lines, the selected one among them.
    """
    listed = by_severity(document)
    total = len(listed)
    if height is not None:
        listed = _within(listed, selected, height - FIXED_LINES, with_reasons=width < WIDE)
    if not listed:
        nothing = "no such account" if document.get("models") else "no accounts yet: the first request makes them known"
        return Group(Text(nothing), Text(_footer(document, 0), style="dim"))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("account", no_wrap=True, overflow="ellipsis", max_width=24 if width >= WIDE else 18)
    table.add_column("state", no_wrap=True)
    for title in ("busy", "latency"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("limit", no_wrap=True)
    for title in ("left", "out in", "picks", "failed"):
        table.add_column(title, justify="right", no_wrap=True)
    if width >= WIDE:
        table.add_column("reason", overflow="ellipsis", no_wrap=True)
    for account in listed:
        for row in _rows(account):
            table.add_row(*row[: len(table.columns)], style="reverse" if account["account"] == selected else None)
    reasons = [] if width >= WIDE else [*_reasons(listed)]
    rest = f" · {total - len(listed)} do not fit" if total > len(listed) else ""
    return Group(table, *reasons, Text(_footer(document, len(listed)) + rest, style="dim"))


def _within(
    listed: Sequence[Mapping[str, Any]], selected: str, lines: int, *, with_reasons: bool
) -> list[Mapping[str, Any]]:
    """Return the accounts that fit into `lines`: the first ones, or those up to the selected one."""
    sizes = [len([*_rows(account)]) + (len([*_reasons([account])]) if with_reasons else 0) for account in listed]
    names = [account["account"] for account in listed]
    position = names.index(selected) if selected in names else 0
    first = 0
    while first < position and sum(sizes[first : position + 1]) > lines:
        first += 1
    end = first
    while end < len(listed) and sum(sizes[first : end + 1]) <= lines:
        end += 1
    return list(listed[first : max(end, first + 1)])


def _reasons(listed: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """Yield a line with the reason of each cooldown, for terminals without a column for it."""
    for account in listed:
        for name, scope in ((account["account"], account), *((model["model"], model) for model in account["models"])):
            reason = _reason(scope)
            if reason:
                yield Text(f"{name}: {reason}", style="dim", overflow="ellipsis", no_wrap=True)


def span(seconds: float | None) -> str:
    """Return a duration in a few characters."""
    if seconds is None:
        return ""
    for size, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "m")):
        if seconds >= size:
            return f"{seconds / size:.1f}{unit}" if seconds < 10 * size else f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s" if seconds >= 1 else f"{seconds * 1000:.0f}ms"


def _rows(account: Mapping[str, Any]) -> Iterator[list[Text]]:
    picks, failed = sum(account["picks"].values()), sum(account["failures"].values())
    yield from _scope(account["account"], account, picks, failed)
    for model in account["models"]:
        if model["windows"] or model["state"] != "healthy":
            yield from _scope(f"  {model['model']}", model, None, None)


def _scope(name: str, scope: Mapping[str, Any], picks: int | None, failed: int | None) -> Iterator[list[Text]]:
    """Yield a row with the first limit, and one more for each other limit."""
    windows = scope["windows"] or [None]
    for number, window in enumerate(windows):
        first = number == 0
        yield [
            Text(name if first else ""),
            _state(scope) if first else Text(),
            Text(_in_flight(scope) if first else ""),
            Text(span(scope["latency_seconds"]) if first else ""),
            Text(window["name"] if window else ""),
            _remaining(window),
            _exhausted_in(window),
            Text(f"{picks:,}" if first and picks is not None else ""),
            Text(f"{failed:,}" if first and failed else ""),
            Text(_reason(scope) if first else ""),
        ]


def _state(scope: Mapping[str, Any]) -> Text:
    state = scope["state"]
    texts = {
        "cooling_down": f"cooling {span(scope['cooldown_seconds'])}",
        "ramping_up": f"ramping {scope['traffic_share']:.0%}",
        **{traffic["value"]: f"{traffic['value']} {span(traffic['ends_in_seconds'])}" for traffic in _traffic(scope)},
    }
    return Text(texts.get(state, state).strip(), style=STYLES.get(state, ""))


def _traffic(scope: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the control of an account's traffic, if an operator has put one in force."""
    return [control for control in scope.get("controls", ()) if control["kind"] == "traffic"]


def _reason(scope: Mapping[str, Any]) -> str:
    """Return why an account takes less traffic: the rule that its failure matched, and what an operator wrote."""
    written = [f"{control['by']}: {control['reason'] or control['value']}" for control in _traffic(scope)]
    return "; ".join([*written, *([scope["reason"]] if scope["reason"] else [])])


def _in_flight(scope: Mapping[str, Any]) -> str:
    return f"{scope['in_flight']}/{scope['concurrent']}" if scope["concurrent"] is not None else f"{scope['in_flight']}"


def _remaining(window: Mapping[str, Any] | None) -> Text:
    if window is None:
        return Text()
    remaining = 1 - window["used_share"]
    return Text(f"{remaining:.0%}", style="red" if remaining < LOW else "")


def _exhausted_in(window: Mapping[str, Any] | None) -> Text:
    seconds = window["exhausted_in_seconds"] if window else None
    if seconds is None:
        return Text()
    return Text(span(seconds), style="yellow" if seconds < SOON_SECONDS else "")


def _footer(document: Mapping[str, Any], shown: int) -> str:
    worker, sessions = document["worker"], document["sessions"]
    many = f", one of {worker['workers']}" if worker["workers"] else ""
    parts = [f"{shown} of {document['total']} accounts", f"worker process {worker['pid']}{many}"]
    if worker["shared"] is not None:
        parts.append("state shared" if worker["shared"] else "SHARED STATE CUT OFF")
    queued = sum(document["queued"].values())
    parts += [f"{queued} in the queue"] if queued else []
    parts.append(f"{sessions['pins']:,} pins")
    return " · ".join(parts)
