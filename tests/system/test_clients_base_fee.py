"""Transactions that unmodified viem and ethers make of the server's answers, on a node whose base fee is 1 gwei."""

import pytest

from tests.helpers import anvil
from tests.helpers.anvil import PEERS
from tests.system.clients import STRANGER, require, script, told, value
from tests.system.start import serving

GWEI = 10**9
CHAIN_ID = 31_337  # anvil's own


@pytest.fixture(scope="module")
def clients():
    """What each client told, and the base fee of the estimate that anybody gets before them."""
    require("node", PEERS / "node_modules" / "viem", PEERS / "node_modules" / "ethers", anvil.binary())
    with anvil.running(None, base_fee=GWEI) as node, serving("--workers", "1", "--node", node.url) as server:
        about = {"stranger": STRANGER, "node": node.url, "chainId": CHAIN_ID}
        head = node.ask("eth_getBlockByNumber", "latest", False)["result"]
        first = server.ask("rollup_estimateGas", {"to": STRANGER})["result"]["baseFeePerGas"]
        viem, ethers = (told(["node", script(f"{name}_client.mjs")], server.address, "behind", **about)
                        for name in ("viem", "ethers"))  # fmt: skip
        return head, first, viem, ethers


def test_the_estimate_has_the_next_base_fee_of_the_node(clients):
    """After its genesis anvil has the same one again, though by EIP-1559 an empty block lets it fall by an eighth."""
    head, first, _, _ = clients
    assert (int(head["baseFeePerGas"], 16), int(head["gasUsed"], 16)) == (GWEI, 0)
    assert int(first, 16) == GWEI


@pytest.mark.parametrize("step", ["mined", "minedByGasPrice", "minedWithoutEstimate"])
def test_a_transaction_that_viem_prepares_is_mined(clients, step):
    _, _, viem, _ = clients
    mined = value(viem, step)
    assert mined["status"] == "success"
    assert mined["effectiveGasPrice"] > GWEI // 2


@pytest.mark.parametrize("step", ["mined", "minedWithoutEstimate"])
def test_a_transaction_that_ethers_populates_is_mined(clients, step):
    _, _, _, ethers = clients
    mined = value(ethers, step)
    assert mined["status"] == 1
    assert mined["effectiveGasPrice"] > GWEI // 2
