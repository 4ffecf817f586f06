"""A queue: how long requests take, and how many are answered, the more users there are; and what a model says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import FixedLocator, NullLocator

from evenkeel_lab.formatting import counted
from evenkeel_lab.report.plots.scales import around, log_axis, said
from evenkeel_lab.report.plots.style import COLOURS, INK, LINES, figure, headline, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.queue_model import Queueing, Server

HEIGHT = 3.6


@styled
def queue(found: Queueing | None, judgement: Judgement) -> Figure | None:
    """Draw what was measured as marks with their intervals, and the models as lines."""
    if found is None:
        return None
    drawn = figure(HEIGHT)
    latency, throughput = drawn.subplots(1, 2)
    users = [one.users for one in found.points]
    every = range(users[0], users[-1] + 1)
    for axes, values, title in (
        (latency, [one.latency for one in found.points], "mean latency"),
        (throughput, [one.throughput for one in found.points], "answered in a second"),
    ):
        unit = "ms" if axes is latency else ""
        lines = {
            name: [server.latency(count) if axes is latency else server.throughput(count) for count in every]
            for name, server in _models(found).items()
        }
        for at, (name, line) in enumerate(lines.items()):
            axes.plot(every, line, color=COLOURS[at], linestyle=LINES[at], linewidth=1.6, label=name)
        axes.plot(users, values, color=INK, linestyle="none", marker="o", markersize=5, label="measured")
        _users(axes, users)
        log_axis(axes.yaxis, *around([*values, *(value for line in lines.values() for value in line)]), unit)
        axes.set_title(title)
    for one in found.points:
        latency.vlines(one.users, one.low, one.high, color=INK, linewidth=1.6)
    handles, labels = latency.get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=3, handlelength=3)
    headline(drawn, "The more users wait for their answers: measured, and as queues would have it", judgement)
    return drawn


def alt(found: Queueing | None) -> str:
    """Say it in words."""
    if found is None:
        return ""
    told = [
        f"{counted(one.users, 'user')} {said(float(f'{one.latency:.3g}'), 'ms')}"
        f" (a queue {said(float(f'{found.measured.latency(one.users):.3g}'), 'ms')})"
        for one in found.points
    ]
    return f"Mean latency by the number of users, and what a queue made of CPU time says: {', '.join(told)}"


def _models(found: Queueing) -> dict[str, Server]:
    return {"a queue made of CPU time": found.measured, "the queue that fits best": found.fitted}


def _users(axes: Axes, users: list[int]) -> None:
    axes.set(xscale="log", xlabel="users", xlim=(users[0] / 1.15, users[-1] * 1.15))
    axes.xaxis.set_major_locator(FixedLocator(users))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(users, [str(count) for count in users])
