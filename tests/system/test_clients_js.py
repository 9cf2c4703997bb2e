"""viem and ethers as npm has them: what they read, estimate and prepare, and what they make of our errors."""

import pytest

from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import parse_transaction
from tests.helpers.anvil import PEERS
from tests.helpers.development import ALDER, HOLDERS, UNIT
from tests.system.clients import HOLDER, REVERTED, STRANGER, require, told, value

GAS_PRICE = 41_904_000  # of the preset [wei / gas]
# 45 bytes of sender and unsigned transfer: 1.2 · (45 · 10⁹ / 21,000 + 30,000,000) = 38,571,428.6
TRANSFER = {"gasLimit": 21_000, "baseFeePerGas": 7, "priorityFeePerGas": 38_571_428}
TRANSFER_IN_HEX = {"gasLimit": "0x5208", "baseFeePerGas": "0x7", "priorityFeePerGas": "0x24c8da4"}


def told_by(client, server):
    require("node", PEERS / "node_modules" / client)
    return told(["node", PEERS / f"{client}_client.mjs"], server.address, "development", stranger=STRANGER)


@pytest.fixture(scope="module")
def viem(plain_server):
    return told_by("viem", plain_server)


@pytest.fixture(scope="module")
def ethers(plain_server):
    return told_by("ethers", plain_server)


def causes(step):
    """The names of an error and of its causes."""
    return [error.get("name") for error in step["errors"]]


def cause(step, name):
    """The one of this name."""
    return next(error for error in step["errors"] if error.get("name") == name)


def asked_plainly(server, step):
    """The same request as the last one of a step, sent by no client."""
    last = step["exchanges"][-1]
    result = server.ask(last["method"], *last["params"])["result"]
    return {name: int(number, 16) for name, number in result.items()}


#: What each client reads and estimates by its own functions.
STEPS = [
    ("viem", {"chainId": 1337, "blockNumber": 0, "balance": 10_000 * 10**18, "nonce": 0, "noCode": None}),
    ("viem", dict.fromkeys(["minimal", "atBlock", "atNumber", "overridden", "overriddenAtBlock"], TRANSFER)),
    ("viem", {"call": {"data": f"0x{1:064x}"}, "callOverridden": {"data": f"0x{18:064x}"}, "simulated": True}),
    # 10⁷ · 997 / (5 · 10⁶ · 1000 + 997) BIR for an ALD
    ("viem", {"reads": ["Alder", "BIR", 18, 1_000_000 * UNIT],
              "deployless": ["ALD", 10**7 * UNIT * 997 // (5 * 10**9 + 997), 200],
              "batch": [1337, 0, 10_000 * 10**18, "ALD", -32601], "ethOverridden": 21_000}),
    ("viem", {"gasPrice": GAS_PRICE, "priorityFee": GAS_PRICE - 7, "legacyFees": {"gasPrice": GAS_PRICE * 12 // 10},
              "fees": {"maxFeePerGas": GAS_PRICE - 7 + 8, "maxPriorityFeePerGas": GAS_PRICE - 7}}),
    ("ethers", {"chainId": 1337, "blockNumber": 0, "balance": 10_000 * 10**18, "nonce": 0, "noBlock": None}),
    ("ethers", {"rollup": TRANSFER_IN_HEX, "rollupOverridden": TRANSFER_IN_HEX, "estimate": 21_000}),
    ("ethers", {"feeData": {"gasPrice": GAS_PRICE, "maxFeePerGas": GAS_PRICE + 7,
                            "maxPriorityFeePerGas": GAS_PRICE - 7}}),
    ("ethers", {"reads": ["Alder", "ALD", 18, 1_000_000 * UNIT, 0], "simulated": True}),
]  # fmt: skip


@pytest.mark.parametrize(("client", "steps"), STEPS)
def test_a_client_reads_and_estimates(request, client, steps):
    told = request.getfixturevalue(client)
    assert {step: value(told, step) for step in steps} == steps


# viem


def test_viem_reads_the_block(viem):
    block = value(viem, "block")
    assert (block["number"], block["timestamp"], block["gasLimit"]) == (0, 1_769_299_200, 2_000_000_000)
    assert (block["baseFeePerGas"], block["gasUsed"], block["transactions"]) == (7, 0, [])
    assert (len(block["hash"]), len(block["stateRoot"])) == (66, 66)
    assert causes(viem["noBlock"]) == ["BlockNotFoundError"]


def test_viem_gets_the_estimate_that_anybody_gets(viem, plain_server):
    estimate = value(viem, "everyField")
    assert estimate == asked_plainly(plain_server, viem["everyField"])
    assert estimate["gasLimit"] > 50_000
    assert estimate["priorityFeePerGas"] != TRANSFER["priorityFeePerGas"]


def test_viem_estimates_a_delegation(viem):
    """A call with an authorization, 25,000 gas beside the 21,000; no fees but for the estimate."""
    assert 46_000 <= value(viem, "delegation") < 46_000 * 1.015
    assert len(viem["delegation"]["exchanges"][-1]["params"][0]["authorizationList"]) == 1


def test_viem_prepares_a_transaction_with_the_fees_of_the_estimate(viem, plain_server):
    request, exchanges = value(viem, "preparedTransfer"), viem["preparedTransfer"]["exchanges"]
    assert [call["method"] for call in exchanges] == [
        "eth_fillTransaction", "eth_getTransactionCount", "eth_getBlockByNumber", "linea_estimateGas",
        "eth_estimateGas",
    ]  # fmt: skip
    assert [call["code"] for call in exchanges] == [-32601, 0, 0, 0, 0]
    estimated, searched = exchanges[3:]
    estimate = asked_plainly(plain_server, {"exchanges": [estimated]})
    assert request["maxPriorityFeePerGas"] == estimate["priorityFeePerGas"]
    assert request["maxFeePerGas"] == estimate["priorityFeePerGas"] + 8  # the base fee of 7, and a fifth more
    assert request["gas"] == estimate["gasLimit"]
    assert int(searched["params"][0]["maxFeePerGas"], 16) == request["maxFeePerGas"]


def test_a_transaction_that_viem_prepared_and_signed_is_the_estimated_one(viem):
    request, transaction = value(viem, "preparedTransfer"), parse_transaction(value(viem, "signed"))
    assert transaction.sender() == HOLDERS[0]
    assert (transaction.to, to_hex(transaction.data)) == (ALDER, request["data"])
    assert (transaction.chain_id, transaction.nonce, transaction.gas_limit) == (1337, 0, request["gas"])
    assert transaction.max_priority_fee == request["maxPriorityFeePerGas"]


@pytest.mark.parametrize("step", ["revert", "ethRevert", "simulatedRevert"])
def test_viem_shows_the_reason_of_a_revert(viem, step):
    assert f"Execution reverted with reason: {REVERTED}." == cause(viem[step], "ExecutionRevertedError")["message"]


@pytest.mark.parametrize(
    ("client", "step", "name", "arguments"),
    [
        ("viem", "customError", "UnknownToken", [STRANGER]),
        ("viem", "customErrorOfEstimate", "InsufficientAllowance", [HOLDER, 0, 5]),
        ("viem", "panic", "Panic", [0x32]),
        ("ethers", "revert", "Error", [REVERTED]),
        ("ethers", "customError", "UnknownToken", [STRANGER]),
        ("ethers", "panic", "Panic", [0x32]),
    ],
)
def test_a_client_decodes_the_data_of_a_revert_by_the_abi(viem, ethers, client, step, name, arguments):
    if client == "viem":
        data = cause(viem[step], "ContractFunctionRevertedError")["data"]
        found = data["errorName"], data["args"]
    else:
        revert = ethers[step]["errors"][0]["revert"]
        found = revert["name"], revert["args"]
    decoded = [part.lower() if str(part).startswith("0x") else part for part in found[1]]
    assert (found[0], decoded) == (name, arguments)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("noFunds", "InsufficientFundsError"),
        ("ethNoFunds", "InsufficientFundsError"),
        ("feeTooLow", "FeeCapTooLowError"),
        ("gasTooHigh", "InvalidParamsRpcError"),
        ("noMethod", "MethodNotFoundRpcError"),
    ],
)
def test_viem_knows_the_error_by_its_words_and_code(viem, step, error):
    assert error in causes(viem[step])


# ethers


def test_ethers_reads_the_block_as_viem_does(ethers, viem):
    block, theirs = value(ethers, "block"), value(viem, "block")
    for name in ("hash", "parentHash", "stateRoot", "receiptsRoot", "extraData", "miner", "nonce", "transactions"):
        assert block[name] == theirs[name], name
    for name in ("number", "timestamp", "gasLimit", "gasUsed", "baseFeePerGas", "difficulty", "excessBlobGas"):
        assert int(block[name]) == theirs[name], name
    assert value(ethers, "blockWithTransactions") == block
    assert value(ethers, "noBlock") is None


def test_ethers_populates_a_transaction_that_cannot_be_sent(ethers):
    request = value(ethers, "populated")
    assert (request["type"], request["chainId"], request["nonce"], request["gasLimit"]) == (2, 1337, 0, 21_000)
    assert request["maxPriorityFeePerGas"] == GAS_PRICE - 7
    assert ethers["sent"]["errors"][0]["code"] == "UNSUPPORTED_OPERATION"  # by the words for an unknown method


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("revert", "CALL_EXCEPTION"),
        ("noFunds", "INSUFFICIENT_FUNDS"),
        ("noMethod", "UNSUPPORTED_OPERATION"),  # by geth's words for it
    ],
)
def test_ethers_knows_the_error_by_its_words_and_code(ethers, step, code):
    assert ethers[step]["errors"][0]["code"] == code
