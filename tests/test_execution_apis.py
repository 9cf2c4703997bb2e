"""The Ethereum execution-API test suite: what geth answered on the state of a real chain, field by field."""

import json
from pathlib import Path

import pytest
from ethereum_rlp import rlp

from feemodel.errors import ExecutionFailed
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import from_hex, from_quantity, to_hex, to_quantity
from feemodel.ethereum.trie import trie_root
from feemodel.execution import Account, Block, CallState, estimate_gas, execute_call
from feemodel.execution.forks import fork_named
from feemodel.execution.next_block import simulate
from feemodel.execution.simulated_block import simulated_block
from tests.commit_differences import state
from tests.execution_engines import ENGINES

PUBLISHED = json.loads((Path(__file__).parent / "vectors" / "simulated_blocks.json").read_bytes())["exchanges"]
HEAD = from_hex("0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7")


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


@pytest.mark.parametrize("engine", ENGINES)
def test_every_gas_estimate_equals_geths(suite, call_state, engine):
    compared = 0
    for path in sorted((suite / "eth_estimateGas").glob("*.io")):
        for asked, replied in exchanges(path):
            (call,) = asked["params"]
            found = answer(
                lambda call=call: to_quantity(estimate_gas(call, call_state, search="geth", engine=engine).gas_limit)
            )
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


def state_root(after):
    """Of every account that the state has; one that was empty from the start stays in the tree until it is touched."""
    kept = {address: (0, 0, b"", {}) for address in after.accounts if address not in after.changes}
    leaves = {}
    for address, (balance, nonce, code, slots) in (kept | state(after)).items():
        storage = {keccak256(slot.to_bytes(32)): rlp.encode(minimal(value)) for slot, value in slots.items()}
        leaf = [minimal(nonce), minimal(balance), trie_root(storage), keccak256(code)]
        leaves[keccak256(address)] = rlp.encode(leaf)
    return trie_root(leaves)


def minimal(value):
    return value.to_bytes((value.bit_length() + 7) // 8)


def without_parent(value):
    """An answer without what hangs on the parent block."""
    if isinstance(value, dict):
        return {name: without_parent(one) for name, one in value.items() if name != "blockHash"}
    return [without_parent(one) for one in value] if isinstance(value, list) else value


def test_the_state_of_the_suite_is_its_head_blocks(call_state):
    assert state_root(call_state).hex() == "6da8f636cdc85dbe8c1b5299e5db22f462c041febaf3b78cac1040152ee30b3b"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("published", PUBLISHED, ids=lambda one: one["name"])
def test_blocks_are_those_of_geth(call_state, engine, published):
    """Where the suite's chain is ours the hash is geth's, and with it every field of the header and the state."""

    def simulated():
        [found] = simulate(published["params"], call_state, parent_hash=HEAD, engine=engine)
        return simulated_block(found, state_root=state_root(found.call_state))

    found = answer(simulated)
    if "error" in published:
        assert found["error"] == published["error"]
    else:
        expected = published["block"]
        assert without_parent({name: found["result"][name] for name in expected}) == expected


def test_five_of_the_blocks_are_compared_by_their_hash():
    assert sum("hash" in one.get("block", {}) for one in PUBLISHED) == 5
