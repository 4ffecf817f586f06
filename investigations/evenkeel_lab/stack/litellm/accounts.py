"""Accounts of the mock provider: its own settings for them, and the deployments of a proxy that uses them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# LiteLLM boots with 10,000 deployments in 80 s, of the 180 s after which a boot fails.
MAX_ACCOUNTS = 10_000
PLENTY_RPM = 1_000_000
GROUP_FORMS = ("model-{0}", "tenant-{0}/*", "org-{0}/project-{0}/chat")
# Requests per minute of the first eight accounts. Further accounts repeat them.
UNEQUAL_RPM = (260, 200, 170, 140, 120, 110, 100, 100)


@dataclass(frozen=True)
class Account:
    """One credential at the mock provider, and its limits."""

    name: str
    rpm: int
    quota: Mapping[str, Any] = field(default_factory=dict)
    """A quota window in addition to `rpm`, in the syntax of the mock's settings file; empty if there is none."""
    group: str = ""
    """The model group of its deployment; empty for the usual one."""

    @property
    def key(self) -> str:
        """Its API key. It is no secret, because only the mock accepts it."""
        return f"sk-mock-{self.name}"

    def mock_entry(self) -> dict[str, Any]:
        """Return the entry for the mock's settings."""
        windows = {"windows": [dict(self.quota)]} if self.quota else {}
        return {"name": self.name, "key": self.key, "rpm": self.rpm, **windows}

    def deployment(self, model: str, api_base: str) -> dict[str, Any]:
        """Return the entry for a proxy's `model_list`, with the limits that LiteLLM and the plugin each read.

        The quota is left out, because operators do not know the quota of a subscription either.
        """
        params = {"model": f"openai/{model}", "api_base": api_base, "api_key": self.key, "rpm": self.rpm}
        about = {"id": self.name, "account": self.name, "limits": {"rpm": self.rpm}}
        return {"model_name": self.group or model, "litellm_params": params, "model_info": about}


def unequal_accounts(count: int) -> tuple[Account, ...]:
    """Return `count` accounts with unequal limits."""
    return tuple(Account(f"account-{number + 1}", UNEQUAL_RPM[number % len(UNEQUAL_RPM)]) for number in range(count))


def unlimited_accounts(count: int, groups: int = 1) -> tuple[Account, ...]:
    """Return `count` accounts without a limit that a test could reach, in each of `groups` model groups.

    If there are several groups, every third one has a plain name, a wildcard (`tenant-2/*`), or a name with slashes.
    """
    names = [GROUP_FORMS[number % len(GROUP_FORMS)].format(number) for number in range(groups)] if groups > 1 else [""]
    return tuple(
        Account(f"account-{number}" if not name else f"account-{index}-{number}", PLENTY_RPM, group=name)
        for index, name in enumerate(names)
        for number in range(count)
    )


def mock_settings(accounts: Sequence[Account]) -> dict[str, Any]:
    """Return settings with which the mock accepts exactly `accounts`."""
    return {"accounts": [account.mock_entry() for account in accounts]}
