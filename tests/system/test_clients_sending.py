"""Deployments and transactions of unmodified tools through the server, in front of anvil."""

import json
import re
import shutil
import subprocess

import pytest

from tests.helpers import anvil
from tests.helpers.anvil import PEERS
from tests.system import nginx
from tests.system.clients import require, run, told, value
from tests.system.start import serving

COUNTER = PEERS / "hardhat" / "contracts" / "Counter.sol"
CHAIN_ID = 31_337  # anvil's own
PYTHON = PEERS / ".venv" / "bin" / "python"
#: The last of the accounts that anvil funds; nothing of value belongs there.
KEY = "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6"
RECEIVER = "0x57a49e4057a49e4057a49e4057a49e4057a49e40"


@pytest.fixture(scope="module")
def node():
    require(anvil.binary())
    with anvil.running(None, base_fee=10**9) as node:
        yield node


@pytest.fixture(scope="module")
def server(node):
    with serving("--workers", "1", "--node", node.url) as server:
        yield server


@pytest.fixture(scope="module")
def contract(node):
    """The contract of the Hardhat project."""
    require("node", PEERS / "node_modules" / "solc")
    asked = {
        "language": "Solidity",
        "sources": {"Counter.sol": {"content": COUNTER.read_text()}},
        "settings": {"outputSelection": {"*": {"*": ["abi", "evm.bytecode.object"]}}},
    }
    done = subprocess.run(
        ["node", PEERS / "solc.cjs"], input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=True
    )
    built = json.loads(done.stdout)["contracts"]["Counter.sol"]["Counter"]
    return {"abi": built["abi"], "bytecode": "0x" + built["evm"]["bytecode"]["object"]}


def test_the_estimate_has_the_base_fee_that_the_node_announces(server, node):
    """After its genesis anvil has the same one again, though by EIP-1559 an empty block lets it fall by an eighth."""
    announced = node.ask("eth_feeHistory", "0x1", "latest", [])["result"]["baseFeePerGas"][-1]
    assert server.ask("rollup_estimateGas", {"to": RECEIVER})["result"]["baseFeePerGas"] == announced


def test_forge_creates(server, node, tmp_path):
    require(anvil.binary("forge"), PEERS / "node_modules" / "solc")
    (tmp_path / "src").mkdir()
    shutil.copy(COUNTER, tmp_path / "src")
    said = run(
        anvil.binary("forge"), "create", "--root", tmp_path, "--use", PEERS / "solc.cjs", "--rpc-url",
        server.address, "--private-key", KEY, "--broadcast", "src/Counter.sol:Counter", HOME=str(tmp_path),
    )  # fmt: skip
    (created,) = re.findall(r"Deployed to: (0x[0-9a-fA-F]{40})", said)
    assert len(node.ask("eth_getCode", created, "latest")["result"]) > 100


@pytest.fixture(scope="module")
def front(server, node, tmp_path_factory):
    """nginx as it is shipped, in front of the server and of the node's WebSocket."""
    require(nginx.BINARY)
    folder = tmp_path_factory.mktemp("nginx")
    with nginx.shipped(folder, *(address.removeprefix("http://") for address in (server.address, node.url))) as front:
        yield front


@pytest.mark.parametrize("way", ["server", "gateway with a key", "gateway to the node's WebSocket"])
@pytest.mark.parametrize("client", ["viem", "ethers"])
def test_a_wallet_deploys_writes_and_watches(server, front, contract, client, way):
    gateway, key = f"https://localhost:{front.port}", nginx.KEYS["wallet"]
    address = {"server": server.address, "gateway with a key": f"{gateway}/v3/{key}"}.get(way, f"{gateway}/ws/{key}")
    subscribes = way.endswith("WebSocket")
    steps = told(
        ["node", PEERS / "sending.mjs"], address, f"{client}{'WebSocket' * subscribes}", trusted=front.certificate,
        contract=contract, chainId=CHAIN_ID,
    )  # fmt: skip
    assert value(steps, "deployed") in ("success", 1)
    assert value(steps, "written") in (["success", 1, 1], [1, 1, 1])
    assert value(steps, "watchedBlocks") is True
    assert value(steps, "watchedEvents") == 2
    if not subscribes:
        assert value(steps, "prices")["pricing"] == "cost-per-byte"
        assert value(steps, "accounts") == []


def test_web3_deploys_writes_and_filters(server, contract):
    require(PYTHON)
    steps = told([PYTHON, PEERS / "web3_sending.py"], server.address, "http", contract=contract)
    assert value(steps, "deployed") == 1
    assert value(steps, "written") == [1, 1, 1]
    assert value(steps, "filtered") is True
    assert value(steps, "accounts") == []


def test_web3_subscribes_through_the_gateway_to_the_node(front):
    require(PYTHON)
    address = f"https://localhost:{front.port}/ws/{nginx.KEYS['wallet']}"
    steps = told([PYTHON, PEERS / "web3_sending.py"], address, "websocket", trusted=front.certificate)
    assert value(steps, "subscribed") is True
    assert value(steps, "unsubscribed") is True
