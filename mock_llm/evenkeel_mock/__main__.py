"""`python -m evenkeel_mock`: the mock provider on loopback, alone."""

from evenkeel_mock.command import mock

if __name__ == "__main__":
    mock(prog_name="python -m evenkeel_mock")
