"""An account is a credential, and never shows it."""

from __future__ import annotations

from hypothesis import given, strategies as st

from litellm_evenkeel import Account

# Half a surrogate pair too: a YAML may hold one, and it must not take a request down.
texts = st.text(st.characters(codec=None) | st.sampled_from("\ud83d\ude00"), max_size=20)


@given(texts, texts, texts, texts)
def test_accounts_are_the_same_exactly_when_address_and_key_are(
    base: str, key: str, other_base: str, other_key: str
) -> None:
    one = Account.from_deployment({"api_base": base, "api_key": key, "model": "openai/a"})
    two = Account.from_deployment({"api_base": other_base, "api_key": other_key, "model": "openai/b"})
    assert (one == two) == ((base, key) == (other_base, other_key))


@given(st.text(min_size=13, max_size=60))
def test_the_key_is_in_no_rendering(key: str) -> None:
    account = Account.from_deployment({"api_base": "https://api.example.com", "api_key": key})
    assert key not in repr(account) + str(account) + account.name


def test_a_name_given_by_the_operator_wins() -> None:
    assert Account.from_deployment({"api_key": "k"}, {"account": "team-blue"}) == Account("team-blue")
    assert Account.from_deployment({"api_key": "k"}, {"account": ""}) == Account.from_deployment({"api_key": "k"})


def test_what_is_absent_counts_as_empty() -> None:
    assert Account.from_deployment({}) == Account.from_deployment({"api_base": None, "api_key": ""}, None)


def test_without_a_key_providers_and_their_credentials_are_accounts_of_their_own() -> None:
    told = [
        {"model": "bedrock/a", "aws_profile_name": "blue"},
        {"model": "bedrock/a", "aws_profile_name": "red"},
        {"model": "vertex_ai/a", "vertex_project": "blue"},
        {"model": "openai/a"},
        {"model": "openai/a", "organization": "blue"},
        {"model": "openai/a", "litellm_credential_name": "blue"},
    ]
    assert len({Account.from_deployment(params) for params in told}) == len(told)
    assert Account.from_deployment({"model": "openai/a"}) == Account.from_deployment({"model": "openai/b"})
