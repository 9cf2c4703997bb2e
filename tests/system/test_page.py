"""The explorer's page in a real browser, before a real server: every number on it is the server's."""

import statistics

import pytest
import urllib3

from feemodel.explorer.inputs import SOURCES
from feemodel.explorer.methods import POLICY, explorer_methods
from tests.helpers.browser import Tab
from tests.system.start import serving

SLOWEST = 250.0  # milliseconds from a slider's move to its drawn reply, at the 95th percentile; here some 20
MOVES = 200
AWAY = ("_REFUSED", "_RESET")  # how the browser itself ends a line about a server that is away


def test_nothing_beside_the_files_of_the_page_is_served(plain_server):
    for name in ("uplot", "", "%2e%2e", "%2e%2e/methods.py", "%2e%2e%2fmethods.py", "a%00b", "%5c..%5cmethods.py"):
        assert urllib3.request("GET", f"{plain_server.address}/static/{name}", retries=False).status == 404, name


def test_the_policy_allows_the_page_and_nothing_else(open_tab):
    tab = open_tab()
    headers = tab.response.headers
    policy = headers["content-security-policy"]

    assert (headers["cache-control"], headers["x-content-type-options"], policy) == ("no-cache", "nosniff", POLICY)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    refused = tab.page.evaluate(
        """async () => {
            const refused = new Promise((resolve) => addEventListener("securitypolicyviolation",
                (event) => resolve(event.effectiveDirective)));
            document.body.append(Object.assign(document.createElement("script"), { textContent: "window.ran = true" }));
            return [await refused, window.ran];
        }"""
    )
    assert refused == ["script-src-elem", None]
    tab.errors.clear()  # that one was meant


def test_the_first_answer_is_the_servers(open_tab):
    tab = open_tab()
    expected = explorer_methods()["feemodel_fee"](tab.answer()["inputs"])

    assert expected == tab.answer()
    assert tab.text("#fee-figure") == "909.60"
    assert tab.text("#fee-eth") == "0.000000909600132 ETH"
    assert f"{int(expected['feePerGas']['total'], 16):,}" in tab.text("#parts tbody tr:last-child")


@pytest.mark.parametrize("pricing", ["cost-per-byte", "verification-cost"])
def test_every_control_moves_the_answer_by_slider_and_by_number(open_tab, pricing):
    tab = open_tab(f"#pricing={pricing}")
    methods = explorer_methods()
    for name in tab.fields():
        slider, number = tab.slider(name), tab.page.locator(f"#{name}")
        before = number.input_value()
        slider.press("PageUp")
        tab.settled()
        moved, after = tab.answer()["inputs"], number.input_value()
        assert before != after, name
        number.fill(before)
        tab.settled()
        restored = tab.answer()["inputs"]
        if name in restored:  # the blob base fee is for the other rollups alone in one of the forms
            assert moved[name] != restored[name]
        assert methods["feemodel_fee"](restored) == tab.answer()
        assert slider.get_attribute("aria-valuetext").startswith(before.split(".")[0][:1])


def test_only_what_concerns_the_chosen_chain_is_shown(open_tab):
    """A chain has one form of the fee; the form is a choice for numbers of one's own."""
    tab = open_tab()
    other = {"minGasPrice", "verificationGasCost", "verificationCapacity", "gasPriceRatio", "adjustment"}
    for chain in ("server", "linea-mainnet-2024-06", "linea-sepolia-2025-12"):
        tab.page.select_option("#chain", chain)
        tab.settled()
        assert tab.page.locator("#forms").is_hidden()
        assert other.isdisjoint(tab.fields())
        assert tab.page.locator("[data-pricing=verification-cost]:visible").count() == 0
        assert "Minimum gas price" not in tab.text("#defaults")
    tab.page.select_option("#chain", "")
    tab.page.locator("input[value=verification-cost]").check()
    tab.settled()
    assert other <= set(tab.fields())
    assert (tab.answer()["pricing"], "Variable cost" in tab.text("#defaults")) == ("verification-cost", False)
    tab.page.select_option("#chain", "server")
    tab.settled()
    assert (tab.answer()["pricing"], tab.page.locator("#forms").is_hidden()) == ("cost-per-byte", True)


def test_presets_are_real_chains_and_days(open_tab):
    tab = open_tab()
    presets = explorer_methods()["feemodel_presets"]()
    for chain in presets["chains"]:
        tab.page.select_option("#chain", chain["name"])
        tab.settled()
        inputs = tab.answer()["inputs"]
        assert {name: chain[name] for name in ("variableCost", "fixedCost", "margin")}.items() <= inputs.items()
        assert chain["source"] in tab.text("#chain-source")
    for day in presets["days"]:
        tab.page.select_option("#day", day["name"])
        tab.settled()
        assert {name: day[name] for name in ("l1BaseFee", "blobBaseFee")}.items() <= tab.answer()["inputs"].items()
    tab.page.locator("#l1BaseFee").fill("1.5")
    tab.page.locator("#fixedCost").fill("0")
    tab.settled()

    assert (tab.page.locator("#chain").input_value(), tab.page.locator("#day").input_value()) == ("", "")


def test_what_cannot_be_read_is_said_at_its_field(open_tab):
    tab = open_tab()
    figure = tab.text("#fee-figure")
    tab.page.locator("#gas").fill("1.5")
    tab.settled()
    assert tab.text("#gas-error")
    assert tab.page.locator("#gas").get_attribute("aria-invalid") == "true"
    assert figure == tab.text("#fee-figure")
    tab.page.locator("#gas").fill("22000")
    tab.page.locator("#variableCost").fill("9000000000")
    tab.settled()
    assert tab.text("#fee-card .error").startswith("point: variable_cost")
    assert tab.page.locator("#gas-error").is_hidden()
    tab.page.locator("#variableCost").fill("1")
    tab.settled()

    assert tab.answer()["inputs"]["gas"] == "0x55f0"
    assert tab.page.locator("#fee-card .error").is_hidden()
    assert tab.page.locator("[aria-invalid=true]").count() == 0


def test_two_hundred_moves_of_a_slider_are_each_drawn(open_tab):
    tab = open_tab()
    moves = tab.page.evaluate(
        """async (moves) => {
            const slider = document.querySelector("[data-name=compressedSize] input[type=range]");
            const card = document.getElementById("fee-card");
            const found = [];
            for (let move = 0; move < moves; move += 1) {
                const began = performance.now();
                slider.stepUp();
                slider.dispatchEvent(new Event("input", { bubbles: true }));
                while (card.ariaBusy === "true") await new Promise((resolve) => setTimeout(resolve, 1));
                await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
                const fee = document.getElementById("fee-sub").textContent;
                found.push([performance.now() - began, fee]);
            }
            return found;
        }""",
        MOVES,
    )
    sizes = {fee for _, fee in moves}
    painted = statistics.quantiles([milliseconds for milliseconds, _ in moves], n=20)
    print(f"slider move to painted reply: median {painted[9]:.1f} ms, 95th percentile {painted[18]:.1f} ms")

    assert len(sizes) > MOVES * 0.9
    assert painted[18] < SLOWEST


def test_the_newest_state_is_shown_last(open_tab):
    tab = open_tab()
    held = []

    def hold_the_first(route):
        if held:
            route.continue_()
        else:
            held.append(route)

    tab.page.route("**/*", hold_the_first)
    tab.page.locator("#gas").fill("30000")
    while not held:
        tab.page.wait_for_timeout(5)
    tab.page.locator("#margin").fill("2")
    tab.page.locator("#gas").fill("40000")
    held[0].continue_()
    tab.settled()

    assert tab.text("#fee-sub").endswith("× 40,000 gas")
    tab.page.unroute("**/*")


def test_a_server_that_goes_away_and_comes_back(page_browser):
    flags = ("--workers", "1")
    with serving(*flags) as away:
        tab = Tab(page_browser, away.address)
    tab.page.locator("#gas").fill("30000")
    tab.page.locator("#banner").wait_for()
    assert tab.text("#banner").startswith("The server does not answer. This page shows its last answer")
    opacity = "getComputedStyle(document.getElementById('answer')).opacity"
    assert tab.page.evaluate(opacity) == "0.5"
    tab.page.locator("#gas").fill("40000")
    with serving(*flags, port=away.port):
        tab.page.locator("#banner").wait_for(state="hidden")
        tab.settled()
        assert tab.answer()["inputs"]["gas"] == "0x9c40"
        assert tab.page.evaluate(opacity) == "1"
        tab.page.locator("#gas").fill("50000")
        tab.settled()
        assert tab.answer()["inputs"]["gas"] == "0xc350"
    tab.close()

    assert tab.errors
    assert [error for error in tab.errors if not error.endswith(AWAY)] == []
    assert tab.elsewhere == []


def test_every_field_is_on_the_page(open_tab):
    tab = open_tab()
    controls = tab.page.locator(".control input[name]").all()
    assert {control.get_attribute("name") for control in controls} == set(SOURCES)
    sources = tab.text("#defaults")
    for name in tab.fields():
        assert SOURCES[name] in sources
