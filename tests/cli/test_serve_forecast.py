"""`feemodel_forecast`: a method from outside the server, on a file or an L1 node's fees.

`tests/explorer/test_process.py` tests the process that computes it. `tests/system/test_serve_forecast.py` tests both
together.
"""

import subprocess
import sys
import time

import numpy as np
import pytest

import feemodel
from feemodel import _extras as extras
from feemodel.cli import _serve_forecast
from feemodel.cli._serve_forecast import ForecastMethod
from feemodel.errors import UnreadableFile
from feemodel.io import read_shipped_l1_fees
from feemodel.io.shipped import L1_FEES, shipped_path
from feemodel.server.loaded import load
from feemodel.server.settings import Settings
from tests.helpers import node_server
from tests.helpers.in_process import InProcess
from tests.server.parts import behind, serving

PATIENCE = 60.0  # seconds for a forecast on a busy machine, where the setting allows ten
FILE = str(shipped_path(L1_FEES))
FEW = {"horizons": ["6h", "10min"], "method": "seasonal", "paths": 20}
HEAD = 60_000  # more than eight days of blocks


def forecasting(settings):
    return serving(load(settings, None, extensions=(ForecastMethod,)), started=False)


@pytest.fixture(scope="module", autouse=True)
def _in_process():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_serve_forecast, "ChildProcess", InProcess)
        yield


@pytest.fixture(scope="module")
def client(_in_process):
    with forecasting(Settings(l1_history=FILE, seconds=PATIENCE)) as client:
        yield client


def in_wei(quantities):
    return [int(quantity, 16) for quantity in quantities]


def test_quantiles_are_those_of_the_python_function(client):
    found = client.result("feemodel_forecast", FEW)
    expected = feemodel.forecast(read_shipped_l1_fees(), horizons=["6h", "10min"], method="seasonal", paths=20)

    assert (found["origin"], found["method"], found["assumed"]) == ("2026-02-06T17:30:00Z", "seasonal", "nothing")
    assert found["source"] == L1_FEES
    assert found["quantiles"] == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert [one["horizon"] for one in found["horizons"]] == ["10min", "6h"]
    for index, one in enumerate(found["horizons"]):
        for name, variable in (
            ("baseFee", "base_fee_quantile"), ("blobBaseFee", "blob_base_fee_quantile"),
            ("submissionCost", "cost_quantile"),
        ):  # fmt: skip
            assert in_wei(one[name]) == [round(value) for value in expected[variable][index].to_numpy().tolist()]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"horizons": ["5min"]}, "horizons"),
        ({"horizons": ["8d"]}, "horizons"),
        ({"horizons": []}, "options.horizons"),
        ({"horizons": ["1h"] * 21}, "options.horizons"),
        ({"horizons": "1h"}, "options.horizons"),
        ({"method": "best"}, "options.method"),
        ({"paths": 0}, "options.paths"),
        ({"paths": 1_001}, "options.paths"),
        ({"paths": "20"}, "options.paths"),
        ({"path": 20}, "options"),
        ([], "options"),
    ],
    ids=str,
)
def test_options_that_are_not_valid_are_refused_by_name(client, options, named):
    error = client.error("feemodel_forecast", options)

    assert (error["code"], error["message"].partition(":")[0]) == (-32602, named)


def test_without_fees_of_l1_the_error_names_the_settings():
    with forecasting(Settings()) as client:
        error = client.error("feemodel_forecast")

    assert error["code"] == -32601
    assert "--l1-history" in error["message"]
    assert "--l1-node" in error["message"]


def test_the_method_is_not_forwarded_to_the_node_behind():
    with behind(Settings()) as url, forecasting(Settings(node=url)) as client:
        assert client.error("feemodel_forecast")["code"] == -32601


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "xarray" else object())
    with forecasting(Settings(l1_history=FILE, seconds=PATIENCE)) as client:
        error = client.error("feemodel_forecast")

    assert error["code"] == -32601
    assert "simulation" in error["message"]


def test_a_file_that_is_not_there_is_an_error_at_the_start(tmp_path):
    with pytest.raises(UnreadableFile), forecasting(Settings(l1_history=str(tmp_path / "fees.csv"))):
        pass


def test_a_file_that_goes_bad_is_not_the_fault_of_a_caller(tmp_path):
    path = tmp_path / "fees.csv"
    path.write_text("timestamp,base_fee\n1700000000,7000000000\n", encoding="utf-8")
    with forecasting(Settings(l1_history=str(path), seconds=PATIENCE)) as client:
        short = client.error("feemodel_forecast", FEW)
        path.unlink()
        gone = client.error("feemodel_forecast", FEW)

    assert [short["code"], gone["code"]] == [-32002, -32002]
    assert str(tmp_path) not in short["message"] + gone["message"]


def test_the_server_loads_nothing_of_forecasts_until_one_is_asked_for():
    program = """if True:
        import asyncio, sys
        from feemodel.cli._serve_forecast import ForecastMethod
        from feemodel.server.loaded import load
        from feemodel.server.service import Service
        from feemodel.server.settings import Settings
        async def methods():
            loaded = load(Settings(l1_history=sys.argv[1]), None, extensions=(ForecastMethod,))
            return Service(loaded).methods
        assert "feemodel_forecast" in asyncio.run(methods())
        print(*[name for name in sys.modules if name.startswith("feemodel.simulation.forecast")])
    """
    ended = subprocess.run([sys.executable, "-c", program, FILE], capture_output=True, text=True, check=True)

    assert ended.stdout.split() == []


class L1:
    """An L1 node: base fees follow a daily wave, a block every 12 s; blocks before `oldest` are pruned."""

    def __init__(self, *, oldest=0, chain_id=1):
        self.oldest, self.chain_id, self.head = oldest, chain_id, HEAD
        self.began = int(time.time()) - 12 * HEAD

    def fee(self, number):
        return int(1e9 * np.exp(np.sin(2 * np.pi * number / 7_200)))

    def block(self, params):
        number = self.head if params[0] == "latest" else int(params[0], 16)
        return {**node_server.header(number), "number": hex(number), "timestamp": hex(self.began + 12 * number)}

    def history(self, params):
        count, newest = int(params[0], 16), self.head if params[1] == "latest" else int(params[1], 16)
        numbers = range(newest + 1 - count, newest + 1)
        fees = [self.fee(number) for number in range(numbers[0], newest + 2)]
        return {
            "oldestBlock": hex(numbers[0]),
            "baseFeePerGas": [hex(fee) for fee in fees],
            "gasUsedRatio": [0.5] * count,
            "baseFeePerBlobGas": [hex(fee // 16) for fee in fees],
            "blobGasUsedRatio": [0.5] * count,
            "reward": [[hex(2 * 10**8)]] * count if params[2] else None,
        }

    def answer(self, handler, payload):
        calls = payload if isinstance(payload, list) else [payload]
        replies = [{"jsonrpc": "2.0", "id": call["id"], **self.one(call["method"], call["params"])} for call in calls]
        handler.send(200, node_server.json.dumps(replies if isinstance(payload, list) else replies[0]).encode())

    def one(self, method, params):
        if method == "eth_chainId":
            return {"result": hex(self.chain_id)}
        if method == "eth_feeHistory":
            found = self.history(params)
            if int(found["oldestBlock"], 16) < self.oldest:
                return {"error": {"code": -32000, "message": "required historical state unavailable"}}
            return {"result": found}
        return {"result": self.block(params)}


def test_fees_of_an_l1_node_are_read_once_and_continued():
    l1 = L1(chain_id=11_155_111)
    with node_server.running() as node:
        node.always = l1.answer
        with forecasting(Settings(costs="l1", l1_node=node.url, seconds=PATIENCE)) as client:
            first = client.result("feemodel_forecast", FEW)
            asked = node.methods.count("eth_feeHistory")
            l1.head, l1.began = HEAD + 100, l1.began - 12 * 100
            second = client.result("feemodel_forecast", FEW)
            later = node.methods.count("eth_feeHistory") - asked

    assert asked > HEAD // 1_024
    assert later <= 3  # tips, and at most two parts
    assert abs(first["ageSeconds"]) < 60
    assert first["assumed"] == "Ethereum's blob rules on the chain 11155111"
    assert first["source"] == "the L1 node"
    median = in_wei(first["horizons"][1]["baseFee"])[2]
    assert abs(median / l1.fee(HEAD + 1_800) - 1) < 0.1  # the wave of every day goes on
    assert second["origin"] >= first["origin"]


def test_a_node_without_enough_history_is_an_error_that_says_so():
    l1 = L1(oldest=HEAD - 7_200)
    with node_server.running() as node:
        node.always = l1.answer
        with forecasting(Settings(costs="l1", l1_node=node.url, seconds=PATIENCE)) as client:
            error = client.error("feemodel_forecast", FEW)

    assert error["code"] == -32002
    assert "expected at least 78.0 h" in error["message"]


def test_a_node_that_fails_or_stands_still_is_not_the_fault_of_a_caller():
    stale = L1()
    stale.began -= 86_400
    with node_server.running() as node, forecasting(Settings(costs="l1", l1_node=node.url, seconds=PATIENCE)) as client:
        node.always = node_server.status(500)
        failed = client.error("feemodel_forecast", FEW)
        node.always = stale.answer
        old = client.error("feemodel_forecast", FEW)

    assert [failed["code"], old["code"]] == [-32002, -32002]
    assert "max_age" in old["message"]
