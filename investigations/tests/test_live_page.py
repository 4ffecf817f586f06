"""The live page in a real browser: accounts, actions, the keyboard, a thousand accounts, and what a wrong key sees.

With EVENKEEL_SCREENSHOTS=docs/pictures, the test of both colour schemes writes the pictures of the documentation.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from admin_server import served
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium")

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
SCREENSHOTS = os.environ.get("EVENKEEL_SCREENSHOTS")
RECORD = {
    "time": 1_700_000_000_000_000,
    "status": 200,
    "latency": 0.512,
    "retries": 1,
    "account": "south",
    "model": "chat",
    "error": "",
    "reason": "strategy",
}
STORE = {"store": "sqlite", "written": 12_345, "waiting": 0, "dropped": 0, "trouble": ""}
PARTS: dict[str, Any] = {
    "budgets": {
        "enabled": True,
        "ok": True,
        "sources": {"postgres": "closed"},
        "lookup_failures": [],
        "statements": 12,
    },
    "metrics": {"enabled": True, "events": {"success": 2000}, "dropped": {}, "waiting": 0, "busy_seconds": 0.25},
    "journal": {
        "stores": [STORE],
        "recent": [RECORD, {**RECORD, "status": 429, "error": "RateLimitError <img src=x onerror=alert(1)>"}],
    },
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served(parts=PARTS) as url:
        yield url


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:
    yield from opened(browser, server)


def opened(browser: Browser, server: str, **options: Any) -> Iterator[Page]:
    """Open the page. Fail if its policy blocks anything, or its script raises an error."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB", **options)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(f"{server}/evenkeel/")
    yield page
    context.close()
    assert not [problem for problem in problems if "status of 4" not in problem]


def log_in(page: Page, key: str = "admin") -> None:
    page.get_by_label("Key of a proxy admin").fill(key)
    page.get_by_role("button", name="Show the accounts").click()


def test_the_admin_ui_can_contain_the_page(browser: Browser, server: str) -> None:
    page = browser.new_page()
    address = f"{server}/ui"
    frame = f'<iframe src="{server}/evenkeel/" style="width: 100%; height: 90vh"></iframe>'
    page.route(address, lambda route: route.fulfill(body=frame, content_type="text/html"))
    page.goto(address)
    inner = page.frame_locator("iframe")
    inner.get_by_label("Key of a proxy admin").fill("admin")
    inner.get_by_role("button", name="Show the accounts").click()
    expect(inner.locator("#rows tr")).to_have_count(3)
    page.close()


def test_accounts_are_shown_with_their_limits_the_gravest_first(page: Page) -> None:
    log_in(page)
    rows = page.locator("#rows tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("north")
    expect(rows.nth(0)).to_contain_text("cooling down 60 min")
    expect(rows.nth(0)).to_contain_text("out of quota")
    expect(rows.filter(has_text="south").get_by_role("meter", name="requests/1m left")).to_have_count(1)
    expect(page.locator("#tiles")).to_contain_text("2 of 3")
    expect(page.locator("#worker")).to_have_text("worker process 4711, one of 4")
    expect(page.locator("#parts")).to_contain_text("125 µs")
    expect(page.locator("#journal tbody tr")).to_have_count(2)
    expect(page.locator("#journal")).to_contain_text("<img src=x onerror=alert(1)>")


@pytest.mark.parametrize("key", ["user", "absent"])
def test_a_key_that_is_not_an_admins_sees_nothing_and_is_kept_nowhere(page: Page, key: str) -> None:
    log_in(page, key)
    expect(page.get_by_role("alert").first).not_to_be_empty()
    expect(page.locator("#content")).to_be_hidden()
    assert page.get_by_label("Key of a proxy admin").input_value() == ""
    assert page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0


def test_an_account_is_paused_by_keyboard_and_resumed(page: Page) -> None:
    log_in(page)
    page.locator("#rows tr").first.wait_for()
    page.keyboard.press("/")
    page.keyboard.type("south")
    expect(page.locator("#rows tr")).to_have_count(1)
    page.locator("#rows tr button.name").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="pause").focus()
    page.keyboard.press("Enter")
    page.get_by_label("End it by itself after").fill("2h")
    page.get_by_label("Reason").fill("key is replaced")
    page.keyboard.press("Enter")
    expect(page.locator("#rows")).to_contain_text("paused 2.0 h")
    expect(page.locator("#rows")).to_contain_text("key of admin: key is replaced")
    page.get_by_role("button", name="resume").click()
    page.get_by_role("button", name="Do it").click()
    expect(page.locator("#rows")).to_contain_text("healthy")


def test_a_viewers_key_sees_and_changes_nothing(page: Page) -> None:
    log_in(page, "viewer")
    page.get_by_role("button", name="south").click()
    page.get_by_role("button", name="pause").click()
    page.get_by_role("button", name="Do it").click()
    expect(page.locator("#action-error")).to_contain_text("admin")
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).to_be_hidden()


def test_a_wrong_value_is_explained_in_the_dialog(page: Page) -> None:
    log_in(page)
    page.get_by_role("button", name="east/west").click()
    page.get_by_role("button", name="weight").click()
    page.get_by_label("New value").fill("much")
    page.get_by_role("button", name="Do it").click()
    expect(page.locator("#action-error")).to_contain_text("a number above 0")


def test_the_next_pick_is_explained(page: Page) -> None:
    log_in(page)
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#verdict")).to_contain_text("picked")
    expect(page.locator("#candidates tbody tr")).to_have_count(3)
    expect(page.locator("#candidates")).to_contain_text("its cooldown ends in")


def test_logging_out_forgets_everything(page: Page) -> None:
    log_in(page)
    page.locator("#rows tr").first.wait_for()
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("#content")).to_be_hidden()
    expect(page.locator("#rows tr")).to_have_count(0)


def test_a_thousand_accounts_are_shown_and_filtered(browser: Browser) -> None:
    limits = {f"account-{number}": {"rpm": 100, "tpm": 50_000} for number in range(998)}
    with served({**limits, "north": None, "south": None}) as url:
        for page in opened(browser, url):
            log_in(page)
            expect(page.locator("#rows tr")).to_have_count(200, timeout=20_000)
            page.get_by_label("Filter").fill("account-99")
            expect(page.locator("#rows tr")).to_have_count(9)
            page.get_by_label("Filter").fill("")
            page.get_by_role("button", name="Show all").click()
            expect(page.locator("#rows tr")).to_have_count(1000)
            expect(page.locator("#shown")).to_have_text("1,000 of 1,000")


def test_the_page_connects_again_when_the_proxy_comes_back(browser: Browser) -> None:
    with served() as url:
        opening = opened(browser, url)
        page = next(opening)
        log_in(page)
        page.locator("#rows tr").first.wait_for()
        page.route("**/live", lambda route: route.abort())
        page.evaluate("void (connection.abort(), connect())")
        expect(page.locator("#status")).to_contain_text("not connected")
        page.unroute("**/live")
        expect(page.locator("#status")).to_contain_text("live", timeout=15_000)
        page.context.close()


def test_axe_finds_no_serious_barrier(browser: Browser, server: str) -> None:
    for page in opened(browser, server, bypass_csp=True):
        serious = barriers(page)
        log_in(page)
        page.get_by_role("button", name="south").click()
        page.get_by_role("button", name="Explain").click()
        page.locator("#candidates tbody tr").first.wait_for()
        serious += barriers(page)
        page.get_by_role("button", name="pause").click()
        assert not [*serious, *barriers(page)]


def barriers(page: Page) -> list[str]:
    violations = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['help']}" for each in violations if each["impact"] in {"serious", "critical"}]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible_in_both_colour_schemes(browser: Browser, server: str, scheme: str) -> None:
    for page in opened(browser, server, color_scheme=scheme):
        log_in(page)
        page.get_by_role("button", name="south").click()
        page.get_by_role("button", name="Explain").click()
        page.locator("#candidates tbody tr").first.wait_for()
        for selector in ("body", ".dim", ".healthy", ".cooling_down", ".name", "th", ".bad"):
            assert page.evaluate(CONTRAST, selector) >= 4.5, selector
        if SCREENSHOTS:
            Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
            time.sleep(0.2)
            page.screenshot(path=Path(SCREENSHOTS) / f"live-page-{scheme}.png", full_page=True)


# The contrast of an element's text and the background behind it, by the formula of WCAG 2.
CONTRAST = """selector => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((value) => value / 255)
    .map((value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((total, value, index) => total + value * [0.2126, 0.7152, 0.0722][index], 0);
  const element = document.querySelector(selector);
  let behind = element, back = [0, 0, 0, 0];
  while (behind && back[3] === 0) {
    back = parts(getComputedStyle(behind).backgroundColor);
    if (back.length === 3) back.push(1);
    behind = behind.parentElement;
  }
  const [one, other] = [light(parts(getComputedStyle(element).color)), light(back)].sort((a, b) => b - a);
  return (one + 0.05) / (other + 0.05);
}"""
