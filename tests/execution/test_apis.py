"""The Ethereum execution-API test suite: what geth answered on the state of a real chain, field by field."""

import json

import pytest

from feemodel.errors import ExecutionFailed
from feemodel.ethereum._quantities import from_quantity, to_hex, to_quantity
from feemodel.execution import Account, Block, CallState, estimate_gas, execute_call
from feemodel.execution._forks import fork_named
from tests.helpers.execution_engines import ENGINES, HAS_NATIVE, WITHOUT_NATIVE


@pytest.fixture(scope="module")
def suite(shared):
    return shared / "data" / "execution-apis"


@pytest.fixture(scope="module")
def call_state(suite):
    """The head state of the suite's chain, in its head block."""
    genesis = json.loads((suite / "genesis.json").read_bytes())
    _, head = exchanges(suite / "head-block.io")[0]
    block = head["result"]
    state = json.loads((suite / "headstate.json").read_bytes())["accounts"]
    return CallState(
        accounts={bytes.fromhex(text[2:]): read_account(entry) for text, entry in state.items()},
        block=Block(
            number=from_quantity(block["number"]),
            timestamp=from_quantity(block["timestamp"]),
            gas_limit=from_quantity(block["gasLimit"]),
            base_fee=from_quantity(block["baseFeePerGas"]),
            coinbase=bytes.fromhex(block["miner"][2:]),
            prev_randao=bytes.fromhex(block["mixHash"][2:]),
            excess_blob_gas=from_quantity(block["excessBlobGas"]),
        ),
        chain_id=genesis["config"]["chainId"],
        fork=fork_named("bpo2"),
    )


def read_account(entry):
    slots = entry.get("storage", {})
    return Account(
        balance=int(entry["balance"]),
        nonce=entry["nonce"],
        code=bytes.fromhex(entry.get("code", "0x")[2:]),
        storage={int(slot, 16): int(value, 16) for slot, value in slots.items()},
    )


def exchanges(path):
    lines = [line for line in path.read_text().splitlines() if line.startswith((">>", "<<"))]
    return [
        (json.loads(asked[3:]), json.loads(replied[3:])) for asked, replied in zip(lines[::2], lines[1::2], strict=True)
    ]


def answer(action):
    try:
        return {"result": action()}
    except ExecutionFailed as error:
        data = {} if error.data is None else {"data": error.data}
        return {"error": {"code": error.code, "message": error.message, **data}}


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_every_gas_estimate_equals_geths(suite, call_state):
    compared = 0
    for path in sorted((suite / "eth_estimateGas").glob("*.io")):
        for asked, replied in exchanges(path):
            (call,) = asked["params"]
            found = answer(lambda call=call: to_quantity(estimate_gas(call, call_state, search="geth").gas_limit))
            assert found == {key: replied[key] for key in replied.keys() - {"jsonrpc", "id"}}, path.stem
            compared += 1
    assert compared == 7


@pytest.mark.parametrize("engine", ENGINES)
def test_every_call_answers_as_geth_did(suite, call_state, engine):
    compared = 0
    for path in sorted((suite / "eth_call").glob("*.io")):
        for asked, replied in exchanges(path):
            call, _block = asked["params"]
            found = answer(lambda call=call: to_hex(execute_call(call, call_state, engine=engine)))
            assert found == {key: replied[key] for key in replied.keys() - {"jsonrpc", "id"}}, path.stem
            compared += 1
    assert compared == 6
