from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.parsing import fields

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_nearest_name_is_the_cure() -> None:
    assert fields.nearest("RPN", ("rpm", "concurrency")) == "Did you mean 'rpm'?"
    assert fields.nearest("xyz", ("rpm", "tpm")) == "Valid are: rpm, tpm."


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (lambda: fields.mapping({"rpn": 1}, ("rpm",), "here"), "here: there is no setting 'rpn'. Did you mean 'rpm'?"),
        (lambda: fields.mapping({5: 1}, ("rpm",), "here"), "here: there is no setting '5'. Valid are: rpm."),
        (lambda: fields.mapping([], ("rpm",), "here"), "here: expected a mapping, got list. Valid keys are: rpm."),
        (
            lambda: fields.mapping("sk-secret", ("rpm",), "here"),
            "here: expected a mapping, got str. Valid keys are: rpm.",
        ),
        (lambda: fields.text(" ", "here"), "here: ' ' is not a text. Put it in quotes."),
        (lambda: fields.number("x", "here"), "here: 'x' is not a number. Write a number of at least 0."),
        (
            lambda: fields.number(value=False, where="here"),
            "here: False is not a number. Write a number of at least 0.",
        ),
        (lambda: fields.number("inf", "here"), "here: 'inf' is not a number. Write a number of at least 0."),
        (lambda: fields.number(10**400, "here"), "is not a number. Write a number of at least 0."),
        (lambda: fields.number(3, "here", most=1), "here: 3 is out of range. Write a number from 0 to 1."),
        (lambda: fields.positive("0", "here"), "here: must be above zero. Write a positive number, or leave it out."),
        (lambda: fields.integer(1.5, "here"), "here: 1.5 is not a whole number. Write one of at least 1."),
        (lambda: fields.integer(0, "here"), "here: 0 is out of range. Write a number of at least 1."),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_cure(read: Callable[[], object], told: str) -> None:
    with pytest.raises(MockConfigError) as refused:
        read()
    assert str(refused.value).endswith(told)


def test_what_is_right_is_returned() -> None:
    assert fields.mapping({"rpm": 1}, ("rpm", "tpm"), "here") == {"rpm": 1}
    assert fields.known("rpm", ("rpm",), "limit", "here") == "rpm"
    assert fields.text("a", "here") == "a"
    assert fields.number("1e3", "here") == 1000
    assert fields.positive(0.5, "here") == 0.5
    assert fields.integer(5.0, "here") == 5
