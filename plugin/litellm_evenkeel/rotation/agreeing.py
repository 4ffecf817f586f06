"""Whether settings that are right by themselves are right together."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.sticky_terms import SessionBackend
from litellm_evenkeel.rotation.terms import REDIS_SCHEMES

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.sticky_terms import AffinitySettings
    from litellm_evenkeel.rotation.terms import RotationSettings

SCHEMES = {SessionBackend.REDIS: REDIS_SCHEMES, SessionBackend.POSTGRES: ("postgresql://", "postgres://")}


def check_consistency(settings: RotationSettings, where: str) -> None:
    """Raise SettingsError for the first two that contradict each other; no address is shown."""
    if settings.holds.most < settings.holds.first:
        raise SettingsError(
            f"{where}.holds.most: {settings.holds.most:g}s is less than the first hold, {settings.holds.first:g}s. "
            f"Write {settings.holds.first:g}s or more, or a shorter {where}.holds.first."
        )
    if not settings.shared.prefix.strip():
        raise SettingsError(
            f"{where}.shared.prefix: this is empty, and would take other keys of that Redis for ours. "
            "Write such as evenkeel."
        )
    _address(settings.sticky, f"{where}.sticky")
    if settings.sticky.url is not None and settings.sticky.backend is SessionBackend.REDIS:
        _readable(settings.sticky.url, f"{where}.sticky.url")
    if settings.shared.redis_url is not None:
        _readable(settings.shared.redis_url.value, f"{where}.shared.redis_url")


def _readable(address: str, where: str) -> None:
    """Look at it before its client does, whose error shows what it takes for the port: a part of the password."""
    try:
        _ = urlsplit(address).port
    except ValueError:
        raise SettingsError(
            f"{where}: its host or its port cannot be read. Write such as redis://:PASSWORD@host:6379/0, and in the "
            "password %2F for /, %23 for #, %3F for ?, %40 for @."
        ) from None


def _address(settings: AffinitySettings, where: str) -> None:
    if settings.url is None:
        return
    schemes = SCHEMES.get(settings.backend)
    if schemes is None:
        raise SettingsError(
            f"{where}.url: pins in memory have no address. Write backend: redis or postgres, or leave out the url."
        )
    if not settings.url.startswith(schemes):
        raise SettingsError(
            f"{where}.url: this is no address of a {settings.backend}, which the backend is. "
            f"Let it begin with {' or '.join(schemes)}, or write another backend."
        )
