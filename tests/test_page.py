"""The explorer's page in a real browser, before a real server: every number on it is the server's."""

import csv
import io
import json
import re
import statistics
import subprocess

import pytest

from feemodel.explorer.fields import FIELDS
from feemodel.explorer.methods import explorer_methods
from feemodel.explorer.page import PAGE, page
from feemodel.explorer.texts import SIGNED
from feemodel.linea.measure import fee_bytes, fee_size
from tests import openrpc_examples
from tests.anvil import PEERS, binary
from tests.browser import Tab, browsing
from tests.clients import require
from tests.fire.start import wait_until
from tests.rpc_calls import NOBODY
from tests.serving import serving

SLOWEST = 250.0  # milliseconds from a slider's move to its drawn reply, at the 95th percentile; here some 20
MOVES = 200
REFUSED = "net::ERR_CONNECTION_REFUSED"  # what the browser itself says of a server that is away


@pytest.fixture(scope="module")
def browser():
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(browser):
    with serving("--workers", "1") as server:
        yield server


@pytest.fixture
def open_tab(browser, server):
    """Tabs that must have made no error, and asked nobody but the server."""
    tabs = []

    def opened(link="", **context):
        tabs.append(Tab(browser, server.address, link, **context))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.close()
        assert (tab.errors, tab.elsewhere) == ([], [])


def active_fields(tab):
    return tab.page.evaluate("activeFields().map(({ name }) => name)")


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


def test_the_link_is_the_state(open_tab):
    tab = open_tab()
    tab.page.locator("#pin").click()
    tab.page.locator("#field-compressedSize").fill("777")
    tab.page.locator("input[name=costs][value=l1]").check()
    tab.page.get_by_label("No lower bound").check()
    tab.page.locator("#pin").click()
    tab.page.locator("input[value=verification-cost]").check()
    tab.page.locator("#field-gasPriceRatio").fill("12.5")
    tab.page.select_option("#axis", "gasPriceRatio")
    tab.page.locator("input[name=range][value=full]").check()
    tab.page.locator("input[name=x][value=linear]").check()
    tab.page.locator("input[name=y][value=log]").check()
    tab.page.locator("#subject").fill('{"to": "0x' + "11" * 20 + '", "value": "0x0"}')
    tab.page.locator("#gas-used").fill("21,000")
    tab.page.locator("#explain").click()
    tab.settled()
    tab.told()
    link = tab.page.evaluate("link()")
    other = open_tab(link)
    other.told()
    seen = """[shown, told.answer, state.pins.map((pin) => [pin.letter, pin.point, pin.fee.result, pin.curve]),
        [...document.querySelectorAll("input, select, textarea")]
            .filter((input) => !input.closest("[hidden], #past-card, #try-card"))
            .map((input) => input.type === "radio" || input.type === "checkbox" ? input.checked : input.value)]"""

    assert link == other.page.evaluate("link()")
    assert tab.page.evaluate(seen) == other.page.evaluate(seen)
    tab.page.wait_for_timeout(400)  # the address follows once the controls rest
    assert link == tab.page.evaluate("location.hash")


def test_a_link_that_is_changed_by_hand_is_followed(open_tab):
    tab = open_tab()
    tab.page.evaluate("location.hash = '#compressedSize=64&gas=50000&margin=oops&pricing=free'")
    wait_until(lambda: tab.text("#note").startswith("Not read"), "the note names what was not read")
    tab.settled()

    assert tuple(tab.answer()["inputs"][name] for name in ("compressedSize", "gas", "margin")) == (64, "0xc350", 1.2)
    assert tab.text("#note") == "Not read from the link: pricing=free, margin=oops"


def test_runs_are_pinned_compared_loaded_and_removed(open_tab):
    tab = open_tab()
    first = tab.answer()
    tab.page.locator("#pin").click()
    tab.page.locator("#field-compressedSize").fill("900")
    tab.page.locator("#field-margin").fill("0.9")
    tab.settled()
    rows = {
        row[0]: row[1:]
        for row in tab.page.evaluate(
            "[...document.querySelectorAll('#runs tbody tr')].map((row) => [...row.cells].map((c) => c.textContent))"
        )
    }

    assert rows["wei / gas"] == [f"{int(one['feePerGas']['total'], 16):,}" for one in (tab.answer(), first)]
    assert rows["Compressed size"] == ["900 bytes", "128 bytes"]
    assert "Gas" not in rows
    assert rows["Margin, wei / gas"][0].startswith("-")
    tab.page.get_by_label("Load run A").click()
    tab.settled()
    assert first == tab.answer()
    for _ in range(9):
        tab.page.evaluate("document.getElementById('pin').click()")
    tab.settled()
    assert tab.page.evaluate("state.pins.length") == 6
    assert tab.page.locator("#pin").is_disabled()
    tab.page.get_by_label("Remove run C").click()
    tab.page.locator("#pin").click()
    tab.settled()
    assert tab.page.evaluate("state.pins.map((run) => run.letter).join('')") == "ABDEFC"
    tab.page.locator("#unpin-all").click()
    tab.settled()
    assert tab.page.locator("#runs-card").is_hidden()


def test_the_downloads_are_what_is_shown(open_tab):
    tab = open_tab("#compressedSize=300&axis=gas")
    tab.page.locator("#pin").click()
    tab.settled()
    with tab.page.expect_download() as download:
        tab.page.locator("#csv").click()
    text = download.value.path().read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    curve = tab.page.evaluate("shown.curve")

    assert download.value.suggested_filename == "fee-along-gas.csv"
    now = [row for row in rows if row["run"] == "now"]
    assert [int(value, 16) for value in curve["values"]] == [int(row["gas [gas]"]) for row in now]
    assert [int(value, 16) for value in curve["feeWei"]] == [int(row["fee [wei]"]) for row in now]
    assert curve["recovery"][0]["recovery"] == [float(row["recovery [1]"]) for row in now]
    assert len(now) == len([row for row in rows if row["run"] == "A"])
    assert "compressedSize=300; variableCost=1000000000;" in now[0]["inputs"]
    with tab.page.expect_download() as download:
        tab.page.locator("#png").click()
    picture = download.value.path().read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")) == (2_000, 1_314)


def test_a_signed_transaction_is_explained(open_tab):
    tab = open_tab()
    tab.page.locator("[data-example=signed]").click()
    tab.told()
    raw = tab.page.locator("#subject").input_value()
    answer = tab.page.evaluate("told.answer")

    assert fee_size(raw) == answer["compressedSize"]
    facts = tab.text(".facts")
    assert f"{answer['compressedSize']} bytes" in facts
    assert "60,000" in facts
    assert tab.page.locator(".checks .verdict").all_text_contents() == ["✓ accepted"] * 3
    tab.page.locator("#subject").fill(SIGNED[59_144])
    tab.page.locator("#explain").click()
    tab.told()
    checks = tab.page.locator(".checks .verdict").all_text_contents()
    assert checks == ["… less than the node suggests", "✓ accepted", "✓ accepted"]
    answer = tab.page.evaluate("told.answer")
    compared = tab.page.evaluate("told.compared.result")
    assert len(compared["rules"]) == tab.page.locator("#told .rule-bar > div").count()
    tab.page.locator("#gas-used").fill("41309")
    tab.page.locator("#explain").click()
    tab.told()
    assert tab.page.locator(".checks .verdict").count() == 4
    tab.page.select_option("#chain", "linea-mainnet-2025-02")  # what is explained follows the sliders
    tab.settled()
    tab.told()
    assert "✗ refused: Gas price too low" in tab.page.locator(".checks .verdict").all_text_contents()
    tab.page.get_by_role("button", name="Use its size and gas above").click()
    tab.settled()
    assert (answer["compressedSize"], "0xf230") == (
        tab.answer()["inputs"]["compressedSize"],
        tab.answer()["inputs"]["gas"],
    )


def test_a_call_is_run_for_its_gas_and_explained(open_tab, server):
    tab = open_tab()
    tab.page.locator("[data-example=token]").click()
    tab.told()
    call = json.loads(tab.page.locator("#subject").input_value())
    assert len(server.ask("eth_getCode", call["to"], "latest")["result"]) > 2, "an example must be one"
    assert tab.page.locator("#subject-warning").is_hidden()
    answer = tab.page.evaluate("told.answer")

    assert answer["subject"] == "call"
    assert fee_size(call, gas=int(answer["gas"]["estimated"], 16)) == answer["compressedSize"]
    assert tab.text("#told caption").startswith("Checks of a node, at the suggested price")
    tab.page.locator("#gas-estimate").fill("60,000")
    tab.page.locator("#explain").click()
    tab.told()
    assert tab.page.evaluate("told.answer.gas.estimated") == "0xea60"
    tab.page.locator("#clear").click()
    assert tab.page.locator("#told").is_hidden()


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("0x02f8", "transaction: expected RLP"),
        ('{"to": ', "The call is not JSON"),
        ('{"to": "0x12"}', "call.to: expected an address of 20 bytes"),
        ("hello", "transaction: expected hexadecimal data that starts with 0x"),
    ],
)
def test_what_is_no_transaction_is_said(open_tab, pasted, said):
    tab = open_tab()
    tab.page.locator("#subject").fill(pasted)
    tab.page.locator("#explain").click()
    tab.told()

    assert tab.text("#subject-error").startswith(said)
    assert tab.page.locator("#told").is_hidden()


def test_the_curve_is_read_by_keyboard_and_as_a_table(open_tab):
    tab = open_tab()
    chart = tab.page.locator("#chart")
    assert chart.get_attribute("aria-valuetext").startswith("From 10 bytes: fee")
    chart.focus()
    chart.press("End")
    last = tab.page.evaluate("shown.curve.values.at(-1)")
    assert chart.get_attribute("aria-valuetext").startswith(
        f"{last:,} bytes: fee" if last > 9_999 else f"{last} bytes: fee"
    )
    chart.press("Home")
    chart.press("ArrowRight")
    assert chart.get_attribute("aria-valuenow") == "1"
    assert tab.text("#readout") == chart.get_attribute("aria-valuetext")
    tab.page.locator("#numbers summary").click()
    tab.page.wait_for_selector("#numbers-table td")  # the browser tells of the opening a moment after it
    priority = tab.page.evaluate("shown.curve.feePerGas.priority[0]")
    assert f"{int(priority, 16):,}" in tab.text("#numbers-table")


def filmed(tab):
    """Wait until the film that was asked for last is shown."""
    tab.page.locator("#film-shown").wait_for(timeout=120_000)
    tab.page.evaluate("async () => { while (reel.busy) await new Promise((resolve) => setTimeout(resolve, 5)); }")


def test_the_film_of_a_month_is_the_servers(open_tab):
    tab = open_tab()
    tab.page.locator("#film-show").click()
    filmed(tab)
    tab.page.select_option("#film-pricing", "vault-pi")
    tab.page.select_option("#film-posting", "price-cap")
    tab.page.select_option("#film-slaHours", "4")
    filmed(tab)
    expected = explorer_methods()["feemodel_film"]({"pricing": "vault-pi", "posting": "price-cap", "slaHours": 4})

    assert expected == tab.page.evaluate("reel.film")
    assert f"{expected['recovery']:.2f}×" in tab.text("#film-facts")
    assert f"{expected['underRecoveryDays']} of {expected['wholeDays']}" in tab.text("#film-facts")
    tab.page.locator("#film-hour").press("Home")
    assert "2026-01-07 14:10" in tab.text("#film-readout")
    tab.page.locator("#film-hour").press("ArrowRight")
    tab.page.locator("#film-hour").press("ArrowRight")
    assert f"{expected['series']['backlog']['values'][2]:,.0f} bytes" in tab.text("#film-readout")
    tab.page.locator("#film-play").click()
    # Not `wait_for_function`: after its first try it needs `eval`, which the page's policy forbids.
    wait_until(lambda: tab.page.evaluate("reel.hour > 3"), "the film plays")
    tab.page.locator("#film-play").click()
    assert tab.page.evaluate("reel.playing") == 0
    assert "film=vault-pi+price-cap+4+0" in tab.page.evaluate("link()")


def test_a_link_shows_its_film_on_a_phone(open_tab):
    tab = open_tab("#film=arbitrum+fill+16+0.5", viewport={"width": 360, "height": 740})
    filmed(tab)

    assert tuple(tab.page.evaluate("[reel.film.pricing, reel.film.elasticity]")) == ("arbitrum", 0.5)
    assert tab.page.locator("#film-slaHours").is_disabled()
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 360
    assert "film=arbitrum+never" in open_tab("#film=arbitrum+never").text("#note").replace(" ", "+")


def followed(tab):
    """Wait until the fee over time is that of the newest state."""
    tab.page.locator("#past-card").scroll_into_view_if_needed()
    tab.page.evaluate(
        """async () => {
            while (!past.answer || past.busy || past.timer) await new Promise((resolve) => setTimeout(resolve, 5));
        }"""
    )


def test_the_fee_over_time_is_the_servers(open_tab):
    tab = open_tab("#margin=0.3&variableCostFrom=l1&rate=2,500&currency=EUR")
    followed(tab)
    point = {**tab.answer()["inputs"], "over": "l1"}
    del point["l1BaseFee"], point["blobBaseFee"]
    expected = explorer_methods()["feemodel_history"](point)
    first = expected["recovery"][0]

    assert expected == tab.page.evaluate("past.answer")
    assert f"{first['below']} of 724" in tab.text("#past-facts")
    assert f"{first['recoveryOfAll']:.2f}×" in tab.text("#past-facts")
    tab.page.locator("#past-place").press("Home")
    fee, cost = (int(column[0], 16) for column in (expected["feeWei"], first["cost"]))
    assert tab.text("#past-readout").startswith(f"Time, UTC2026-01-07 14:00Fee{fee / 1e9:.2f} gwei ≈ ")
    assert f"L1 cost{cost / 1e9:.2f} gweiRecovery{fee / cost:.2f}×Deficit so far−" in tab.text("#past-readout")
    tab.page.locator("#past-place").press("ArrowRight")
    assert "15:00" in tab.text("#past-readout")
    tab.page.locator("#field-compressedSize").fill("5000")
    followed(tab)
    assert tab.page.evaluate("past.answer.feeWei[0]") != expected["feeWei"][0]
    tab.page.locator("#past-numbers summary").click()
    wait_until(lambda: tab.page.locator("#past-table tbody tr").count() == 32, "the table has every day and the end")


def test_the_server_s_own_prices_are_followed(open_tab):
    tab = open_tab("#over=server&pricing=verification-cost&compressedSize=700")
    followed(tab)
    found = tab.page.evaluate("past.answer")

    assert (found["over"], found["pricing"]) == ("server", "cost-per-byte"), "in the form that the server prices with"
    assert len(found["times"]) >= 2, "since its start, and now"
    own = explorer_methods()["feemodel_fee"]({"compressedSize": 700, "gas": "0x5208"})["feeWei"]["total"]
    assert set(found["feeWei"]) == {own}
    assert "own prices" in tab.text("#past-hint")
    assert "over=server" in tab.page.evaluate("link()")
    tab.page.locator("input[name=over][value=l1]").check()
    followed(tab)
    assert tab.page.evaluate("past.answer.times.length") == 724


def test_amounts_are_shown_in_a_currency_too(open_tab):
    tab = open_tab()
    assert "≈" not in tab.text("#answer")
    tab.page.locator("#rate").fill("3,000")
    tab.page.locator("#currency").fill("chf")
    tab.page.locator("[data-example=transfer]").click()
    tab.told()
    tab.settled()

    assert tab.text("#fee-eth") == "0.000000909600132 ETH ≈ 0.00273 CHF"
    assert "CHF" in tab.text("#recovery")
    assert "CHF" in tab.text("#told .facts")
    assert {"rate=3%2C000", "currency=CHF"} <= set(tab.page.evaluate("link()").lstrip("#").split("&"))
    tab.page.locator("#rate").fill("much")
    assert tab.text("#rate-error") == "Expected a number above 0."
    assert tab.page.locator("#rate").get_attribute("aria-invalid") == "true"
    assert "≈" not in tab.text("#fee-eth")
    tab.page.locator("#rate").fill("")
    assert tab.page.locator("#rate-error").is_hidden()


@pytest.mark.parametrize(("axis", "unit"), [("variableCost", " gwei / byte"), ("margin", "")])
def test_numbers_along_a_curve_are_rounded(open_tab, axis, unit):
    tab = open_tab(f"#axis={axis}")
    chart = tab.page.locator("#chart")
    chart.focus()
    chart.press("Home")
    for _ in range(12):
        chart.press("ArrowRight")
        value = re.fullmatch(rf"([0-9.]+){unit}: fee .*", tab.text("#readout"))[1]
        assert len(value.replace(".", "").lstrip("0")) <= 4


def test_a_target_without_code_and_another_chain_are_warned_of(open_tab):
    tab = open_tab()
    for subject, said in [
        ({"to": NOBODY, "data": "0xa9059cbb"}, f"There is no code at {NOBODY} on this chain: "),
        ({"to": NOBODY, "value": "0x0"}, ""),
        ({"to": "0x" + "00" * 19 + "02", "data": "0x01"}, ""),
        (SIGNED[59_144], "This transaction is of chain 59144; the server answers for chain 1337."),
    ]:
        tab.page.locator("#subject").fill(subject if isinstance(subject, str) else json.dumps(subject))
        tab.page.locator("#explain").click()
        tab.told()
        assert tab.page.locator("#told").is_visible()
        assert tab.text("#subject-warning").startswith(said)
        assert tab.page.locator("#subject-warning").is_visible() == bool(said)
    tab.page.locator("#clear").click()
    assert tab.page.locator("#subject-warning").is_hidden()


def test_a_hash_is_looked_up_at_the_node(browser, server):
    require(binary())
    sent = openrpc_examples.read()["eth_sendRawTransaction"]
    with openrpc_examples.behind_a_server() as behind:
        tab = Tab(browser, behind.address)
        tab.page.locator("#subject").fill(sent["result"])
        tab.page.locator("#explain").click()
        tab.told()
        assert tab.page.evaluate("told.answer.measuredBytes") == len(fee_bytes(sent["params"][0]))
        assert "used 34,299" in tab.text("#told .facts")
        assert tab.page.locator(".checks .verdict").count() == 4
        tab.close()
    assert (tab.errors, tab.elsewhere) == ([], [])
    alone = Tab(browser, server.address, f"#subject={sent['result']}")
    alone.told()
    assert alone.text("#subject-error").startswith("subject: expected no hash: there is no node to ask")
    alone.close()


def tried(tab):
    """Wait until the methods are there, and nothing is being tried."""
    tab.page.locator("#try-card").scroll_into_view_if_needed()
    tab.page.evaluate(
        "async () => { while (!trial.methods || trial.busy) await new Promise((resolve) => setTimeout(resolve, 5)); }"
    )


def test_every_method_can_be_tried_with_its_example(open_tab, server):
    tab = open_tab()
    tried(tab)
    names = tab.page.evaluate("[...trial.methods.keys()]")

    assert [method["name"] for method in server.ask("rpc.discover")["result"]["methods"]] == names
    assert tab.page.locator("#try-method").input_value() == "rollup_estimateGas"
    for name in names:
        tab.page.select_option("#try-method", name)
        assert tab.text("#try-response") == "Not sent yet."
        tab.page.locator("#try-send").click()
        tried(tab)
        assert tab.text("#try-status").startswith("✓ result, "), name
        shown, expected = (tab.page.locator(one).text_content() for one in ("#try-response", "#try-expected"))
        if "characters more" not in shown and name != "feemodel_history":  # whose samples are of now
            assert json.loads(shown)["result"] == json.loads(expected), name


def test_the_curl_line_asks_the_same(open_tab):
    tab = open_tab()
    tried(tab)
    tab.page.select_option("#try-method", "eth_call")
    tab.page.locator("#try-params").fill('[{"to": "0xaaaa2a3e812a24562cd3f7b309273796b2c3aaaa", "data": "it\'s"}]')
    tab.page.locator("#try-send").click()
    tried(tab)
    command = ["bash", "-c", tab.page.locator("#try-curl").text_content()]
    answer = subprocess.run(command, capture_output=True, check=True).stdout

    assert json.loads(answer) == json.loads(tab.page.locator("#try-response").text_content())
    assert b"it's" in answer


def test_an_error_of_a_method_is_shown_as_it_is(open_tab):
    tab = open_tab()
    tried(tab)
    tab.page.locator("#try-params").fill('[{"to": "0x12"}]')
    tab.page.locator("#try-send").click()
    tried(tab)
    error = json.loads(tab.page.locator("#try-response").text_content())["error"]

    assert (error["code"], error["message"][:31]) == (-32602, "call.to: expected an address of")
    assert tab.text("#try-status").startswith("✗ error -32602, ")
    assert tab.text("#try-meaning") == "This code: a parameter that cannot be read; too many storage keys."
    for text, said in [("[", "The parameters are not JSON: "), ("5", "Expected a list of parameters, or an object")]:
        tab.page.locator("#try-params").fill(text)
        assert tab.text("#try-error").startswith(said)
        tab.page.locator("#try-send").click()
        assert tab.page.evaluate("document.activeElement.id") == "try-params"
    tab.page.locator("#try-reset").click()
    assert tab.page.locator("#try-error").is_hidden()
    tab.page.route("**/*", lambda route: route.fulfill(status=413, body="too much"))
    tab.page.locator("#try-send").click()
    tried(tab)
    assert (tab.text("#try-status").split(",")[0], tab.text("#try-response")) == ("✗ HTTP 413", "too much")
    tab.page.unroute("**/*")
    assert all("413" in error for error in tab.errors)
    tab.errors.clear()


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
    tab = open_tab("#rate=3000&margin=0.3", **context)
    tab.page.evaluate(axe.read_text(encoding="utf-8"))
    found = """async () => (await axe.run()).violations.map(
        ({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))])"""
    assert tab.page.evaluate(found) == []
    followed(tab)
    tried(tab)
    tab.page.locator("#pin").click()
    tab.page.locator("#film-show").click()
    filmed(tab)
    tab.page.locator("#subject").fill(json.dumps({"to": NOBODY, "data": "0xa9059cbb"}))
    tab.page.locator("#explain").click()
    tab.told()
    tab.page.locator("#rate").fill("much")
    tab.page.locator("#try-params").fill('[{"to": "0x12"}]')
    tab.page.locator("#try-send").click()
    tried(tab)
    tab.page.locator("#try-params").fill("[")
    tab.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    tab.page.locator("#past-table td").first.wait_for()
    tab.settled()
    tab.told()
    followed(tab)
    assert tab.page.locator("#subject-warning").is_visible()
    assert tab.page.evaluate(found) == []


def test_everything_that_takes_input_has_a_name_and_the_keyboard_reaches_it(open_tab):
    tab = open_tab()
    nameless = """[...document.querySelectorAll("input, select, textarea, button, [tabindex='0']")]
        .filter((node) => !node.labels?.length && !node.textContent.trim() && !node.ariaLabel
            && !node.hasAttribute("aria-labelledby")).map((node) => node.outerHTML)"""
    assert tab.page.evaluate(nameless) == []
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.id") == "skip"
    tab.page.keyboard.press("Enter")
    assert tab.page.evaluate("document.activeElement.id") == "answer"
    assert "skip" not in tab.page.url
    tab.page.locator("#field-gas").fill("50000")
    tab.settled()
    tab.page.wait_for_timeout(900)  # spoken once the controls rest
    assert tab.text("#live").startswith("Fee 1,954 gwei, recovers")


def test_light_and_dark(open_tab):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = open_tab(color_scheme="light"), open_tab(color_scheme="dark")
    assert light.page.evaluate(background) != dark.page.evaluate(background)
    light.page.locator("input[name=theme][value=dark]").check()
    assert dark.page.evaluate(background) == light.page.evaluate(background)
    light.page.reload()
    light.page.locator("#fee-figure").filter(has_not_text="–").wait_for()
    assert dark.page.evaluate(background) == light.page.evaluate(background)


@pytest.mark.parametrize("width", [320, 360])
@pytest.mark.parametrize("pricing", ["cost-per-byte", "verification-cost"])
def test_a_phone_needs_no_scrolling_sideways(open_tab, pricing, width):
    tab = open_tab(
        f"#pricing={pricing}&variableCostFrom=l1&rate=3000", viewport={"width": width, "height": 740},
        device_scale_factor=3,
    )  # fmt: skip
    followed(tab)
    tab.page.locator("#past-numbers summary").click()
    tried(tab)
    tab.page.locator("#pin").click()
    tab.page.locator("#field-l1BaseFee").fill("123456.123456789")
    tab.page.locator("#numbers summary").click()
    tab.page.locator("#more summary").click()
    tab.page.locator("[data-example=signed]").click()
    tab.settled()
    tab.told()
    beyond = """[...document.querySelectorAll("main *, .below *")].filter((node) => {
        const right = (one) => one.getBoundingClientRect().right;
        return !node.closest(".scroll, .reader") && node.checkVisibility()
            && right(node) > right(node.closest(".card") ?? document.body);
    }).map((node) => node.outerHTML.slice(0, 200))"""

    assert tab.page.evaluate("document.documentElement.scrollWidth") == width
    assert tab.page.evaluate(beyond) == []
    tab.page.locator("#fee-figure").scroll_into_view_if_needed()
    top = {name: tab.page.locator(name).bounding_box()["y"] for name in ("#fee-figure", "#pricing", "#chart")}
    assert sorted(top, key=top.get) == ["#fee-figure", "#pricing", "#chart"]


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


def test_a_server_that_goes_away_and_comes_back(browser):
    """The page stands under the path of its key, and asks there."""
    key = "a-key-for-the-page-only"
    flags = ("--workers", "1", "--api-key", key)
    with serving(*flags) as away:
        tab = Tab(browser, away.address, f"v3/{key}")
    tab.page.locator("#field-gas").fill("30000")
    tab.page.locator("#banner").wait_for()
    assert tab.text("#banner").startswith("The server does not answer. This page shows its last answer")
    assert "Trying again in" in tab.text("#countdown")
    assert "stale" in tab.page.locator("#answer").get_attribute("class")
    tab.page.locator("#field-gas").fill("40000")
    with serving(*flags, "--port", away.address.rsplit(":", 1)[1]):
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
