"""`evenkeel accounts --watch`: the table in place, and keys that control the selected account."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rich.console import Group
from rich.live import Live
from rich.text import Text

from evenkeel_lab.cli.accounts.keyboard import DOWN, UP, Keyboard, keyboard
from evenkeel_lab.cli.accounts.table import by_severity, page
from evenkeel_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from evenkeel_lab.proxy_admin_client import ProxyAdminClient

KEYS = {"p": "pause", "d": "drain", "r": "resume", "x": "release"}
HELP = "↑ ↓ select   p pause   d drain   r resume   x release   q quit"
# How long the result of an action is shown.
RESULT_SECONDS = 5.0


class Watch:
    """State of the watch: the selected account, and the result of the last action."""

    def __init__(self, admin: ProxyAdminClient, parameters: Mapping[str, Any]) -> None:
        self._admin, self._parameters = admin, parameters
        self.document = admin.get("/evenkeel/accounts", parameters)
        self.selected = ""
        self._pending = ""
        self._message, self._message_until = Text(), 0.0
        self.trouble = Text()

    @property
    def names(self) -> list[str]:
        """The accounts in the order of the table."""
        return [account["account"] for account in by_severity(self.document)]

    def refresh(self) -> None:
        """Read the accounts again. If the proxy does not answer, the last table stays."""
        try:
            self.document = self._admin.get("/evenkeel/accounts", self._parameters)
            self.trouble = Text()
        except LabError as error:
            self.trouble = Text(f"{error.what} {error.hint}", style="red")

    def press(self, key: str) -> bool:
        """Act on a key. Return whether the watch goes on."""
        if self._pending:
            action, self._pending = self._pending, ""
            if key == "y":
                self._act(action)
            return True
        if key in (UP, DOWN, "k", "j"):
            self._select(-1 if key in (UP, "k") else 1)
        elif key in KEYS and self.selected:
            self._pending = KEYS[key]
        return key != "q"

    def prompt(self) -> Text:
        """Return the line above the table: a question, the result of an action, or the keys."""
        if self._pending:
            return Text(f"{self._pending} {self.selected}?  y: yes, any other key: no", style="bold")
        if time.monotonic() < self._message_until:
            return self._message
        return Text(HELP, style="dim")

    def _select(self, step: int) -> None:
        names = self.names
        if not names:
            return
        position = names.index(self.selected) + step if self.selected in names else 0
        self.selected = names[min(max(position, 0), len(names) - 1)]

    def _act(self, action: str) -> None:
        try:
            done = self._admin.post(f"/evenkeel/accounts/{quote(self.selected, safe='')}/{action}")
            scope_note = "" if done["everywhere"] else ", in this worker only"
            self._message = Text(f"{action} {self.selected}: done{scope_note}", style="green")
        except LabError as error:
            self._message = Text(f"{error.what} {error.hint}", style="red")
        self._message_until = time.monotonic() + RESULT_SECONDS
        self.refresh()


def watch(admin: ProxyAdminClient, parameters: Mapping[str, Any], every: float, console: Console) -> None:
    """Show the accounts repeatedly until Ctrl-C: in place on a terminal, else one table below the other."""
    state = Watch(admin, parameters)
    try:
        if not console.is_terminal:
            while True:
                console.print(state.trouble or page(state.document, console.width))
                time.sleep(every)
                state.refresh()
        with keyboard() as keys, Live(console=console, auto_refresh=False) as live:
            _run(state, keys, live, every, console)
    except KeyboardInterrupt:
        return


def _run(state: Watch, keys: Keyboard, live: Live, every: float, console: Console) -> None:
    refresh_at = time.monotonic() + every
    while True:
        # Above the table, where no number of accounts can push it off the screen.
        above = [state.prompt() if keys.is_there else Text("Ctrl-C ends it", style="dim")]
        if state.trouble:
            above.append(state.trouble)
        shown = page(state.document, console.width, state.selected, console.height - len(above))
        live.update(Group(*above, shown), refresh=True)
        key = keys.read(max(refresh_at - time.monotonic(), 0.0))
        if key and not state.press(key):
            return
        if time.monotonic() >= refresh_at:
            state.refresh()
            refresh_at = time.monotonic() + every
