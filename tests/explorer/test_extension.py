"""The explorer on a server: an extension, without which the server has neither its methods nor its page."""

import urllib3

from feemodel.explorer import _month
from feemodel.explorer.extension import ExplorerMethods
from feemodel.server.settings import Settings
from tests.server.parts import JSON, PATIENCE, behind, opened, request

FEE = request("feemodel_fee", {"compressedSize": 128, "gas": "0x5208"})
KIND = {"content-type": JSON["content-type"]}


def test_the_page_and_the_methods_come_with_the_extension():
    with behind(Settings(port=0), extensions=(ExplorerMethods,)) as url, urllib3.PoolManager(timeout=PATIENCE) as pool:
        page, script = (pool.request("GET", url + path) for path in ("/", "/static/main.js"))
        missing = pool.request("GET", url + "/static/none.js")
        fee = pool.request("POST", url, body=FEE, headers=KIND).json()["result"]

    assert [page.status, script.status, missing.status] == [200, 200, 404]
    assert b"<html" in page.data
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert fee["feeWei"]["total"] == hex(909600132000)


def test_a_server_alone_has_no_explorer():
    with behind(Settings(port=0)) as url, urllib3.PoolManager(timeout=PATIENCE) as pool:
        page = pool.request("GET", url)
        error = pool.request("POST", url, body=FEE, headers=KIND).json()["error"]

    assert (page.status, error["code"]) == (404, -32601)


def test_a_month_is_simulated_outside_the_worker():
    """The simulator and its packages take 300 MiB."""
    choices = {"pricing": "fixed", "elasticity": 1.0}
    before = _month._simulated.cache_info()
    with opened(Settings(), started=False) as client:
        month = client.result("feemodel_simulateMonth", choices)
        error = client.error("feemodel_simulateMonth", {"pricing": "free"})
    after = _month._simulated.cache_info()

    assert after == before
    assert month == _month.simulate_month(choices)
    assert error["message"].startswith("choices.pricing: expected one of ")
