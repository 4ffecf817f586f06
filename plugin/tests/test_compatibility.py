"""Which LiteLLM the plugin works with."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel import OLDEST_SUPPORTED, UnsupportedLiteLLM, Verdict, judge
from litellm_evenkeel.compatibility import BROKEN, NEWEST_TESTED, Broken, release, require

numbers = st.lists(st.integers(0, 300), min_size=3, max_size=3)


@pytest.mark.parametrize(
    ("version", "verdict"),
    [
        ("1.81.8", Verdict.TOO_OLD),
        ("1.82.7", Verdict.COMPROMISED),
        ("1.82.8", Verdict.COMPROMISED),
        ("1.82.7.0", Verdict.COMPROMISED),
        ("1.082.7", Verdict.COMPROMISED),
        ("1.82.08.0.0", Verdict.COMPROMISED),
        ("v1.82.7", Verdict.COMPROMISED),
        ("0!1.82.8", Verdict.COMPROMISED),
        ("1.82.7.post1", Verdict.COMPROMISED),
        ("1.82.7+local", Verdict.COMPROMISED),
        ("1.82.70", Verdict.TOO_OLD),
        ("1.99.9", Verdict.TOO_OLD),
        (OLDEST_SUPPORTED, Verdict.SUPPORTED),
        ("1.106.2", Verdict.SUPPORTED),
        ("1.106.2.post1", Verdict.SUPPORTED),
        ("2.0.0rc1", Verdict.SUPPORTED),
    ],
)
def test_verdicts(version: str, verdict: Verdict) -> None:
    assert judge(version) is verdict


@given(numbers, numbers)
def test_versions_are_ordered_by_their_numbers(one: list[int], two: list[int]) -> None:
    def text(parts: list[int]) -> str:
        return ".".join(map(str, parts))

    assert (release(text(one)) < release(text(two))) == (one < two)


@pytest.mark.parametrize(("version", "words"), [("1.81.8", "1.81.8 is too old"), ("1.82.7", "compromised")])
def test_a_refusal_names_the_version_and_the_cure(version: str, words: str) -> None:
    with pytest.raises(UnsupportedLiteLLM, match=words) as error:
        require(version)
    assert "nstall" in str(error.value)


KNOWN = (Broken("1.111.0", "1.111.3", "its router cannot be read"),)


@pytest.mark.parametrize(
    ("version", "verdict"),
    [
        ("1.110.9", Verdict.SUPPORTED),
        ("1.111.0", Verdict.BROKEN),
        ("1.111.2.post1", Verdict.BROKEN),
        ("1.111.3", Verdict.SUPPORTED),
    ],
)
def test_what_is_known_not_to_work_is_refused(version: str, verdict: Verdict) -> None:
    assert judge(version, KNOWN) is verdict
    if verdict is Verdict.BROKEN:
        with pytest.raises(
            UnsupportedLiteLLM, match=r"its router cannot be read\. Hint: install LiteLLM 1\.111\.3 or newer"
        ):
            require(version, KNOWN)


def test_no_version_that_was_tested_is_refused() -> None:
    assert judge(NEWEST_TESTED) is Verdict.SUPPORTED
    assert all(release(one.since) < release(one.until) for one in BROKEN)


@pytest.mark.parametrize("version", ["1.106.2", NEWEST_TESTED])
def test_a_supported_version_is_let_through(version: str, caplog: pytest.LogCaptureFixture) -> None:
    require(version)
    assert not caplog.records


def test_a_version_newer_than_any_tested_is_let_through_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(4):
        require("99.0.1")
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "99.0.1" in record.getMessage()
    assert NEWEST_TESTED in record.getMessage()


def test_what_is_no_version_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a version"):
        release("newest")
