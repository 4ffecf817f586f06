"""HTTP client for the plugin's endpoints in a running proxy; every error has a hint."""

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
# The names that LiteLLM's own command line uses. LITELLM_MASTER_KEY is the variable of its proxy.
URL_VARIABLE = "LITELLM_PROXY_URL"
KEY_VARIABLES = ("LITELLM_PROXY_API_KEY", "LITELLM_MASTER_KEY")
ANSWER_SECONDS = 10.0
CONFIG = '`callbacks: ["litellm_evenkeel.proxy.rotation"]` below `litellm_settings:`'
MAX_DETAIL_CHARACTERS = 300


def proxy_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options `--url` and `--key` to `command`."""
    command = click.option(
        "--key",
        metavar="KEY",
        help=f"An admin's key; better in {' or '.join(KEY_VARIABLES)}, where no one else sees it.",
    )(command)
    return click.option(
        "--url", metavar="URL", help=f"The proxy's address.  [default: {URL_VARIABLE}, or {DEFAULT_URL}]"
    )(command)


@dataclass(frozen=True, slots=True)
class ProxyAdminClient:
    """A client of one proxy, with an admin's key."""

    url: str
    key: str | None = field(repr=False)

    @classmethod
    def from_options(
        cls, url: str | None, key: str | None, environ: Mapping[str, str] = os.environ
    ) -> ProxyAdminClient:
        """Return a client for the options `url` and `key`; the environment supplies what is `None`."""
        try:
            base_url = address(url or environ.get(URL_VARIABLE) or DEFAULT_URL)
        except LoadConfigError as error:
            hint = error.hint.replace("--api-key", "--key")
            raise WrongUse(error.what, hint=hint) from None
        key = key or next((environ[name] for name in KEY_VARIABLES if environ.get(name)), None)
        if key and not (key.isascii() and key.isprintable()):
            # httpx would refuse such a header with an error that shows the key.
            what = "The key has characters that a key cannot have, such as a line break."
            raise WrongUse(what, hint=f"Set it again, with --key or in {' or '.join(KEY_VARIABLES)}.")
        return cls(base_url, key)

    def get(self, path: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the document at `path`."""
        return self._request("GET", path, parameters)

    def post(self, path: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a POST request to `path` and return the answer."""
        return self._request("POST", path, parameters or {})

    @property
    def _is_local(self) -> bool:
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def _request(self, method: str, path: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            # The user's HTTP proxies cannot reach the loopback interface of this machine.
            with httpx.Client(timeout=ANSWER_SECONDS, trust_env=not self._is_local, headers=headers) as client:
                answer = client.request(method, f"{self.url}{path}", params=dict(parameters))
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise self._unreachable(error) from None
        document = _read(answer)
        if answer.is_success and isinstance(document, dict) and "worker" in document:
            return document
        raise self._refused(answer, document)

    def _unreachable(self, error: Exception) -> RigFailure:
        what = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "cannot be reached"
        reason = f" ({error})" if str(error) else ""
        return RigFailure(
            f"The proxy at {self.url} {what}{reason}.",
            hint=f"Start it, or set its address with --url or {URL_VARIABLE}.",
        )

    def _refused(self, answer: httpx.Response, document: Any) -> WrongUse | RigFailure:
        detail = document.get("detail") if isinstance(document, dict) else None
        names = " or ".join(KEY_VARIABLES)
        key_hint = f"Use an admin's key, such as the master key, with --key or in {names}."
        if answer.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            what = "refuses the key: it is unknown, or not an admin's" if self.key else "requires a key"
            return WrongUse(f"The proxy at {self.url} {what}.", hint=key_hint)
        if isinstance(detail, dict) and "error" in detail:
            return WrongUse(str(detail["error"]), hint=str(detail.get("hint", "")))
        if answer.status_code == httpx.codes.BAD_REQUEST and "No connected db" in answer.text:
            # Without a database, LiteLLM answers this for every key except its master key.
            return WrongUse(
                f"The proxy at {self.url} refuses the key: it has no database, so it accepts its master key only.",
                hint=key_hint,
            )
        if answer.status_code == httpx.codes.NOT_FOUND or answer.is_success or answer.is_redirect:
            return WrongUse(
                f"There is no proxy with the rotation of litellm-evenkeel at {self.url}.",
                hint=f"Load the rotation there with {CONFIG}, or set the address with --url.",
            )
        return RigFailure(
            f"The proxy at {self.url} answered {answer.status_code}.",
            hint="See its log for the cause.",
            details=answer.text[:MAX_DETAIL_CHARACTERS],
        )


def _read(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None
