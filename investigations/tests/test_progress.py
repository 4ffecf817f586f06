"""Steps under way, on a terminal and in a log."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from evenkeel_lab.progress import Lines, Silent, Spinners, shown_on


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=80, color_system=None)


def printed(on: Console) -> str:
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


def test_a_log_has_a_line_at_the_beginning_and_at_the_end_of_a_step() -> None:
    log = console(terminal=False)
    steps = shown_on(log)
    assert isinstance(steps, Lines)
    with steps.step("hoisting"):
        assert printed(log) == "... hoisting\n"
    assert printed(log).startswith("... hoisting\nok  hoisting (0.0 s)")


def test_a_terminal_keeps_a_line_for_each_successful_step() -> None:
    terminal = console(terminal=True)
    steps = shown_on(terminal)
    assert isinstance(steps, Spinners)
    with steps.step("outer"), steps.step("inner"):
        pass
    assert printed(terminal).count("ok  inner") == printed(terminal).count("ok  outer") == 1


@pytest.mark.parametrize("terminal", [True, False])
def test_a_failed_step_has_no_ok_line(terminal: bool) -> None:  # noqa: FBT001
    shown = console(terminal=terminal)

    def fail() -> None:
        with shown_on(shown).step("sinking"):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert "ok" not in printed(shown)


def test_silent_progress_prints_nothing() -> None:
    with Silent().step("anything"):
        pass
