"""The explorer's page in a real browser, before a real server: every number on it is the server's."""

import re
import statistics

import pytest

from feemodel.explorer.fields import FIELDS
from feemodel.explorer.methods import explorer_methods
from feemodel.explorer.page import PAGE, page
from tests.helpers.browser import Tab, active_fields
from tests.system.start import serving

SLOWEST = 250.0  # milliseconds from a slider's move to its drawn reply, at the 95th percentile; here some 20
MOVES = 200
REFUSED = "net::ERR_CONNECTION_REFUSED"  # what the browser itself says of a server that is away


def test_the_page_is_one_file_that_needs_nothing_else():
    text = PAGE.read_text(encoding="utf-8")

    assert not re.search(r"<[^>]+\s(style|on\w+)=", text), "refused by the policy"
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_the_policy_allows_the_page_and_nothing_else(open_tab):
    tab = open_tab()
    policy = tab.response.headers["content-security-policy"]

    assert page()[1] == policy
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
    assert f"{int(expected['feePerGas']['total'], 16):,}" in tab.text("#parts-total")
    assert [step["value"] for step in expected["working"]] == tab.page.evaluate(
        "[...document.querySelectorAll('#working td:last-child')].map((cell) => cell.textContent.split(' ')[0])"
    )


@pytest.mark.parametrize(
    ("pricing", "costs"), [("cost-per-byte", "announced"), ("cost-per-byte", "l1"), ("verification-cost", "announced")]
)
def test_every_control_moves_the_answer_by_slider_and_by_number(open_tab, pricing, costs):
    tab = open_tab(f"#pricing={pricing}&variableCostFrom={costs}&lowerBound=1000000&upperBound=900000000000")
    tab.page.locator("#more summary").click()
    methods = explorer_methods()
    for name in active_fields(tab):
        slider, number = tab.page.locator(f"#field-{name}-slider"), tab.page.locator(f"#field-{name}")
        before = number.input_value()
        slider.press("PageDown" if name == "upperBound" else "PageUp")
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


def test_arrows_in_a_number_field_move_it(open_tab):
    tab = open_tab()
    tab.page.locator("#field-gas").press("Shift+ArrowUp")
    tab.settled()

    assert int(tab.answer()["inputs"]["gas"], 16) > 21_000


def test_bounds_can_be_taken_away(open_tab):
    tab = open_tab("#variableCostFrom=l1&l1BaseFee=100000000000")
    assert "held by the upper bound" in tab.text("#recovery")
    tab.page.get_by_label("No upper bound").check()
    tab.settled()

    assert tab.answer()["inputs"]["upperBound"] is None
    assert "held by" not in tab.text("#recovery")
    assert "upperBound=none" in tab.page.evaluate("link()")


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
    tab.page.locator("#field-l1BaseFee").fill("1.5")
    tab.page.locator("#field-fixedCost").fill("0")
    tab.settled()

    assert (tab.page.locator("#chain").input_value(), tab.page.locator("#day").input_value()) == ("", "")


def test_what_cannot_be_read_is_said_at_its_field(open_tab):
    tab = open_tab("#variableCostFrom=l1")
    figure = tab.text("#fee-figure")
    tab.page.locator("#field-gas").fill("1.5")
    assert tab.text("#field-gas-error") == "Expected a whole number."
    assert tab.page.locator("#field-gas").get_attribute("aria-invalid") == "true"
    tab.page.locator("#field-lowerBound").fill("9")
    tab.settled()
    assert tab.text("#field-gas-error") == "Expected a whole number."
    assert tab.text("#fee-error").startswith("Upper bound: expected at least the lower bound")
    assert tab.text("#field-upperBound-error").startswith("expected at least the lower bound")
    assert figure == tab.text("#fee-figure")
    tab.page.locator("#field-lowerBound").fill("0.09")
    tab.page.locator("#field-gas").fill("22,000")
    tab.settled()

    assert tab.answer()["inputs"]["gas"] == "0x55f0"
    assert tab.page.locator("#fee-error").is_hidden()
    assert tab.page.locator("[aria-invalid]").count() == 0


def test_two_hundred_moves_of_a_slider_are_each_drawn(open_tab, record_property):
    tab = open_tab()
    tab.page.evaluate(
        "window.drawn = []; document.addEventListener('feemodel:drawn', ({ detail }) => window.drawn.push(detail));"
    )
    slider, sizes = tab.page.locator("#field-compressedSize-slider"), set()
    slider.focus()
    for move in range(MOVES):
        tab.page.keyboard.press("ArrowRight")
        tab.page.evaluate(
            "async (count) => { while (drawn.length < count) await new Promise((resolve) => setTimeout(resolve, 1)); }",
            move + 1,
        )
        sizes.add(tab.answer()["inputs"]["compressedSize"])
    drawn = tab.page.evaluate("drawn")
    painted = statistics.quantiles([one["painted"] for one in drawn], n=20)
    figures = {"p50": painted[9], "p95": painted[18], "worst": max(one["painted"] for one in drawn)}
    for name, milliseconds in figures.items():
        record_property(f"slider_{name}_ms", round(milliseconds, 1))
    print("slider move to painted reply [ms]:", {name: round(value, 1) for name, value in figures.items()})

    assert len(drawn) == MOVES
    assert len(sizes) > MOVES * 0.9
    assert figures["p95"] < SLOWEST


def test_a_reply_of_a_state_that_is_gone_is_not_drawn(open_tab):
    tab = open_tab()
    held = []

    def hold_the_first(route):
        if held:
            route.continue_()
        else:
            held.append(route)

    tab.page.route("**/*", hold_the_first)
    tab.page.evaluate(
        """() => {
            window.seen = [];
            new MutationObserver(() => seen.push([shown.fee.pricing, shown.fee.inputs.gas]))
                .observe(document.getElementById("fee-figure"), { childList: true });
        }"""
    )
    tab.page.locator("#field-gas").fill("30000")
    while not held:
        tab.page.wait_for_timeout(5)
    tab.page.locator("input[value=verification-cost]").check()
    tab.page.locator("#field-gas").fill("40000")
    held[0].continue_()
    tab.settled()

    assert tab.page.evaluate("seen") == [["verification-cost", "0x9c40"]]
    tab.page.unroute("**/*")


def test_a_server_that_is_too_busy_is_asked_again(open_tab):
    tab = open_tab()
    busy = iter([True, True, False])

    def answer(route):
        if next(busy, False):
            route.fulfill(status=503, headers={"retry-after": "1"}, body="{}")
        else:
            route.continue_()

    tab.page.route("**/*", answer)
    tab.page.locator("#field-gas").fill("30000")
    tab.page.locator("#banner").wait_for()
    assert "(the server answers 503)" in tab.text("#banner")
    tab.page.locator("#retry").click()
    tab.page.locator("#banner").wait_for(state="hidden")
    tab.settled()

    assert tab.answer()["inputs"]["gas"] == "0x7530"
    assert all("503" in error for error in tab.errors)
    tab.errors.clear()
    tab.page.unroute("**/*")


def test_a_server_that_goes_away_and_comes_back(page_browser):
    flags = ("--workers", "1")
    with serving(*flags) as away:
        tab = Tab(page_browser, away.address)
    tab.page.locator("#field-gas").fill("30000")
    tab.page.locator("#banner").wait_for()
    assert tab.text("#banner").startswith("The server does not answer. This page shows its last answer")
    assert "Trying again in" in tab.text("#countdown")
    assert "stale" in tab.page.locator("#answer").get_attribute("class")
    tab.page.locator("#field-gas").fill("40000")
    with serving(*flags, port=away.port):
        tab.page.locator("#banner").wait_for(state="hidden")
        tab.settled()
        assert tab.answer()["inputs"]["gas"] == "0x9c40"
        assert "stale" not in tab.page.locator("#answer").get_attribute("class")
        tab.page.locator("#field-gas").fill("50000")
        tab.settled()
        assert tab.answer()["inputs"]["gas"] == "0xc350"
    tab.close()

    assert tab.errors
    assert all(REFUSED in error for error in tab.errors)
    assert tab.elsewhere == []


def test_every_field_is_on_the_page(open_tab):
    tab = open_tab()
    assert set(FIELDS) == set(tab.page.evaluate("[...controls.keys()]"))
    sources = tab.text("#defaults")
    for name in active_fields(tab):
        assert FIELDS[name].source in sources
