"""Parameters that a change of `lean` relies on."""

from __future__ import annotations

import pytest

from litellm_evenkeel.lean.parameters import require_parameters


def total(first: int, *, second: int = 0) -> int:
    return first + second


def test_parameters_that_a_function_has_are_accepted() -> None:
    require_parameters(total, "first", "second")


def test_an_error_names_those_that_it_lacks() -> None:
    with pytest.raises(ImportError, match=r"total\(\) has no parameter third, fourth"):
        require_parameters(total, "second", "third", "fourth")
