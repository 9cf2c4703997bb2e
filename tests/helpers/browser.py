"""A headless Chromium that looks at the page: Debian's, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.helpers.anvil import needed

NAMES = ("chromium", "chromium-browser", "google-chrome")  # as distributions call it
# It is root in a container, has no screen, and is to ask nobody but the server that it is pointed at.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def binary() -> str | None:
    """Where Chromium is, if it is here."""
    return next(filter(None, map(shutil.which, NAMES)), None)


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
        self._responses: list[Any] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._asked)
        self.page.on("response", lambda response: self._responses.append(response))
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
        """Wait until every card shows the newest state."""
        self.page.locator("[aria-busy=true]").first.wait_for(state="detached", timeout=120_000)

    def text(self, selector: str) -> str:
        """What stands there, white space made plain."""
        return " ".join(self.page.locator(selector).first.text_content().split())

    def answer(self, method: str = "feemodel_fee") -> dict[str, Any]:
        """Return the newest answer of the server to a method, or of the curve, for the chosen inputs."""
        self.settled()
        for response in reversed(self._responses):
            if response.request.method == "POST":
                calls = response.request.post_data_json
                names = ["curve" if len(one["params"]) == 3 else one["method"] for one in calls]
                call = calls[names.index(method)] if method in names else None
                if call is not None:
                    found: dict[str, Any] = next(one for one in response.json() if one["id"] == call["id"])["result"]
                    return found
        raise AssertionError(f"{method} was not asked")

    def link(self) -> str:
        """Return the state of the page, as its link holds it."""
        self.page.wait_for_timeout(400)  # the address follows a quarter of a second later
        return str(self.page.evaluate("location.hash"))

    def explain(self, subject: str = "", **inputs: str) -> None:
        """Fill inputs of the transaction, and wait until it is explained or refused."""
        for name, value in {"subject": subject, **inputs}.items():
            self.page.locator(f"#{name}").fill(value)
        self.page.get_by_role("button", name="Explain", exact=True).click()
        self.settled()

    def example(self, name: str) -> None:
        """Explain one of the page's examples."""
        self.page.locator(f"[data-example={name}]").click()
        self.settled()

    def fields(self) -> list[str]:
        """Return the names of the fields that have a control now."""
        self.page.locator("#more").evaluate("(details) => { details.open = true; }")
        return [str(one.get_attribute("name")) for one in self.page.locator(".control input[name]:enabled").all()]

    def slider(self, name: str) -> Any:
        """Return the slider of a field."""
        return self.page.locator(f".control[data-name={name}] input[type=range]")

    def close(self) -> None:
        self._context.close()
