from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.timing.distribution_syntax import parse
from evenkeel_mock.timing.distributions import (
    Capped,
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    Uniform,
)

if TYPE_CHECKING:
    from pathlib import Path

MIXTURE = Mixture((0.99, 0.01), (Lognormal(200, 0.5), Pareto(2000, 1.5)))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (200, Constant(200)),
        ("200", Constant(200)),
        ("1e+3", Constant(1000)),
        ("constant(200)", Constant(200)),
        ({"constant": 200}, Constant(200)),
        ({"constant": {"value": 200}}, Constant(200)),
        ("uniform(low=1, high=2)", Uniform(1, 2)),
        ("exponential(mean=30)", Exponential(30)),
        ("exponential(30)", Exponential(30)),
        (" lognormal( median=200 , sigma=0.5 ) ", Lognormal(200, 0.5)),
        ({"lognormal": {"median": 200, "sigma": 0.5}}, Lognormal(200, 0.5)),
        ("pareto(minimum=50,alpha=2,cap=5000)", Capped(Pareto(50, 2), 5000)),
        ({"pareto": {"minimum": 50, "alpha": 2, "cap": 5000}}, Capped(Pareto(50, 2), 5000)),
        ("gamma(shape=2,scale=1e+1)", Gamma(2, 10)),
        ("0.99*lognormal(median=200,sigma=0.5) + 0.01*pareto(minimum=2000,alpha=1.5)", MIXTURE),
        ("0.9*5 + 0.1*constant(50)", Mixture((0.9, 0.1), (Constant(5), Constant(50)))),
        (
            {
                "mixture": [
                    {"weight": 0.99, "lognormal": {"median": 200, "sigma": 0.5}},
                    {"weight": 0.01, "pareto": {"minimum": 2000, "alpha": 1.5}},
                ]
            },
            MIXTURE,
        ),
        ({"empirical": {"values": [3, 1, 2]}}, Empirical((0, 0.5, 1), (1, 2, 3))),
        ({"empirical": {"quantiles": {0: 1, 0.9: 5, 1: 50}}}, Empirical((0, 0.9, 1), (1, 5, 50))),
    ],
)
def test_what_is_written_is_meant(written: object, meant: Distribution) -> None:
    assert parse(written) == meant


@pytest.mark.parametrize(
    ("content", "meant"),
    [
        ("# measured in May\n3\n1\n\n2  # the middle\n", Empirical((0, 0.5, 1), (1, 2, 3))),
        ("0 1\n0.9,5\n1\t50\n", Empirical((0, 0.9, 1), (1, 5, 50))),
    ],
)
def test_an_empirical_file(content: str, meant: Distribution, tmp_path: Path) -> None:
    (tmp_path / "ttft.txt").write_text(content)
    assert parse(f"empirical(file={tmp_path}/ttft.txt)") == meant
    assert parse({"empirical": {"file": "anywhere"}}, read=lambda _: content) == meant


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("lognormal(median=200,sgima=0.5)", "sigma"),
        ("lognorm(median=200,sigma=0.5)", "lognormal"),
        ("lognormal(median=200)", "sigma"),
        ("lognormal(200, 0.5)", "no name"),
        ("lognormal(median=200,median=3,sigma=1)", "twice"),
        ("lognormal", "parentheses"),
        ("lognormal(median=2,sigma=1", "parentheses"),
        ("lognormal)median=2,sigma=1(", "parentheses"),
        ("lognormal(median=two,sigma=1)", "not a number"),
        ("constant(-3)", "at least 0"),
        ("0.9*5 + constant(50)", "no weight"),
        ("0*5 + 1*6", "above zero"),
        ("", "no distribution"),
        ("nan", "not a number"),
        (True, "not a number"),
        (None, "not a number"),
        ({}, "one key"),
        ({"lognormal": {}, "pareto": {}}, "one key"),
        ({"lognormal": 3}, "expected a mapping"),
        ({"mixture": []}, "no parts"),
        ({"mixture": {"weight": 1}}, "list"),
        ({"mixture": [{"constant": 5}]}, "no weight"),
        ("mixture(1)", "no name"),
        ({"empirical": {}}, "one of"),
        ({"empirical": {"values": []}}, "no numbers"),
        ({"empirical": {"values": "1 2"}}, "list"),
        ({"empirical": {"values": ["x"]}}, "not a number"),
        ({"empirical": {"quantiles": {0.5: 1, 1: 2}}}, "share 0"),
        ("empirical(file=/nowhere/at/all)", "/nowhere/at/all"),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_cure(written: object, told: str) -> None:
    with pytest.raises(MockConfigError) as refused:
        parse(written, "ttft_ms")
    assert told in str(refused.value)
    assert refused.value.hint


@given(st.text(alphabet="0123456789.*+(),=eabcdglmnopr ", max_size=40))
def test_no_text_is_worse_than_refused(written: str) -> None:
    with contextlib.suppress(MockConfigError):
        assert parse(written).at(0.5) >= 0
