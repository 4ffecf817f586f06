"""Growth of memory, files and tasks during a soak."""

from __future__ import annotations

from evenkeel_lab.chaos.soak import growths


def test_growth_during_the_warm_up_does_not_count() -> None:
    samples = [
        {"minutes": number / 10, "memory, MiB": 500.0 + min(number, 20), "leak": 10.0 + number, "rare": 1.0}
        for number in range(120)
    ]
    del samples[-1]["rare"]
    found = {growth.what: growth for growth in growths(samples)}
    assert found["leak"].is_rising
    assert not found["memory, MiB"].is_rising
    assert set(found) == {"leak", "memory, MiB", "rare"}
