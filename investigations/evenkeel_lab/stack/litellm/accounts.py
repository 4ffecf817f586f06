"""Accounts of the mock provider, as the provider knows them and as a proxy is told of them: the same on both sides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_ACCOUNTS = 100
PLENTY_RPM = 1_000_000
GROUP_FORMS = ("model-{0}", "tenant-{0}/*", "org-{0}/project-{0}/chat")
# Requests a minute; from the ninth account on they come again.
UNEQUAL_RPM = (260, 200, 170, 140, 120, 110, 100, 100)


@dataclass(frozen=True)
class Account:
    """One key of the provider's, and what it may do."""

    name: str
    rpm: int
    quota: Mapping[str, Any] = field(default_factory=dict)
    """A window beside its minute, as the mock's settings file has them."""
    group: str = ""
    """The model name that clients know it by, if it is not the usual one."""

    @property
    def key(self) -> str:
        """Its API key, which is no secret: nothing but the mock knows it."""
        return f"sk-mock-{self.name}"

    def provided(self) -> dict[str, Any]:
        """Return it for the mock's settings."""
        windows = {"windows": [dict(self.quota)]} if self.quota else {}
        return {"name": self.name, "key": self.key, "rpm": self.rpm, **windows}

    def deployment(self, model: str, api_base: str) -> dict[str, Any]:
        """Return it for a proxy's `model_list`, with the limits that LiteLLM and the plugin each read.

        Of a quota nobody is told beforehand: operators do not know how much is in a subscription.
        """
        params = {"model": f"openai/{model}", "api_base": api_base, "api_key": self.key, "rpm": self.rpm}
        about = {"id": self.name, "account": self.name, "limits": {"rpm": self.rpm}}
        return {"model_name": self.group or model, "litellm_params": params, "model_info": about}


def unequal(count: int) -> tuple[Account, ...]:
    """Return so many accounts of unequal limits."""
    return tuple(Account(f"account-{number + 1}", UNEQUAL_RPM[number % len(UNEQUAL_RPM)]) for number in range(count))


def fleet(count: int, groups: int = 1) -> tuple[Account, ...]:
    """Return so many accounts that may do as much as is asked of them, in each of so many model groups.

    Of several groups, one in three has a plain name, one in three a name that stands for others (`tenant-2/*`), and one
    in three a name of several parts.
    """
    names = [GROUP_FORMS[number % len(GROUP_FORMS)].format(number) for number in range(groups)] if groups > 1 else [""]
    return tuple(
        Account(f"account-{number}" if not name else f"account-{place}-{number}", PLENTY_RPM, group=name)
        for place, name in enumerate(names)
        for number in range(count)
    )


def provider(accounts: Sequence[Account]) -> dict[str, Any]:
    """Return the mock's settings that make them all there are."""
    return {"accounts": [account.provided() for account in accounts]}
