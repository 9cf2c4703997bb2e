"""web3.py as PyPI has it: its own methods, ours through it, and the exceptions that our errors become."""

import pytest

from feemodel.ledger import check_proof
from tests.helpers.anvil import PEERS
from tests.helpers.development import GENESIS, UNIT
from tests.system.clients import HOLDER, REVERTED, STRANGER, require, told, value

PYTHON = PEERS / ".venv" / "bin" / "python"
GAS_PRICE = 41_904_000  # of the preset [wei / gas]
# 45 bytes of sender and unsigned transfer: 1.2 · (45 · 10⁹ / 21,000 + 30,000,000) = 38,571,428.6
TRANSFER = {"gasLimit": "0x5208", "baseFeePerGas": "0x7", "priorityFeePerGas": "0x24c8da4"}


@pytest.fixture(scope="module")
def web3(plain_server):
    require(PYTHON)
    command, address = [PYTHON, PEERS / "web3_client.py"], plain_server.address
    return told(command, address, "development", stranger=STRANGER, account=HOLDER)


#: What web3.py reads and estimates, by its own methods and by attached ones.
STEPS = {
    "connected": True, "chain": [1337, "1337", 0], "balance": 10_000 * 10**18, "nonce": 0,
    "attached": TRANSFER, "estimate": 21_000, "estimateOverridden": 21_000,
    "reads": ["Alder", 18, 1_000_000 * UNIT], "batch": ["ALD", 0, 1_000_000 * UNIT], "simulated": True,
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_web3_reads_and_estimates(web3, step):
    assert value(web3, step) == STEPS[step]


def test_web3_gets_a_code_and_a_proof(web3):
    assert f'"{value(web3, "code")}"' in GENESIS.read_text()
    root = value(web3, "block")["stateRoot"]
    proven = check_proof(value(web3, "proof"), root=root, address=HOLDER, storage_keys=[0])
    assert proven.account.balance == 10_000 * 10**18


def test_web3_reads_the_block(web3):
    block = value(web3, "block")
    assert (block["number"], block["timestamp"], block["gasLimit"]) == (0, 1_769_299_200, 2_000_000_000)
    assert (block["baseFeePerGas"], len(block["hash"]), len(block["extraData"])) == (7, 66, 66)
    assert web3["noBlock"]["kinds"][0] == "BlockNotFound"


def test_web3_reads_the_prices(web3):
    assert value(web3, "prices") == [GAS_PRICE, GAS_PRICE - 7]
    history = value(web3, "feeHistory")
    assert (history["oldestBlock"], history["baseFeePerGas"], history["reward"]) == (
        0,
        [7, 7],
        [[43_142_856, 43_142_856]],
    )


def test_web3_builds_a_transaction(web3):
    built = value(web3, "built")
    assert (built["chainId"], built["nonce"], built["gas"]) == (1337, 0, value(web3, "contractGas"))
    assert (built["maxFeePerGas"], built["maxPriorityFeePerGas"]) == (GAS_PRICE - 7 + 14, GAS_PRICE - 7)


@pytest.mark.parametrize(
    ("step", "kind", "words"),
    [
        ("revert", "ContractLogicError", f"execution reverted: {REVERTED}"),
        ("callRevert", "ContractLogicError", f"execution reverted: {REVERTED}"),
        ("customError", "ContractCustomError", f"0x81a3b1be{STRANGER[2:]:0>64}"),
        ("panic", "ContractPanicError", "Panic error 0x32"),
        ("noFunds", "Web3RPCError", "transaction up-front cost"),
        ("ethNoFunds", "Web3RPCError", "insufficient funds for gas * price + value"),
        ("noMethod", "MethodUnavailable", "eth_getLogs does not exist"),
        ("sent", "MethodUnavailable", "eth_sendRawTransaction does not exist"),
    ],
)
def test_web3_raises_what_the_error_is(web3, step, kind, words):
    assert web3[step]["kinds"][0] == kind
    assert words in web3[step]["message"]
