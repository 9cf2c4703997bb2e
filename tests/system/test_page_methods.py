"""The playground of the explorer's page: every method with its example, its curl line and its errors."""

import json
import subprocess

from tests.helpers.browser import tried


def test_every_method_can_be_tried_with_its_example(open_tab, page_server):
    tab = open_tab()
    tried(tab)
    names = tab.page.evaluate("[...trial.methods.keys()]")

    assert [method["name"] for method in page_server.ask("rpc.discover")["result"]["methods"]] == names
    assert tab.page.locator("#try-method").input_value() == "rollup_estimateGas"
    for name in names:
        tab.page.select_option("#try-method", name)
        assert tab.text("#try-response") == "Not sent yet."
        tab.page.locator("#try-send").click()
        tried(tab)
        assert tab.text("#try-status").startswith("✓ result, "), name
        shown = tab.page.locator("#try-response").text_content()
        params = json.loads(tab.page.locator("#try-params").input_value())
        if "characters more" not in shown and name != "feemodel_history":  # whose samples are of now
            assert json.loads(shown)["result"] == page_server.ask(name, *params)["result"], name


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
