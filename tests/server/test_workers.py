"""The server as it is started: what it loads, what it waits for, and what it writes to its log."""

import json
import logging
import os
import subprocess
import sys

from feemodel.server.settings import Settings
from feemodel.server.workers import set_up_log
from tests.server.parts import answering, opened

FIRST_ESTIMATE = """
import asyncio, sys
from pathlib import Path
from feemodel.estimates.chain import copy_development_ledger
from feemodel.server.workers import load
from feemodel.server.app import Service
from feemodel.server.settings import Settings

async def estimate():
    service = Service(load(Settings(), Path(sys.argv[1])))
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "rollup_estimateGas", "params": [{"to": "0x%040x"}]}' % 2**100
    answer = await service.dispatcher.answer(body)
    print("result" in str(answer), *sys.modules)
    await service.close()

copy_development_ledger(sys.argv[1])
asyncio.run(estimate())
"""


def test_a_first_estimate_waits_for_no_compiler_and_no_tables(tmp_path):
    """A development server opens a ledger, whose compiled hashing is loaded later."""
    said = subprocess.check_output([sys.executable, "-c", FIRST_ESTIMATE, tmp_path / "ledger.db"], text=True).split()

    assert said[0] == "True"
    assert not {"numba", "pandas", "scipy", "xarray"} & set(said)


WITHOUT_PANDAS = """
import asyncio, sys
for name in ("pandas", "pyarrow", "numba", "scipy", "xarray", "h5netcdf", "tqdm"):
    sys.modules[name] = None  # as where only the extra `serve` is installed
from feemodel.server.workers import load
from feemodel.server.app import Service
from feemodel.server.settings import Settings

async def estimate():
    service = Service(load(Settings(costs="l1", l1_node=sys.argv[1], poll_seconds=60), None))
    async with service.lifespan():
        print(service.unready(), service.warnings())

asyncio.run(estimate())
"""


def test_costs_of_l1_need_the_extra_serve_alone(node):
    history = {"oldestBlock": "0x5", "baseFeePerGas": ["0x9"] * 2, "gasUsedRatio": [0.5], "reward": [["0x1"]]}
    answering(node, eth_feeHistory=history)
    said = subprocess.check_output([sys.executable, "-c", WITHOUT_PANDAS, node.url], text=True)

    assert said == "[] []\n"


def test_the_log_is_lines_of_json_whatever_a_node_says(capsys):
    before = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        set_up_log("errors")
        logging.getLogger("feemodel").warning("the node: %s", "\ud800 and\na line")
        try:
            raise ValueError("broken")
        except ValueError:
            logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
        logging.getLogger("feemodel").info("not written")
    finally:
        logging.getLogger().handlers[:], level = before
        logging.getLogger().setLevel(level)

    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert first | {"level": "warning", "event": "the node: \ud800 and\na line", "process": os.getpid()} == first
    assert second["trace"].endswith("ValueError: broken")


def test_a_web_page_that_names_another_host_or_sends_plain_text_is_refused():
    def statuses(client):
        hosts = ("localhost:8545", "127.0.0.1", "[::1]:8545", "rebound.example", "")
        return [client.http("GET", "/health", host=host).status for host in hosts]

    with opened(started=False) as client:
        assert statuses(client) == [200, 200, 200, 400, 400]
        assert client.http("POST", "/", b"{}", content_type="text/plain").status == 415
    with opened(Settings(host="0.0.0.0", behind_proxy=True), started=False) as client:
        assert statuses(client)[:4] == [200, 200, 200, 200]
