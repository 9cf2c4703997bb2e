"""Tips that unmodified clients sign in front of a node, against the tips that the rollup wants."""

import json
import sys

import pytest

from benchmarks.peer_anvil import built_geth, running_geth
from feemodel.ethereum._quantities import to_hex
from tests.helpers import anvil
from tests.helpers.anvil import PEERS
from tests.helpers.development import HOLDERS
from tests.helpers.geth_differences import with_system_contracts
from tests.system.clients import STRANGER, require, run, told, value
from tests.system.start import serving, wait_until

PYTHON = PEERS / ".venv" / "bin" / "python"
HARDHAT = PEERS / "node_modules" / "hardhat" / "internal" / "cli" / "bootstrap.js"
#: The first of the accounts that anvil and the development genesis fund; nothing of value belongs there.
KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
WEB3 = """
import sys
from eth_account import Account
from web3 import HTTPProvider, Web3
from web3.middleware import SignAndSendRawMiddlewareBuilder
w3, account = Web3(HTTPProvider(sys.argv[1])), Account.from_key(sys.argv[2])
w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(account), layer=0)
w3.eth.send_transaction({"from": account.address, "to": Web3.to_checksum_address(sys.argv[3]), "value": 1})
"""


@pytest.fixture(scope="module", params=["anvil", "geth"])
def node(request, tmp_path_factory):
    """A node that mines each transaction."""
    if request.param == "anvil":
        require(anvil.binary())
        with anvil.running(None) as node:
            yield node
    else:
        folder = tmp_path_factory.mktemp("geth")
        program = built_geth()
        require(program)
        genesis = with_system_contracts(program, folder)
        with anvil.asking() as pool, running_geth(program, folder, pool, genesis, develops=True) as node:
            # geth has no pending state before its first block.
            node.ask("eth_sendTransaction", {"from": to_hex(HOLDERS[0]), "to": STRANGER, "value": "0x1"})
            wait_until(lambda: newest(node) > 0 and "result" in pending(node), "geth has its first block")
            yield node


def newest(node):
    """The number of the newest block."""
    return int(node.ask("eth_blockNumber")["result"], 16)


def pending(node):
    """A call on the pending state, which geth does not have at once."""
    return node.ask("eth_estimateGas", {"from": to_hex(HOLDERS[0]), "to": STRANGER}, "pending")


@pytest.fixture(scope="module")
def server(node):
    with serving("--workers", "1", "--node", node.url, "--max-age", "1e12") as server:
        yield server


def viem(server, chain_id, tmp_path):
    require("node", PEERS / "node_modules" / "viem")
    value(told(["node", PEERS / "tip.mjs"], server.address, "viem", chainId=chain_id, to=STRANGER), "hash")


def ethers(server, chain_id, tmp_path):
    require("node", PEERS / "node_modules" / "ethers")
    value(told(["node", PEERS / "tip.mjs"], server.address, "ethers", chainId=chain_id, to=STRANGER), "hash")


def web3(server, chain_id, tmp_path):
    require(PYTHON)
    run(PYTHON, "-c", WEB3, server.address, KEY, STRANGER)


def cast(server, chain_id, tmp_path):
    require(anvil.binary("cast"))
    run(anvil.binary("cast"), "send", "--rpc-url", server.address, "--private-key", KEY, "--value", "1", STRANGER)


def hardhat(server, chain_id, tmp_path):
    require("node", HARDHAT, PEERS / "node_modules" / "ethers")
    run("node", HARDHAT, "test", folder=PEERS / "hardhat", SERVED=server.address, BUILT=str(tmp_path))


@pytest.mark.parametrize("client", [viem, ethers, web3, cast, hardhat], ids=lambda client: client.__name__)
def test_every_signed_tip_is_at_least_what_the_rollup_wants(server, node, client, tmp_path):
    before = newest(node)
    client(server, int(node.ask("eth_chainId")["result"], 16), tmp_path)
    wait_until(lambda: newest(node) > before, "the transaction is mined")
    found = []
    for number in range(before + 1, newest(node) + 1):
        block = node.ask("eth_getBlockByNumber", hex(number), True)["result"]
        for sent in block["transactions"]:
            call = {"from": sent["from"], "to": sent["to"], "value": sent["value"], "data": sent["input"]}
            if call["to"] is None:
                del call["to"]
            wanted = int(server.ask("rollup_estimateGas", call)["result"]["priorityFeePerGas"], 16)
            base_fee, price = int(block["baseFeePerGas"], 16), int(sent["gasPrice"], 16)
            tip = sent.get("maxPriorityFeePerGas")
            found.append((price - base_fee if tip is None else int(tip, 16), wanted))
    print(client.__name__, json.dumps(found), file=sys.stderr)

    assert found
    assert all(tip >= wanted for tip, wanted in found)
