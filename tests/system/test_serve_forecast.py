"""The process of `feemodel_forecast`: it is shared, killed and replaced."""

import asyncio
import os
import signal
import subprocess
import time

import pytest

import feemodel
from feemodel.io import read_shipped_l1_fees
from feemodel.server.settings import Settings
from tests.cli.test_serve_forecast import FEW, FILE, L1, PATIENCE, forecasting
from tests.helpers import node_server
from tests.server.wire import TRANSFER


@pytest.fixture(scope="module")
def client():
    with forecasting(Settings(l1_history=FILE, seconds=PATIENCE)) as client:
        yield client


def test_quantiles_are_those_of_the_python_function(client):
    found = client.result("feemodel_forecast", FEW)
    expected = feemodel.forecast(read_shipped_l1_fees(), horizons=["6h", "10min"], method="seasonal", paths=20)

    for index, one in enumerate(found["horizons"]):
        quantiles = expected["base_fee_quantile"][index].to_numpy().tolist()
        assert [int(quantity, 16) for quantity in one["baseFee"]] == [round(value) for value in quantiles]


def test_other_calls_are_answered_while_a_forecast_is_computed(client):
    client.result("feemodel_forecast", FEW)  # the process has started
    ended = []

    async def timed(method, *params):
        await client.methods[method].function(*client.methods[method].arguments(list(params)))
        ended.append(method)

    async def both():
        forecast = asyncio.create_task(timed("feemodel_forecast", {}))
        await asyncio.sleep(0.05)
        await timed("rollup_estimateGas", TRANSFER)
        await forecast

    client.loop.run(both())

    assert ended == ["rollup_estimateGas", "feemodel_forecast"]


def test_calls_beyond_the_queue_are_refused():
    with forecasting(Settings(l1_history=FILE, queue=1, seconds=PATIENCE)) as client:
        answers = client.together(*[("feemodel_forecast", FEW)] * 4)

    codes = [answer.get("error", {}).get("code", 0) for answer in answers]
    assert sorted(codes) in ([-32005, -32005, 0, 0], [-32005, -32005, -32005, 0])


def test_a_forecast_that_takes_too_long_is_killed_and_the_next_one_is_computed():
    with forecasting(Settings(l1_history=FILE, seconds=2.0)) as client:
        error = client.error("feemodel_forecast", {"horizons": [f"{6 * count}h" for count in range(1, 21)]})
        client.methods["feemodel_forecast"].function.__self__._seconds = PATIENCE  # which a busy machine may take
        found = client.result("feemodel_forecast", {"horizons": ["10min"], "method": "persistence", "paths": 1})

    assert (error["code"], error["message"]) == (-32005, "a forecast: at most 2 s")
    assert found["method"] == "persistence"


def test_a_process_that_was_killed_is_replaced(client):
    client.result("feemodel_forecast", FEW)
    (process,) = [one for one in child_processes() if "multiprocessing.spawn" in one[1]]
    os.kill(process[0], signal.SIGKILL)

    answers = [client.ask("feemodel_forecast", FEW) for _ in range(2)]  # the first may meet the dead process

    assert "result" in answers[1]


def child_processes():
    rows = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [(int(row.split(None, 1)[0]), row.split(None, 1)[1]) for row in rows]


def test_a_slow_node_is_read_further_while_callers_are_told_how_far():
    l1 = L1()
    with node_server.running() as node:

        def slowly(handler, payload):
            time.sleep(0.05)
            l1.answer(handler, payload)

        node.always = slowly
        with forecasting(Settings(costs="l1", l1_node=node.url, seconds=0.3)) as client:
            error = client.error("feemodel_forecast", FEW)
            client.loop.run(asyncio.sleep(0.5))
            again = client.ask("feemodel_forecast", FEW)  # an error with more blocks, or the forecast

    assert error["code"] == -32002
    assert "blocks" in error["message"]
    assert again.get("error") != error
