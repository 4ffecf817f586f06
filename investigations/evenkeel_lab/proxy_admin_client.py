"""What a running proxy's plugin is asked: over HTTP, with an admin's key, and with a hint for whatever goes wrong."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
import httpx

from evenkeel_lab.errors import RigFailure, WrongUse
from evenkeel_load.errors import LoadConfigError
from evenkeel_load.http.address import address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFAULT_URL = "http://127.0.0.1:4000"
# As LiteLLM's own command line calls them; the last is what its proxy is started with.
URL_VARIABLE = "LITELLM_PROXY_URL"
KEY_VARIABLES = ("LITELLM_PROXY_API_KEY", "LITELLM_MASTER_KEY")
SECONDS = 10.0
CONFIG = '`callbacks: ["litellm_evenkeel.proxy.rotation"]` below `litellm_settings:`'
MOST_CHARACTERS = 300


def with_proxy(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say which proxy is asked."""
    told = f"The proxy's address.  [default: {URL_VARIABLE}, or {DEFAULT_URL}]"
    command = click.option(
        "--key",
        metavar="KEY",
        help=f"An admin's key; better in {' or '.join(KEY_VARIABLES)}, where no one else sees it.",
    )(command)
    return click.option("--url", metavar="URL", help=told)(command)


@dataclass(frozen=True, slots=True)
class Admin:
    """One proxy."""

    url: str
    key: str | None = field(repr=False)

    @classmethod
    def of(cls, url: str | None, key: str | None, environ: Mapping[str, str] = os.environ) -> Admin:
        """Return the proxy that options and environment name."""
        try:
            where = address(url or environ.get(URL_VARIABLE) or DEFAULT_URL)
        except LoadConfigError as error:
            hint = error.hint.replace("--api-key", "--key")
            raise WrongUse(error.what, hint=hint) from None
        key = key or next((environ[name] for name in KEY_VARIABLES if environ.get(name)), None)
        if key and not (key.isascii() and key.isprintable()):
            # What would be said of such a header shows the key.
            what = "The key has characters in it that no key has, such as the end of a line."
            raise WrongUse(what, hint=f"Give it anew, with --key or in {' or '.join(KEY_VARIABLES)}.")
        return cls(where, key)

    def get(self, path: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Ask, and return the answer."""
        return self._told("GET", path, parameters)

    def post(self, path: str) -> dict[str, Any]:
        """Have something done, and return what came of it."""
        return self._told("POST", path, {})

    @property
    def _is_here(self) -> bool:
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def _told(self, method: str, path: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            # Proxies between here and there are for what is elsewhere.
            with httpx.Client(timeout=SECONDS, trust_env=not self._is_here, headers=headers) as client:
                answer = client.request(method, f"{self.url}{path}", params=dict(parameters))
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise self._away(error) from None
        document = _read(answer)
        if answer.is_success and isinstance(document, dict) and "worker" in document:
            return document
        raise self._refused(answer, document)

    def _away(self, error: Exception) -> RigFailure:
        what = "has not answered in time" if isinstance(error, httpx.TimeoutException) else "cannot be reached"
        why = f" ({error})" if str(error) else ""
        return RigFailure(
            f"The proxy at {self.url} {what}{why}.",
            hint=f"Start it, or say where it is with --url or {URL_VARIABLE}.",
        )

    def _refused(self, answer: httpx.Response, document: Any) -> WrongUse | RigFailure:
        detail = document.get("detail") if isinstance(document, dict) else None
        names = " or ".join(KEY_VARIABLES)
        key_hint = f"Give an admin's, such as the master key, with --key or in {names}."
        if answer.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            what = "refuses the key: it is unknown, or no admin's" if self.key else "wants a key"
            return WrongUse(f"The proxy at {self.url} {what}.", hint=key_hint)
        if isinstance(detail, dict) and "error" in detail:
            return WrongUse(str(detail["error"]), hint=str(detail.get("hint", "")))
        if answer.status_code == httpx.codes.BAD_REQUEST and "No connected db" in answer.text:
            # How LiteLLM says of any key but its master key that it is unknown, when it has no database.
            return WrongUse(f"The proxy at {self.url} does not know the key, and has no database.", hint=key_hint)
        if answer.status_code == httpx.codes.NOT_FOUND or answer.is_success or answer.is_redirect:
            return WrongUse(
                f"At {self.url} there is no proxy with the rotation of litellm-evenkeel.",
                hint=f"Load it there with {CONFIG}, or say where it is with --url.",
            )
        return RigFailure(
            f"The proxy at {self.url} has answered {answer.status_code}.",
            hint="Its log says why.",
            details=answer.text[:MOST_CHARACTERS],
        )


def _read(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None
