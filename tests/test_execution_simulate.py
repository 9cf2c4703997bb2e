"""Simulated blocks: each rule by hand, on both engines. What geth answered is in test_execution_apis."""

import pytest
from ethereum_rlp import rlp

from feemodel.errors import ExecutionFailed, InvalidInput, LimitExceeded
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import from_hex
from feemodel.execution import Account, Block, CallState, EnginePool, Limits
from feemodel.execution.clients import checksummed
from feemodel.execution.forks import fork_named
from feemodel.execution.next_block import MAX_CALLS, simulate
from feemodel.execution.simulated_block import simulated_block, simulated_blocks
from tests.execution_engines import ENGINES

ANNA, BERT, CODE, MINER = (f"0x{place}" for place in ("aa" * 20, "bb" * 20, "cc" * 20, "dd" * 20))
WEI = "0x" + "ee" * 20
RICH = {ANNA: {"balance": hex(10**18)}}
BLOCK = Block(number=7, timestamp=100, gas_limit=30_000_000, base_fee=1_000)
STATE = CallState(accounts={}, block=BLOCK)


def calls(*asked, engine="auto", call_state=STATE, overrides=RICH, block=None, **options):
    """The answer for one block of these calls."""
    given = {"calls": list(asked), "stateOverrides": overrides, "blockOverrides": block or {}}
    limits = options.pop("limits", Limits())
    simulation = {"blockStateCalls": [given], **options}
    [found] = simulate(simulation, call_state, next_base_fee=875, engine=engine, limits=limits)
    return simulated_block(found)


def refused(*asked, **options):
    with pytest.raises(ExecutionFailed) as failed:
        calls(*asked, **options)
    return failed.value.code, failed.value.message


def pay(value, sender=ANNA, to=BERT, **fields):
    return {"from": sender, "to": to, "value": hex(value), **fields}


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


def coded(code, **fields):
    return {**RICH, CODE: {"code": code, **fields}}


def returned(block):
    return [int(call["returnData"], 16) for call in block["calls"]]


def test_each_call_finds_what_the_last_one_left(engine):
    """A counter: SLOAD 0, add one, SSTORE 0, return it."""
    counter = "0x5f5460010180" + "5f55" + "5f5260205ff3"

    block = calls(*[{"to": CODE}] * 3, engine=engine, overrides=coded(counter))

    assert returned(block) == [1, 2, 3]


def test_a_contract_that_one_call_creates_the_next_one_calls(engine):
    """The code of the created contract returns its own balance: SELFBALANCE, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN."""
    runtime = "475f5260205ff3"
    create = {"from": ANNA, "value": "0x5", "data": f"0x66{runtime}5f5260076019f3"}
    created = "0x" + keccak256(rlp.encode([from_hex(ANNA), b""]))[12:].hex()

    block = calls(create, pay(6, to=created), {"to": created}, engine=engine)

    assert block["calls"][0]["returnData"] == f"0x{runtime}"
    assert returned(block)[1:] == [11, 11]


def test_what_reverts_leaves_nonce_and_fee_but_no_log(engine):
    """Anna pays 10 gwei with a base fee of 1: what her call used is gone, and 9 parts of it are the miner's."""
    price = 10 * 10**9
    calling = {"from": ANNA, "to": CODE, "gasPrice": hex(price), "gas": "0x186a0"}
    # LOG0, then REVERT with nothing
    overrides = coded("0x5f5fa05f5ffd")

    [found] = simulate(
        {"blockStateCalls": [{"calls": [calling, calling], "stateOverrides": overrides,
                              "blockOverrides": {"feeRecipient": MINER, "baseFeePerGas": hex(10**9)}}]},
        CallState(accounts={}, block=BLOCK), engine=engine,
    )  # fmt: skip

    block = simulated_block(found)
    assert [call["error"] for call in block["calls"]] == [
        {"message": "execution reverted", "code": 3, "data": "0x"}
    ] * 2
    assert [call["logs"] for call in block["calls"]] == [[], []]
    used = int(block["gasUsed"], 16)
    assert used == 2 * (21_000 + 2 + 2 + 375 + 2 + 2)
    assert found.call_state.account(from_hex(ANNA)) == Account(balance=10**18 - used * price, nonce=2)
    assert found.call_state.account(from_hex(MINER)).balance == used * 9 * 10**9


def test_halts_have_geths_words(engine):
    block = calls({"to": CODE, "gas": "0xc350"}, engine=engine, overrides=coded("0xfe"))

    [call] = block["calls"]
    assert call["error"] == {"message": "invalid opcode: INVALID", "code": -32_015}
    assert (call["status"], call["gasUsed"], block["gasUsed"]) == ("0x0", "0xc350", "0xc350")


def test_payments_are_logs_in_their_place(engine):
    """Anna pays 5 to a contract that logs, passes 2 on, logs again and destroys itself for Bert; then pays Bert 1."""
    forward = f"5f5f5f5f600273{BERT[2:]}5af150"
    overrides = coded(f"0x60015f5fa1{forward}60025f5fa173{BERT[2:]}ff")

    block = calls(pay(5, to=CODE), pay(1), engine=engine, overrides=overrides, traceTransfers=True)

    logs = [log for call in block["calls"] for log in call["logs"]]
    assert [log["logIndex"] for log in logs] == [hex(number) for number in range(6)]
    paid = [(log["address"] == WEI, int(log["data"], 16) if log["address"] == WEI else None) for log in logs]
    assert paid == [(True, 5), (False, None), (True, 2), (False, None), (True, 3), (True, 1)]
    assert [log["topics"][1:] for log in logs if log["address"] == WEI][:2] == [
        ["0x" + ANNA[2:].zfill(64), "0x" + CODE[2:].zfill(64)],
        ["0x" + CODE[2:].zfill(64), "0x" + BERT[2:].zfill(64)],
    ]
    assert {log["blockHash"] for log in logs} == {block["hash"]}
    assert [log["transactionHash"] for log in logs] == [block["transactions"][0]] * 5 + [block["transactions"][1]]
    quiet = calls(pay(5, to=CODE), pay(1), engine=engine, overrides=overrides)
    assert [len(call["logs"]) for call in quiet["calls"]] == [2, 0]
    assert quiet["hash"] == block["hash"]  # payments are in no receipt


def test_a_payment_that_is_taken_back_is_no_log(engine):
    """The contract's callee reverts; CALLCODE pays its own caller."""
    overrides = coded(f"0x5f5f5f5f600273{MINER[2:]}5af1505f5f5f5f600173{BERT[2:]}5af200")
    overrides[MINER] = {"code": "0x5f5ffd"}

    [call] = calls(pay(5, to=CODE), engine=engine, overrides=overrides, traceTransfers=True)["calls"]

    assert [int(log["data"], 16) for log in call["logs"]] == [5]


def test_the_block_follows_the_newest_one(engine):
    """NUMBER, TIMESTAMP, BASEFEE, PREVRANDAO, GASLIMIT, each returned as a word."""
    opcodes = ("43", "42", "48", "44", "45")
    fields = "".join(f"{opcode}60{32 * place:02x}52" for place, opcode in enumerate(opcodes))
    code = f"0x{fields}60a05ff3"

    def words(**options):
        asked = {"from": ANNA, "to": CODE, **options.pop("call", {})}
        [call] = calls(asked, engine=engine, overrides=coded(code), **options)["calls"]
        data = from_hex(call["returnData"])
        return [int.from_bytes(data[place : place + 32]) for place in range(0, 160, 32)]

    assert words() == [8, 112, 0, 0, 30_000_000]
    assert words(validation=True, call={"maxFeePerGas": hex(875), "gas": "0x186a0"})[2] == 875
    override = {"time": "0x65", "baseFeePerGas": "0x5", "prevRandao": "0x" + "00" * 31 + "09", "gasLimit": "0xf4240"}
    assert words(block=override) == [8, 101, 5, 9, 1_000_000]


def test_gas_that_is_not_named_is_what_is_left(engine):
    """Of the block, and of what all calls of a request may use; GAS is read right behind the intrinsic cost."""
    overrides = coded("0x5a5f5260205ff3")
    block = calls({"to": CODE}, {"to": CODE}, engine=engine, overrides=overrides)
    used = int(block["calls"][0]["gasUsed"], 16)
    assert returned(block) == [30_000_000 - 21_000 - 2, 30_000_000 - used - 21_000 - 2]

    block = calls({"to": CODE}, {"to": CODE}, engine=engine, overrides=overrides, limits=Limits(gas_cap=100_000))
    assert returned(block) == [100_000 - 21_002, 100_000 - used - 21_002]


def test_what_no_block_could_have_is_refused_in_geths_words():
    who = checksummed(from_hex(ANNA))
    assert refused(pay(1, nonce="0x5"), validation=True, block={"baseFeePerGas": "0x0"})[0] == -38_011
    code, words = refused(pay(1, nonce="0x0"), overrides={ANNA: {"balance": "0x9", "nonce": "0x2"}}, validation=True)
    assert (code, words) == (-38_010, f"err: nonce too low: address {who}, tx: 0 state: 2 (supplied gas 30000000)")
    assert refused(pay(1), validation=True)[0] == -38_012
    assert refused(pay(1, gas="0x5207")) == (
        -38_013, "err: intrinsic gas too low: have 20999, want 21000 (supplied gas 20999)",
    )  # fmt: skip
    assert refused(pay(10**18 + 1)) == (
        -38_014,
        f"err: insufficient funds for gas * price + value: address {who} have {10**18} want {10**18 + 1}"
        " (supplied gas 30000000)",
    )
    assert refused(pay(1, gas=hex(30_000_001))) == (
        -38_015, "block gas limit reached: remaining: 30000000, required: 30000001",
    )  # fmt: skip
    assert refused(block={"number": "0x7"}) == (-38_020, "block numbers must be in order: 7 <= 7")
    assert refused(block={"time": "0x64"}) == (-38_021, "block timestamps must be in order: 100 <= 100")
    assert refused({"from": ANNA, "data": "0x" + "00" * 49_153})[0] == -38_025
    tipped = pay(1, maxFeePerGas="0x5", maxPriorityFeePerGas="0x6")
    assert refused(tipped)[0] == -32_602
    assert refused(pay(1, chainId="0x1")) == (-32_000, "chainId does not match node's (have=1, want=1337)")


def test_without_validation_nonces_and_missing_fees_are_let_through(engine):
    """A nonce that is named is part of the transaction's hash only."""
    found = calls(pay(1, nonce="0x63"), pay(1, nonce="0x1"), engine=engine, returnFullTransactions=True)

    assert [call["status"] for call in found["calls"]] == ["0x1", "0x1"]
    assert [one["nonce"] for one in found["transactions"]] == ["0x63", "0x1"]


def test_requests_beyond_the_limits_are_refused():
    for blocks, words in [
        ([{}] * 257, "blockStateCalls: expected at most 256, got 257"),
        ([{"calls": [{}] * 600}] * 2, "blockStateCalls: expected at most 1,000 calls, got 1,200"),
        ([{"blockOverrides": {"number": "0x108"}}], "too many blocks: at most 256 behind block 7, got 264"),
    ]:
        with pytest.raises(ExecutionFailed) as failed:
            simulate({"blockStateCalls": blocks}, STATE)
        assert (failed.value.code, failed.value.message) == (-38_026, words)
    assert MAX_CALLS == 1_000
    with pytest.raises(LimitExceeded, match="more than 0 s together"):
        calls(pay(1), pay(1), limits=Limits(seconds=0.0))


def test_blocks_follow_each_other(engine):
    """State, number, time, gas of the request and the beneficiary go on; base fees and prices of blobs are the next."""
    # A counter; TIMESTAMP, COINBASE, SELFBALANCE and GAS behind it.
    code = "0x5f54600101805f555f524260205241604052476060525a60805260a05ff3"
    blocks = [
        {"calls": [{"to": CODE}], "stateOverrides": coded(code), "blockOverrides": {"feeRecipient": MINER}},
        {"calls": [pay(5, to=CODE), {"to": CODE}], "blockOverrides": {"number": "0xa"}},
    ]
    found = simulate({"blockStateCalls": blocks}, STATE, engine=engine, limits=Limits(gas_cap=200_000))

    answers = simulated_blocks(found)
    assert [int(one["number"], 16) for one in answers] == [8, 9, 10]
    assert [int(one["timestamp"], 16) for one in answers] == [112, 124, 136]
    assert [len(one["calls"]) for one in answers] == [1, 0, 2]
    assert [one["parentHash"] for one in answers] == [None, answers[0]["hash"], answers[1]["hash"]]
    assert {one["miner"] for one in answers} == {MINER}
    words = [from_hex(call["returnData"]) for one in answers for call in one["calls"]]
    read = [[int.from_bytes(data[place : place + 32]) for place in range(0, 160, 32)] for data in words]
    assert [(count, time, balance) for count, time, _, balance, _ in read] == [(1, 112, 0), (2, 136, 5), (3, 136, 5)]
    assert read[0][4] > read[1][4] > read[2][4] > 0


def test_the_base_fee_of_a_validated_block_follows_from_the_one_before(engine):
    """Full above its target of 15 million gas by 15 million, by an eighth; empty, down by one: EIP-1559."""
    burn = pay(1, to=CODE, maxFeePerGas=hex(10_000), gas=hex(30_000_000))
    blocks = [{"calls": [burn], "stateOverrides": coded("0xfe")}, {}, {}]
    found = simulate(
        {"blockStateCalls": blocks, "validation": True}, STATE, next_base_fee=8_000, engine=engine,
    )  # fmt: skip

    assert [one.call_state.block.base_fee for one in found] == [8_000, 9_000, 7_875]


def test_the_hash_of_a_simulated_block_is_not_known(engine):
    """BLOCKHASH of block 8 in block 9: its state root is not known here. A call that needs it has no answer."""
    blocks = [{}, {"calls": [{"to": CODE}], "stateOverrides": coded("0x6008405f5260205ff3")}]
    with pytest.raises(InvalidInput, match=r"block\.hashes: expected the hash that BLOCKHASH asks for, got 8"):
        simulate({"blockStateCalls": blocks}, STATE, engine=engine)


@pytest.mark.parametrize(
    ("simulation", "words"),
    [
        ([], "simulation: expected an object of blockStateCalls, .*, got \\[\\]"),
        ({}, "blockStateCalls: expected a list of at least one block, got None"),
        ({"blockStateCalls": []}, "blockStateCalls: expected a list of at least one block, got \\[\\]"),
        ({"blockStateCalls": [5]}, "blockStateCalls\\[0\\]: expected an object of .*, got 5"),
        ({"blockStateCalls": [{"call": []}]}, "blockStateCalls\\[0\\].call: expected one of .*, got \\[\\]"),
        ({"blockStateCalls": [{"calls": {}}]}, "blockStateCalls\\[0\\].calls: expected a list of calls, got {}"),
        (
            {"blockStateCalls": [{"calls": [{}, 5]}]},
            "blockStateCalls\\[0\\].calls\\[1\\]: expected an object .*, got 5",
        ),
        (
            {"blockStateCalls": [{"calls": [{"valeu": "0x1"}]}]},
            "blockStateCalls\\[0\\].calls\\[0\\].valeu: unknown field, did you mean value\\?, got '0x1'",
        ),
        ({"blockStateCalls": [{"blockOverrides": {"beaconRoot": "0x"}}]}, "blockOverrides.beaconRoot: expected one of"),
        ({"blockStateCalls": [{"stateOverrides": {BERT: {"size": 5}}}]}, "overrides.0xbb.*.size: expected one of"),
        ({"blockStateCalls": [{}], "validation": "yes"}, "validation: expected true or false, got 'yes'"),
        ({"blockStateCalls": [{}], "validate": True}, "simulation.validate: expected one of .*, got True"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_value(simulation, words):
    with pytest.raises(InvalidInput, match=words):
        simulate(simulation, CallState(accounts={}))


def test_rules_before_london_are_refused():
    with pytest.raises(InvalidInput, match="fork: expected London or later for a simulated block, got 'berlin'"):
        simulate({"blockStateCalls": [{}]}, CallState(accounts={}, fork=fork_named("berlin")))


@pytest.mark.parametrize(
    ("fork", "absent"),
    [
        ("london", {"withdrawals", "withdrawalsRoot", "blobGasUsed", "parentBeaconBlockRoot", "requestsHash"}),
        ("shanghai", {"blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot", "requestsHash"}),
        ("cancun", {"requestsHash"}),
        ("osaka", set()),
    ],
)
def test_a_header_has_the_fields_of_its_rules(fork, absent, engine):
    block = calls(pay(1), engine=engine, call_state=CallState(accounts={}, block=BLOCK, fork=fork_named(fork)))

    assert absent.isdisjoint(block)
    assert not absent or {"withdrawals", "requestsHash", "blobGasUsed"} - absent <= block.keys()
    assert block["calls"][0]["status"] == "0x1"


def test_every_kind_of_call_is_a_transaction(engine):
    """Legacy by its gas price; of blobs, of consents and of dynamic fees by what it carries."""
    consent = {"chainId": "0x539", "address": CODE, "nonce": "0x0", "yParity": "0x0", "r": "0x1", "s": "0x1"}
    found = calls(
        pay(1, gasPrice="0x7", gas="0x5208"),
        pay(1, accessList=[{"address": BERT, "storageKeys": ["0x" + "00" * 32]}]),
        pay(1, blobVersionedHashes=["0x01" + "00" * 31], maxFeePerBlobGas="0x9"),
        pay(1, authorizationList=[consent]),
        engine=engine,
        returnFullTransactions=True,
    )

    assert [one["type"] for one in found["transactions"]] == ["0x0", "0x2", "0x3", "0x4"]
    assert found["transactions"][2]["maxFeePerBlobGas"] == "0x9"
    assert found["transactions"][3]["authorizationList"] == [consent]
    assert found["transactions"][1]["accessList"][0]["address"] == BERT
    assert (found["blobGasUsed"], {call["status"] for call in found["calls"]}) == ("0x20000", {"0x1"})
    listed = calls(pay(1), engine=engine)
    assert all(name in one for one in found["transactions"] for name in ("blockHash", "hash", "from", "gas", "v"))
    assert isinstance(listed["transactions"][0], str)


def test_the_parents_hash_is_told_to_the_chains_own_contract(engine):
    """EIP-2935: block 8 stores its parent's hash at slot 7, where the contract stands; ours returns that slot."""
    history = "0x0000f90827f1c53a10cb7a02335b175320002935"
    told = {history: {"code": "0x6007545f5260205ff3"}}
    asked = {"blockStateCalls": [{"calls": [{"to": history}], "stateOverrides": told}]}

    known = simulated_block(*simulate(asked, STATE, parent_hash=bytes([9] * 32), engine=engine))
    unknown = simulated_block(*simulate(asked, STATE, engine=engine))

    assert (known["calls"][0]["returnData"], known["parentHash"]) == ("0x" + "09" * 32,) * 2
    assert (unknown["calls"][0]["returnData"], unknown["parentHash"]) == ("0x" + "00" * 32, None)


def test_a_simulation_runs_in_a_process_that_can_be_killed():
    with EnginePool(processes=1, deadline=60) as pool:
        block = calls(pay(5), pay(2, BERT, ANNA), engine=pool)
        assert block == calls(pay(5), pay(2, BERT, ANNA), engine="reference")
    with EnginePool(processes=1, deadline=0.5) as pool:
        pool.warm_up(STATE)
        with pytest.raises(LimitExceeded):
            calls({"to": CODE}, engine=pool, overrides=coded("0x5b5f56"))
