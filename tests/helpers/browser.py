"""A headless Chromium that looks at the page: Debian's, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")  # as distributions call it
# It is root in a container, has no screen, and is to ask nobody but the server that it is pointed at.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def binary() -> str | None:
    """Where Chromium is, if it is here."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def needed() -> bool:
    """Whether the tests of the page must run, wherever this is."""
    return os.environ.get("FEEMODEL_PEERS") == "1"


@contextmanager
def browsing() -> Iterator[Any]:
    """Chromium, until the block ends; without it the test is skipped, or fails where it is needed."""
    found = binary()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found = None
    if found is None:
        missing = "needs Chromium (Debian: chromium) and the Python package playwright"
        if needed():
            pytest.fail(f"{missing}, although FEEMODEL_PEERS is 1")
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """One page of the explorer, and what it did that it should not: errors, and requests to anybody else.

    Parameters
    ----------
    browser : of `browsing`.
    address : of the server.
    link : what follows it, with the `#`.
    context : of Playwright's `new_context`, such as `viewport` and `color_scheme`.
    """

    def __init__(self, browser: Any, address: str, link: str = "", **context: Any) -> None:
        self._context = browser.new_context(**context)
        self.page = self._context.new_page()
        self.address, self.errors, self.elsewhere = address, [], []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._asked)
        self.response = self.page.goto(f"{address}/{link}")
        self.page.locator("#fee-figure").filter(has_not_text="–").wait_for()
        self.settled()

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((f"{self.address}/", "data:", "blob:")):
            self.elsewhere.append(request.url)

    def settled(self) -> None:
        """Wait until the newest state is drawn."""
        self.page.evaluate(
            """async () => {
                while (round.busy || round.dirty) await new Promise((resolve) => setTimeout(resolve, 2));
            }"""
        )

    def told(self) -> None:
        """Wait until the pasted transaction is explained at the newest state, or refused."""
        self.page.evaluate(
            """async () => {
                while (asked.busy || asked.timer) await new Promise((resolve) => setTimeout(resolve, 2));
            }"""
        )

    def text(self, selector: str) -> str:
        """What stands there, white space made plain."""
        return " ".join(self.page.locator(selector).first.text_content().split())

    def answer(self) -> dict[str, Any]:
        """The answer of `feemodel_fee` that is shown."""
        found: dict[str, Any] = self.page.evaluate("shown.fee")
        return found

    def close(self) -> None:
        self._context.close()


def active_fields(tab):
    return tab.page.evaluate("activeFields().map(({ name }) => name)")


def filmed(tab):
    """Wait until the film that was asked for last is shown."""
    tab.page.locator("#film-shown").wait_for(timeout=120_000)
    tab.page.evaluate("async () => { while (reel.busy) await new Promise((resolve) => setTimeout(resolve, 5)); }")


def followed(tab):
    """Wait until the fee over time is that of the newest state."""
    tab.page.locator("#past-card").scroll_into_view_if_needed()
    tab.page.evaluate(
        """async () => {
            while (!past.answer || past.busy || past.timer) await new Promise((resolve) => setTimeout(resolve, 5));
        }"""
    )


def tried(tab):
    """Wait until the methods are there, and nothing is being tried."""
    tab.page.locator("#try-card").scroll_into_view_if_needed()
    tab.page.evaluate(
        "async () => { while (!trial.methods || trial.busy) await new Promise((resolve) => setTimeout(resolve, 5)); }"
    )
