"""The explorer on a server: its page and its methods."""

import urllib3

from feemodel.server.settings import Settings
from tests.server.parts import JSON, PATIENCE, behind, request

FEE = request("feemodel_fee", {"compressedSize": 128, "gas": "0x5208"})
KIND = {"content-type": JSON["content-type"]}


def test_the_server_has_the_page_and_the_methods():
    with behind(Settings(port=0)) as url, urllib3.PoolManager(timeout=PATIENCE) as pool:
        page, script = (pool.request("GET", url + path) for path in ("/", "/static/main.js"))
        missing = pool.request("GET", url + "/static/none.js")
        fee = pool.request("POST", url, body=FEE, headers=KIND).json()["result"]

    assert [page.status, script.status, missing.status] == [200, 200, 404]
    assert b"<html" in page.data
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert fee["feeWei"]["total"] == hex(909600132000)
