"""The explorer's page for everybody: axe, names and keyboard, light and dark, phones."""

import json

import pytest

from tests.helpers.anvil import PEERS
from tests.server.wire import NOBODY
from tests.system.clients import require


@pytest.mark.parametrize(
    "context",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}},
     {"viewport": {"width": 320, "height": 640}, "color_scheme": "dark"}],
    ids=str,
)  # fmt: skip
def test_axe_finds_nothing(open_tab, context):
    """Before use and after it: everything opened, refused, warned of and answered at least once."""
    axe = PEERS / "node_modules" / "axe-core" / "axe.min.js"
    require(axe)
    tab = open_tab("#margin=0.3", **context)
    tab.page.evaluate(axe.read_text(encoding="utf-8"))
    found = """async () => (await axe.run()).violations.map(
        ({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))])"""
    assert tab.page.evaluate(found) == []
    tab.explain(json.dumps({"to": NOBODY, "data": "0xa9059cbb"}))
    tab.page.locator("#gas").fill("0.5")
    tab.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    tab.page.locator("#curve table td").first.wait_for()
    tab.settled()
    assert tab.page.locator("#subject-warning").is_visible()
    assert tab.page.evaluate(found) == []


def test_everything_that_takes_input_has_a_name_and_the_keyboard_reaches_it(open_tab):
    tab = open_tab()
    nameless = """[...document.querySelectorAll("input:not([type=hidden]), select, textarea, button, [tabindex='0']")]
        .filter((node) => !node.labels?.length && !node.textContent.trim() && !node.ariaLabel
            && !node.hasAttribute("aria-labelledby")).map((node) => node.outerHTML)"""
    assert tab.page.evaluate(nameless) == []
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.id") == "skip"
    tab.page.keyboard.press("Enter")
    assert tab.page.evaluate("document.activeElement.id") == "answer"
    assert "skip" not in tab.page.url
    tab.page.locator("#gas").fill("50000")
    tab.settled()
    tab.page.wait_for_timeout(900)  # spoken once the controls rest
    assert tab.text("#live").startswith("Fee 1,954 gwei, its part for the size is 10.9×")


def test_light_and_dark(open_tab):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = open_tab(color_scheme="light"), open_tab(color_scheme="dark")
    assert light.page.evaluate(background) != dark.page.evaluate(background)
    light.page.emulate_media(color_scheme="dark")
    assert dark.page.evaluate(background) == light.page.evaluate(background)


@pytest.mark.parametrize("width", [320, 360])
@pytest.mark.parametrize("pricing", ["cost-per-byte", "verification-cost"])
def test_a_phone_needs_no_scrolling_sideways(open_tab, pricing, width):
    tab = open_tab(
        f"#pricing={pricing}", viewport={"width": width, "height": 740},
        device_scale_factor=3,
    )  # fmt: skip
    tab.page.locator("#l1BaseFee").fill("123456.123456789")
    tab.page.locator("#curve summary").click()
    tab.page.locator("#more summary").click()
    tab.example("token")
    beyond = """[...document.querySelectorAll("main *, .below *")].filter((node) => {
        const right = (one) => one.getBoundingClientRect().right;
        return !node.closest(".scroll, .reader") && node.checkVisibility()
            && right(node) > right(node.closest(".card") ?? document.body);
    }).map((node) => node.outerHTML.slice(0, 200))"""

    assert tab.page.evaluate("document.documentElement.scrollWidth") == width
    assert tab.page.evaluate(beyond) == []
    tab.page.locator("#fee-figure").scroll_into_view_if_needed()
    top = {name: tab.page.locator(name).bounding_box()["y"] for name in ("#fee-figure", "#chain", "#curve")}
    assert sorted(top, key=top.get) == ["#fee-figure", "#chain", "#curve"]
