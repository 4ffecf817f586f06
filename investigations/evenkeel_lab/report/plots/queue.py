"""Plot of latency and throughput by the number of users, measured and modelled as a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import FixedLocator, NullLocator

from evenkeel_lab.formatting import counted
from evenkeel_lab.report.plots.scales import around, log_axis, tick_label
from evenkeel_lab.report.plots.style import COLOURS, INK, LINES, figure, headline, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.queue_model import Queueing, Server

HEIGHT = 3.6


@styled
def queue(queueing: Queueing | None, judgement: Judgement) -> Figure | None:
    """Draw measured points with intervals, and the models as lines. Return `None` without points."""
    if queueing is None:
        return None
    drawn = figure(HEIGHT)
    latency, throughput = drawn.subplots(1, 2)
    users = [point.users for point in queueing.points]
    all_users = range(users[0], users[-1] + 1)
    for axes, values, title in (
        (latency, [point.latency for point in queueing.points], "mean latency"),
        (throughput, [point.throughput for point in queueing.points], "answered in a second"),
    ):
        unit = "ms" if axes is latency else ""
        lines = {
            name: [server.latency(number) if axes is latency else server.throughput(number) for number in all_users]
            for name, server in _models(queueing).items()
        }
        for at, (name, line) in enumerate(lines.items()):
            axes.plot(all_users, line, color=COLOURS[at], linestyle=LINES[at], linewidth=1.6, label=name)
        axes.plot(users, values, color=INK, linestyle="none", marker="o", markersize=5, label="measured")
        _users(axes, users)
        log_axis(axes.yaxis, *around([*values, *(value for line in lines.values() for value in line)]), unit)
        axes.set_title(title)
    for point in queueing.points:
        latency.vlines(point.users, point.low, point.high, color=INK, linewidth=1.6)
    handles, labels = latency.get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=3, handlelength=3)
    headline(drawn, "The more users wait for their answers: measured, and as queues would have it", judgement)
    return drawn


def alt(queueing: Queueing | None) -> str:
    """Return the alt text."""
    if queueing is None:
        return ""
    points = [
        f"{counted(point.users, 'user')} {tick_label(float(f'{point.latency:.3g}'), 'ms')}"
        f" (a queue {tick_label(float(f'{queueing.measured.latency(point.users):.3g}'), 'ms')})"
        for point in queueing.points
    ]
    return f"Mean latency by the number of users, and what a queue made of CPU time says: {', '.join(points)}"


def _models(queueing: Queueing) -> dict[str, Server]:
    return {"a queue made of CPU time": queueing.measured, "the queue that fits best": queueing.fitted}


def _users(axes: Axes, users: list[int]) -> None:
    axes.set(xscale="log", xlabel="users", xlim=(users[0] / 1.15, users[-1] * 1.15))
    axes.xaxis.set_major_locator(FixedLocator(users))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(users, [str(count) for count in users])
