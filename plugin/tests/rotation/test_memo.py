from __future__ import annotations

import pytest

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation import memo as module
from litellm_evenkeel.rotation.limits import Limits
from litellm_evenkeel.rotation.memo import ParsedSettings


def test_what_is_written_alike_is_read_once() -> None:
    memo = ParsedSettings(Limits.of)
    one = memo.parse({"rpm": 5, "windows": [{"for": "5h", "tokens": 7}]}, "here")
    assert memo.parse({"rpm": 5, "windows": [{"for": "5h", "tokens": 7}]}, "there") is one


def test_what_only_resembles_it_is_something_else() -> None:
    memo: ParsedSettings[object] = ParsedSettings(lambda told, _: [told])
    read = [memo.parse({"rpm": told}, "") for told in (1, True, "1", 1.0)]
    assert [str(one) for one in read] == ["[{'rpm': 1}]", "[{'rpm': True}]", "[{'rpm': '1'}]", "[{'rpm': 1.0}]"]


def test_what_is_wrong_is_so_each_time_and_where_it_stands_is_named() -> None:
    memo = ParsedSettings(Limits.of)
    for where in ("here", "there"):
        with pytest.raises(SettingsError, match=where):
            memo.parse({"rpms": 5}, where)


def test_not_everything_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    read: list[object] = []

    def reads(told: object, _: str) -> int:
        read.append(told)
        return len(read)

    memo = ParsedSettings(reads)
    for told in (1, 2, 3, 4, 4, 1):
        memo.parse(told, "")
    assert read == [1, 2, 3, 4, 1]
