from __future__ import annotations

import math

from hypothesis import given, strategies as st

from litellm_evenkeel.rotation.selection.snapshot import Snapshot

weights = st.sampled_from([0.0, 0.5, 1.0, 3.0])
seen = st.tuples(weights, st.sampled_from([math.inf, 5.0, 9.0]))


@given(st.lists(st.tuples(seen, st.integers(1, 3)), max_size=20), st.data())
def test_patched_it_is_as_if_made_anew(candidates: list, data: st.DataObject) -> None:
    standing: dict[int, list[int]] = {}
    for position, (_, priority) in enumerate(candidates):
        standing.setdefault(priority, []).append(position)
    before = [one for one, _ in candidates]
    changed = data.draw(st.dictionaries(st.sampled_from(range(len(before))), seen)) if before else {}
    after = [changed.get(position, one) for position, one in enumerate(before)]

    def made(of: list) -> Snapshot:
        return Snapshot.build(1.0, [weight for weight, _ in of], [opens for _, opens in of], standing)

    assert made(before).patched(changed, standing) == made(after)


def test_tiers_hold_those_that_are_open_the_first_first() -> None:
    snapshot = Snapshot.build(
        1.0, [1.0, 0.0, 2.0, 0.5], [math.inf, 7.0, math.inf, math.inf], {2: [0, 3], 1: [1], 3: [2]}
    )
    assert [(level.priority, level.positions, level.cumulative_weights) for level in snapshot.levels] == [
        (2, (0, 3), (1.0, 1.5)),
        (3, (2,), (2.0,)),
    ]
    assert snapshot.next_reopening == 7.0


def test_nobody_is_no_trouble() -> None:
    snapshot = Snapshot.build(1.0, (), (), {})
    assert snapshot.levels == ()
    assert snapshot.next_reopening == math.inf
