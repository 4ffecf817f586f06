"""The live page as it is served."""

from __future__ import annotations

import base64
import hashlib
import re

from litellm_evenkeel.admin.live.page import page


def test_the_policy_allows_only_what_the_page_is_shipped_with() -> None:
    html, headers = page()
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for element in (b"script", b"style"):
        (content,) = re.findall(b"<%b>(.*?)</%b>" % (element, element), html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        assert f"{element.decode()}-src 'sha256-{digest}'" in policy


def test_the_page_loads_nothing_and_has_no_inline_handlers_or_styles() -> None:
    text = page()[0].decode()
    assert not re.findall(r"""(?:src|href)=|url\(|@import|https?://|\son[a-z]+=["']|\sstyle=""", text)
    assert "localStorage" not in text
    assert "sessionStorage" not in text
    assert "innerHTML" not in text
