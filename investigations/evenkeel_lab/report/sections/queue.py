"""Section on queueing: measured latency beside queue models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import paragraph, table
from evenkeel_lab.stats import wording
from evenkeel_lab.stats.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import ReportData
    from evenkeel_lab.runner.results.queue_model import Point, Server

HEAD = ("arm", "users", "throughput", "mean latency [interval]", "in flight", "model by CPU time", "fitted model")


def queue(data: ReportData, pictures: Mapping[str, str]) -> str:
    """Return a table of the measured points and the predictions of both models."""
    if data.investigation.queue is None:
        return ""
    title = "## Queueing"
    queueing = data.queueing
    if queueing is None:
        return "\n\n".join([title, paragraph("There is no model: too few arms have valid runs.")])
    rows = [
        [*_measured(point), _model(queueing.measured, point), _model(queueing.fitted, point)]
        for point in queueing.points
    ]
    measured, fitted = queueing.measured, queueing.fitted
    method = (
        "The model is a closed queueing network (mean value analysis): users in a loop, one server that serves one at "
        "a time, and a delay without a queue. The first model is measured: its service time is a request's CPU time "
        f"on the saturated core ({_ms(measured.service)}), its delay is the rest of the latency with the fewest users "
        f"({_ms(measured.delay)}). The second model is fitted to all points: {_ms(fitted.service)} and "
        f"{_ms(fitted.delay)}. From {measured.knee:.1f} users on ({fitted.knee:.1f} by the fit), each request has to "
        "queue. By Little's law, throughput times latency is the number of requests in flight."
    )
    parts = [title, paragraph(method + data.invalid_note), table(HEAD, rows, set(HEAD[1:])), pictures.get("queue", "")]
    return "\n\n".join(filter(None, parts))


def _measured(point: Point) -> list[str]:
    return [
        point.arm,
        str(point.users),
        wording.size(METRICS["throughput"], point.throughput),
        f"{_ms(point.latency)} [{point.low:,.3g}, {point.high:,.3g}]",
        f"{point.in_system:.3g}",
    ]


def _model(server: Server, point: Point) -> str:
    latency = server.latency(point.users)
    return f"{_ms(latency)} ({latency / point.latency - 1:+.0%})"


def _ms(value: float) -> str:
    return wording.size(METRICS["mean"], value)
