"""Methods of one's own on the server, as the page on them shows."""

import re
import sys
from importlib import import_module

from feemodel.server.loaded import load
from feemodel.server.settings import Settings
from tests.conftest import ROOT
from tests.server.parts import serving
from tests.server.wire import ANNA

PAGE = ROOT / "docs" / "how-to" / "own-method.md"


def test_the_program_of_the_page_serves_its_method(tmp_path, monkeypatch):
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "shop.py").write_text(program, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    loaded = load(Settings(), None, extensions=(import_module("shop").ShopMethods,))
    with serving(loaded, started=False) as client:
        price = int(client.result("feemodel_pricing")["gasPrice"], 16)
        asked = [client.result("shop_gasPrice", customer) for customer in (ANNA, "0x" + "00" * 20)]
        error = client.error("shop_gasPrice", "0x12")
        described = [one["name"] for one in client.http("GET", "/openrpc.json").json()["methods"]]

    assert [int(one, 16) for one in asked] == [price, price // 2]
    assert error["code"] == -32602
    assert "shop_gasPrice" in described
