"""The live page as an HTTP response. It contains no data and no secret, so it needs no key."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources

# The browser runs only the script and the style that the page is shipped with, and connects only to the proxy. Only
# pages of the proxy, such as LiteLLM's admin UI, may contain the page.
POLICY = (
    "default-src 'none'; connect-src 'self'; script-src {script}; style-src {style}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


def page() -> tuple[bytes, dict[str, str]]:
    """Return the page and its headers."""
    html = resources.files(__package__).joinpath("page.html").read_bytes()
    headers = {
        "content-security-policy": POLICY.format(script=_hash_of(html, b"script"), style=_hash_of(html, b"style")),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }
    return html, headers


def _hash_of(html: bytes, element: bytes) -> str:
    """Return the hash by which the policy allows the page's only element of this name."""
    (content,) = re.findall(b"<%b>(.*?)</%b>" % (element, element), html, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"
