from __future__ import annotations

from evenkeel_mock.errors import BadRequest, MockConfigError, MockError


def test_a_setting_that_cannot_be_tells_its_cure() -> None:
    error = MockConfigError("rpm: 'x' is not a number.", hint="Write a number.")
    assert (error.what, error.hint) == ("rpm: 'x' is not a number.", "Write a number.")
    assert str(error) == "rpm: 'x' is not a number. Write a number."
    assert str(MockConfigError("Only what.")) == "Only what."


def test_a_bad_request_carries_what_a_provider_tells() -> None:
    error = BadRequest(400, "no model", "model", "missing")
    assert (error.status, error.message, error.param, error.code) == (400, "no model", "model", "missing")
    assert isinstance(error, MockError)
    assert isinstance(MockConfigError(""), MockError)
