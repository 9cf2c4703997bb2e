"""`rollup_estimateGas` and what is answered beside it: fields, where it is measured, proofs."""

import threading

import pytest

import feemodel
from feemodel.estimates.chain import LEDGER, ChainState
from feemodel.estimates.rollup import LONG, Measuring
from feemodel.ethereum._quantities import to_hex
from feemodel.execution import Account, Block, CallState, estimate_gas
from feemodel.io.shipped import shipped_path
from feemodel.ledger import check_proof
from feemodel.ledger.proof import STEP, proof_steps
from feemodel.ledger.store import Store, StoredBlock
from feemodel.server import methods
from feemodel.server.settings import Settings
from tests.helpers.development import ALDER, HOLDERS, UNIT, development_state, mapped
from tests.helpers.execution_engines import HAS_NATIVE
from tests.server.parts import on_chain, opened
from tests.server.wire import ANNA, BERT, BLOB, LIST, NOBODY, SWAP, TOKEN, TOKENS, TRANSFER, data, word

# What it answers


@pytest.mark.parametrize("method", ["rollup_estimateGas", "linea_estimateGas"])
def test_a_transfer_is_answered_as_computed_by_hand(client, method):
    """49 bytes: 49e9 div 21,000 = 2,333,333; and 3e7, times 1.2, is 38,799,999.6."""
    found = client.result(method, TRANSFER)
    assert list(found.items()) == [
        ("gasLimit", hex(21_000)), ("baseFeePerGas", "0x7"), ("priorityFeePerGas", hex(38_799_999)),
    ]  # fmt: skip


def test_the_search_is_exact_where_that_is_asked_for():
    with opened(Settings(tolerance=0.0), started=False) as client:
        assert client.result("eth_estimateGas", TOKENS) == hex(34_227)
        assert client.result("rollup_estimateGas", TOKENS)["gasLimit"] == hex(34_227)


# Fields of the call

LISTED = [{"address": TOKEN, "storageKeys": [word(mapped(0, HOLDERS[0]))]}]
SAME = [  # as TOKENS
    {"input": TOKENS["data"], "data": None},
    {"input": TOKENS["data"].upper().replace("X", "x")},
    {"from": ANNA.upper().replace("X", "x")},
    {"value": None, "gasPrice": None, "accessList": None, "authorizationList": None},
    {"gas": "0x1c9c380"},
    {"gas": "0x0"},  # no bound of Besu's search
]


@pytest.mark.parametrize("change", SAME, ids=str)
def test_what_says_the_same_is_answered_the_same(client, change):
    expected = client.result("rollup_estimateGas", TOKENS)
    assert client.result("rollup_estimateGas", {**TOKENS, **change}) == expected


@pytest.mark.parametrize(
    "call",
    [
        TRANSFER,
        {"from": ANNA, "to": SWAP, "data": data("swapExactIn(address,uint256,uint256,address)", ALDER, UNIT, 0, ALDER)},
        {"from": ANNA, "to": LIST, "data": data("fill(uint256,uint256)", 50 if HAS_NATIVE else 20, 7)},
        {"from": ANNA, "to": LIST, "data": data("fillGuarded(uint256,uint256,uint256)", 1, 2, 500_000)},
        {"from": ANNA, "data": "0x60fe5f5360015ff3"},
        {"to": NOBODY},
        {**TOKENS, "gasPrice": "0x3b9aca00"},
        {**TOKENS, "maxFeePerGas": "0x3b9aca00"},
        {**TOKENS, "maxFeePerGas": "0x3b9aca00", "maxPriorityFeePerGas": "0x3b9aca00"},
        {**TOKENS, "nonce": "0x1000"},
        {**TOKENS, "chainId": "0x539"},
        {**TOKENS, "data": TOKENS["data"][:-1] + "6"},
        {**TOKENS, "from": BERT},
        {**TOKENS, "accessList": LISTED},
    ],
    ids=str,
)
def test_the_answer_is_that_of_the_formulas_on_the_measured_size(client, call):
    gas = estimate_gas(call, development_state(), search="besu").gas_limit
    size = feemodel.fee_size({"nonce": 0, "gas": gas, "gasPrice": None if "maxFeePerGas" in call else 7, **call})
    fee = feemodel.priority_fee(size, gas, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2)
    found = client.result("rollup_estimateGas", call)
    assert found == {"gasLimit": hex(gas), "baseFeePerGas": "0x7", "priorityFeePerGas": hex(fee)}


def test_blobs_take_no_execution_gas(client):
    call = {**TRANSFER, "blobVersionedHashes": [BLOB], "maxFeePerBlobGas": "0x1", "type": "0x3"}
    assert client.result("rollup_estimateGas", call)["gasLimit"] == "0x5208"
    assert client.result("eth_estimateGas", call) == "0x5208"


# How it is measured


@pytest.mark.parametrize(
    ("call", "in_loop"),
    [
        ({"to": BERT, "data": "0x" + "00" * LONG}, True),
        ({"to": BERT, "data": "0x" + "00" * (LONG + 1)}, False),
        ({"to": BERT, "accessList": [{"address": BERT, "storageKeys": []}]}, False),
    ],
)
def test_a_long_call_is_measured_in_a_thread(client, call, in_loop, monkeypatch):
    threads, measure = [], Measuring.priced

    def noted(*arguments, **named):
        threads.append(threading.current_thread())
        return measure(*arguments, **named)

    monkeypatch.setattr(Measuring, "priced", noted)
    client.result("rollup_estimateGas", call)
    assert [thread is threading.current_thread() for thread in threads] == [in_loop]


def test_what_is_measured_has_the_nonce_of_the_chain():
    """As production asks for it beside the estimate, without the override."""
    accounts = {bytes.fromhex(ANNA[2:]): Account(balance=10**18, nonce=2**40)}
    with on_chain(ChainState(call_state=CallState(accounts=accounts, block=Block()))) as client:
        asked = [TRANSFER], [TRANSFER, {ANNA: {"nonce": "0x1"}}], [{**TRANSFER, "nonce": hex(2**40)}]
        assert len({str(client.result("rollup_estimateGas", *params)) for params in asked}) == 1


# Proofs


@pytest.mark.parametrize("method", ["rollup_getProof", "linea_getProof"])
@pytest.mark.parametrize("block", ["0x0", "earliest", "latest", "pending", "safe", "finalized"])
def test_the_development_genesis_is_provable(client, method, block):
    root = client.result("eth_getBlockByNumber", "latest")["stateRoot"]
    for address in (ANNA, LIST, NOBODY):
        slots = [0, 1] if address == LIST else []
        proven = check_proof(
            client.result(method, address, [hex(slot) for slot in slots], block), root=root, address=address,
            storage_keys=slots,
        )  # fmt: skip
        nonce = client.result("eth_getTransactionCount", address)
        assert (proven.account is None) == (address == NOBODY)
        assert proven.account is None or hex(proven.account.nonce) == nonce


@pytest.fixture
def path(tmp_path):
    """A copy of the ledger of the development genesis."""
    path = tmp_path / "ledger.db"
    path.write_bytes(shipped_path(LEDGER).read_bytes())
    return path


def test_a_proof_is_of_the_block_with_the_hash_that_is_asked_for(path):
    """As EIP-1898 and as web3.py send it; the hash of a block that is not final is unknown."""
    hashes = [bytes([number]) * 32 for number in (1, 2)]
    with Store(path) as store:
        root = store.block(0).root
        with store.transaction():
            for number, block_hash in enumerate(hashes, 1):
                store.save_block(StoredBlock(number, block_hash, root))
        store.finalize(1)
    with opened(Settings(store=str(path)), store=path, started=False) as client:
        expected = client.result("rollup_getProof", ANNA, [], "0x1")
        for block in (to_hex(hashes[0]), {"blockHash": to_hex(hashes[0]), "requireCanonical": True}):
            assert client.result("rollup_getProof", ANNA, [], block) == expected
        for unknown in (hashes[1], bytes(32)):
            error = client.error("rollup_getProof", ANNA, [], {"blockHash": to_hex(unknown)})
            assert error["code"] == -32600
            assert to_hex(unknown) in error["message"]


def test_of_long_proofs_one_is_begun_at_a_time(path, monkeypatch):
    """Each step holds the event loop for milliseconds: sixty that begin together would delay other callers."""
    begun, most = [], []

    def counted(*arguments, **options):
        begun.append(None)
        most.append(len(begun))
        yield from proof_steps(*arguments, **options)
        begun.pop()

    monkeypatch.setattr(methods, "proof_steps", counted)
    keys = [f"0x{index:064x}" for index in range(2 * STEP)]
    with opened(Settings(store=str(path)), store=path, started=False) as client:
        answers = client.together(*[("rollup_getProof", ANNA, keys, "latest")] * 3)
    assert all("result" in answer for answer in answers)
    assert most == [1, 1, 1]


# The state's own


def test_a_call_from_an_account_with_code_is_estimated():
    """Wallets that are contracts, or delegate to one, EIP-7702; nodes skip the check of the sender's code."""
    wallet, target = bytes.fromhex("aa" * 20), bytes.fromhex("bb" * 20)
    accounts = {
        wallet: Account(balance=10**18, nonce=1, code=bytes.fromhex("ef0100") + target),
        target: Account(nonce=1, code=bytes.fromhex("00")),
    }
    with on_chain(ChainState(call_state=CallState(accounts=accounts, block=Block()))) as client:
        call = {"from": to_hex(wallet), "to": NOBODY, "value": "0x1"}
        assert client.result("rollup_estimateGas", call)["gasLimit"] == "0x5208"
