"""Real blocks executed again: what the chain recorded, and what its node had estimated."""

import gzip
import json

import coincurve
import pytest

import feemodel
from feemodel.estimates import Gas, Measuring
from feemodel.ethereum import parse_call
from feemodel.execution import Account, estimate_gas
from feemodel.execution._engines import engine_named
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.pricing_forms import CostPerByte
from feemodel.sizes._lzss import Lzss
from tests.helpers.captures import parse_replay, read_replay
from tests.helpers.development import account_of, consent
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE, address
from tests.helpers.inputs import SMALL
from tests.helpers.replay import main
from tests.helpers.replay_comparison import compare_transactions
from tests.helpers.replays import execute_again, is_reproduced, steps

SENDER, TARGET = address(0x5E17DE5), address(0x7A67)
RECORD = PricingRecord(30_000_000, 1_000_000_000, 41_904_000).to_bytes()


def word(value):
    return f"0x{value:064x}"


def account(key, *, balance=0, nonce=0, code=""):
    return {"address": f"0x{key.hex()}", "balance": word(balance), "nonce": nonce, "code": f"0x{code}"}


def transaction(**fields):
    outcome = {
        "status": True,
        "gasUsed": 21_000,
        "output": "0x",
        "accounts": [],
        "storage": [],
    }
    outcome |= fields.pop("outcome", {})
    base = {
        "sender": f"0x{SENDER.hex()}", "to": {"value": f"0x{TARGET.hex()}"}, "nonce": 0, "value": word(0),
        "payload": "0x", "gasLimit": 100_000, "gasPrice": {"value": word(60_000_000)}, "maxFeePerGas": {},
        "maxPriorityFeePerGas": {}, "maxFeePerBlobGas": {}, "chainId": 59144, "accessList": {"value": []},
        "type": "FRONTIER", "r": "1", "s": "1", "v": "1ce34",
    }  # fmt: skip
    return base | fields | {"outcome": outcome}


def capture(*transactions, **fields):
    header = {
        "number": 10, "timestamp": 20, "gasLimit": 30_000_000, "baseFee": {"value": word(7)},
        "parentHash": word(4), "coinbase": f"0x{bytes(20).hex()}", "mixHashOrPrevRandao": word(5),
        "difficulty": word(0),
        "extraData": f"0x{RECORD.hex()}",
    }  # fmt: skip
    return {
        "fork": "OSAKA",
        "accounts": [account(SENDER, balance=10**18), account(TARGET, nonce=1, code="5f5460010180" "5f555f5260205ff3")],
        "storage": [{"address": f"0x{TARGET.hex()}", "key": word(0), "value": word(6)}],
        "blockHashes": [{"blockNumber": 9, "blockHash": word(1)}],
        "blocks": [{"header": header, "txs": list(transactions)}],
    } | fields  # fmt: skip


#: Counts up a slot and returns it: 21,000, then 2,100 + 2,900 for the slot and 26 for the rest.
COUNTED = {
    "gasUsed": 26_026,
    "output": word(7),
    "storage": [{"address": f"0x{TARGET.hex()}", "key": word(0), "value": word(7)}],
}
AGAIN = {"gasUsed": 26_026, "output": word(8)}


def parsed(*transactions, **fields):
    return parse_replay(json.dumps(capture(*transactions, **fields)).encode())


def test_what_is_not_as_recorded_is_said():
    (row,) = compare_transactions(parsed(transaction(outcome=COUNTED | {"gasUsed": 26_030})), codec="zstd")

    assert not row.reproduced
    assert (row.outcome.gas_used, row.same_outcome) == (26_026, True)
    (row,) = compare_transactions(parsed(transaction(outcome=COUNTED | {"output": word(9)})), codec="zstd")
    assert (row.reproduced, row.same_outcome) == (False, False)


def test_a_created_contract_is_there_for_the_next_transaction():
    """The capture has its code as the output of the creation only."""
    creation = transaction(to={}, payload="0x60fe60005360016000f3", outcome={"gasUsed": 0, "output": "0xfe"})
    replay = parsed(creation, transaction(nonce=1))
    _, call_state = (step.call_state for step in steps(replay))
    (created,) = call_state.accounts.keys() - {SENDER, TARGET}

    assert call_state.account(created) == Account(nonce=1, code=b"\xfe")


def test_a_comparison_has_the_estimate_the_fee_and_the_rule():
    transfer = transaction(to={"value": f"0x{'11' * 20}"})
    (row,) = compare_transactions(parsed(transfer), codec="zstd", measured="signed", packed=False)

    assert row.estimate.gas_limit == 21_000
    costs = {"variable_cost": 10**9, "fixed_cost": 30_000_000, "margin": 1.2}
    assert row.estimate.priority_fee == feemodel.priority_fee(row.estimate.compressed_size, 21_000, **costs)
    assert [verdict.offered_price for verdict in row.stages] == [60_000_000] * 3
    assert [(verdict.check.gas, verdict.accepted) for verdict in row.stages] == [
        ("limit", True), ("limit", True), ("used", True),
    ]  # fmt: skip


LISTED = {"accessList": {"value": [{"address": f"0x{TARGET.hex()}", "storageKeys": [word(0)]}]}}
PRICES = {
    "gasPrice": {},
    "maxFeePerGas": {"value": word(60_000_000)},
    "maxPriorityFeePerGas": {"value": word(60_000_000)},
}
BLOBS = {"maxFeePerBlobGas": {"value": word(1)}, "blobVersionedHashes": ["0x01" + "00" * 31]}
#: Signed by nobody who can be found: it costs its gas and delegates nothing.
AUTHORIZED = {
    "authorizationList": [
        {"chainId": word(0), "address": f"0x{TARGET.hex()}", "nonce": 0, "yParity": 0, "r": word(1), "s": word(0)}
    ]
}


@pytest.mark.parametrize(
    ("fields", "gas"),
    [
        ({"type": "FRONTIER"}, 26_026),
        ({"type": "ACCESS_LIST"}, 26_026),
        ({"type": "ACCESS_LIST"} | LISTED, 26_026 + 2_400 + 1_900 - 2_000),  # the slot is warm
        ({"type": "EIP1559"} | PRICES, 26_026),
        ({"type": "EIP1559"} | PRICES | LISTED, 26_026 + 2_400 + 1_900 - 2_000),
        ({"type": "BLOB"} | PRICES | BLOBS, 26_026),
        ({"type": "DELEGATE_CODE"} | PRICES | AUTHORIZED, 26_026 + 25_000),
    ],
)
def test_transactions_of_every_type_are_executed_and_estimated(fields, gas):
    (row,) = compare_transactions(parsed(transaction(**fields, outcome=COUNTED | {"gasUsed": gas})), codec="zstd")

    assert row.reproduced
    assert row.gas.gas_limit >= gas
    has_fee = fields["type"] not in ("BLOB", "DELEGATE_CODE")  # no fee is published for these
    assert (row.estimate is not None, row.size is not None) == (has_fee, has_fee)


@pytest.mark.parametrize(
    ("kind", "field", "item"),
    [("BLOB", "blobVersionedHashes", "hash"), ("DELEGATE_CODE", "authorizationList", "authorization")],
)
def test_a_transaction_without_the_list_of_its_type_is_not_executed_without_it(kind, field, item):
    (row,) = compare_transactions(parsed(transaction(type=kind, **PRICES)), codec="zstd")

    expected = f"{field}: expected at least one {item} in a transaction of type {kind}, got []"
    assert (row.outcome, row.gas, row.refusal, row.failure) == (None, None, expected, expected)


def test_a_delegation_is_there_for_the_next_transaction():
    """The capture has no word of it: the authority was not touched."""
    key = coincurve.PrivateKey(bytes(31) + b"\x07")
    authority, signed = account_of(key), consent(key, 0, TARGET, 0)
    entry = {
        "chainId": word(0), "address": f"0x{TARGET.hex()}", "nonce": 0, "yParity": signed.y_parity,
        "r": word(signed.r), "s": word(signed.s),
    }  # fmt: skip
    delegates = transaction(type="DELEGATE_CODE", authorizationList=[entry], **PRICES)
    late = transaction(type="DELEGATE_CODE", authorizationList=[entry], **PRICES, nonce=1)
    call_states = [step.call_state for step in steps(parsed(delegates, late, transaction(nonce=2)))]

    delegated = Account(nonce=1, code=bytes.fromhex("ef0100") + TARGET)
    assert [call_state.account(authority) for call_state in call_states] == [Account(), delegated, delegated]


#: 1,000 as Java writes it
THOUSAND = [
    [3, -24],
    [3, 232],
    [0] * 30 + [3, -24],
    1_000,
    "0x3e8",
    word(1_000),
    {"bytes": [3, -24], "offset": 0, "length": 2},
    {"bytes": [9, 3, -24, 9], "offset": 1, "length": 2, "hashCode": -7},
    {"bytes": {"bytes": [9, 0, 3, -24, 9], "offset": 1, "length": 3}, "offset": 1, "length": 2},
    {"byteBuffer": {"hb": [9, 9, 3, -24], "offset": 1, "bigEndian": True}, "offset": 1, "length": 2},
    {"values": [[3], {"bytes": [-24], "offset": 0, "length": 1}], "size": 2},
    {"delegate": {"bytes": [3, -24], "offset": 0, "length": 2}},
    {"value": {"delegate": "0x03e8"}},
    {"value": {"ints": [0] * 7 + [1_000]}},
    {"signum": 1, "mag": [1_000], "bitCountPlusOne": 0},
]


@pytest.mark.parametrize("written", THOUSAND, ids=json.dumps)
def test_the_blob_base_fee_of_the_capture_is_what_code_reads(written):
    code = [account(SENDER, balance=10**18), account(TARGET, nonce=1, code="4a5f5260205ff3")]
    outcome = {"gasUsed": 21_000 + 15, "output": word(1_000)}
    replay = parsed(transaction(outcome=outcome), accounts=code, blobBaseFees={"10": written})
    (step,) = steps(replay)

    assert is_reproduced(step, execute_again(step, engine_named("reference"))[0])


@pytest.mark.parametrize(("gas", "code"), [(26_026, 0), (26_030, 1)])
def test_the_command_says_whether_all_is_as_recorded(tmp_path, capsys, gas, code):
    path = tmp_path / "capture.json.gz"
    path.write_bytes(gzip.compress(json.dumps(capture(transaction(outcome=COUNTED | {"gasUsed": gas}))).encode()))

    assert main([str(path), "--json", "--engine", "reference"]) == code
    document = json.loads(capsys.readouterr().out)
    (row,) = document["transactions"]
    estimated = row["gas"]["estimated"]
    assert 26_026 <= estimated <= 26_026 / (1 - 0.015)  # the reference engine bisects
    assert set(row) >= {"executionFailure", "estimateFailure", "signedSize", "compressedSize", "priorityFeePerGas"}
    assert row["gas"] == {"limit": 100_000, "recorded": gas, "used": 26_026, "estimated": estimated}
    assert main([str(path), "--exact"]) == code
    assert f"{1 - code:7,}  gas and outcome reproduced\n" in capsys.readouterr().out


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_the_command_says_by_which_rules_a_capture_is_reproduced(tmp_path, capsys):
    path = tmp_path / "capture.json"
    document = capture(transaction(outcome=COUNTED), transaction(nonce=1, outcome=AGAIN))
    path.write_text(json.dumps(document | {"fork": "LONDON"}))

    def said(*options):
        code = main([str(path), "--json", *options])
        answer = json.loads(capsys.readouterr().out)
        return code, answer["fork"], answer["forkFrom"], answer["reproducedBy"]

    assert said() == (1, "london", "file", ["shanghai", "cancun", "prague", "osaka"])
    assert said("--fork", "Prague") == (0, "prague", "option", None)
    assert said("--fork", "paris") == (1, "paris", "option", None)
    del document["fork"]
    path.write_text(json.dumps(document))
    assert said() == (0, "osaka", "default", None)
    path.write_text(json.dumps(capture(transaction(outcome=COUNTED | {"gasUsed": 1}))))
    assert said()[3] == []


#: Captures of real blocks: the rules that their outcomes were recorded under, and how many transactions they have.
CAPTURES = [
    ("28279135-28279249.mainnet", "osaka", 300),
    ("5995097.mainnet", "osaka", 10),
    ("6110045.mainnet", "osaka", 2),
    ("6569423.mainnet", "osaka", 41),
    ("londonRunAsOsaka-2250197.mainnet", "london", 6),
    ("londonRunAsOsaka-2492975-2492977.mainnet", "london", 159),
    ("londonRunAsOsaka-254251.sepolia", "london", 2),
    ("londonRunAsOsaka-3318494.sepolia", "london", 1),
    ("londonRunAsOsaka-4323985.mainnet", "london", 32),
    ("londonRunAsOsaka-50020-50029.mainnet", "london", 136),  # two contracts destroy themselves, others come later
    ("londonRunAsOsaka-8718330.mainnet", "london", 9),
    ("osaka-21511543.sepolia", "osaka", 3),
    ("osaka-21511580.sepolia", "osaka", 3),
    ("osaka-5000544.mainnet", "osaka", 35),
    ("osaka-6020023-6020029.mainnet", "osaka", 38),  # four contracts destroy themselves while they are created
    ("osaka-incident-1445-23985771.sepolia", "osaka", 2),
    ("pragueRunAsOsaka-19562399-19562417.sepolia.prague", "prague", 41),
]


@pytest.mark.parametrize(("name", "fork", "count"), CAPTURES)
def test_every_transaction_takes_the_recorded_gas_and_returns_what_is_recorded(shared, name, fork, count):
    if fork == "london" and not HAS_NATIVE:
        pytest.skip(WITHOUT_NATIVE)
    file = shared / "data" / "replays" / f"{name}.json.gz"
    if shared == SMALL and not file.is_file():
        pytest.skip("too large for the repository: set FEEMODEL_SHARED to the folder of all inputs")
    replay = read_replay(file)
    engine = engine_named("auto")
    unlike = []
    found = list(steps(replay, fork=fork))
    for step in found:
        outcome, _ = execute_again(step, engine)
        if not is_reproduced(step, outcome):
            unlike.append((step.block.number, step.index, outcome.gas_used, step.transaction.gas_used))

    assert (len(found), unlike) == (count, [])


def test_no_capture_is_left_out(full_inputs):
    files = {file.name for file in (full_inputs / "data" / "replays").glob("*.json*")}

    assert files == {f"{name}.json.gz" for name, _, _ in CAPTURES}


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)  # they need more gas than the reference engine takes
def test_estimate_and_fee_are_those_that_stand_on_the_chain(full_inputs):
    """Fifteen transactions whose fees explain the estimate before them: to the unit, to the byte, to the wei."""
    published = json.loads((full_inputs / "vectors" / "linea" / "fees.json").read_bytes())
    vectors = published["mainnet_exact_priority_fee"]["items"]
    dictionary = Lzss.from_file(full_inputs / "data" / "linea-dict-2025-04-21.bin")
    measuring = Measuring(dictionary, "signed", packed=True)
    recent = steps(read_replay(full_inputs / "data" / "replays" / f"{CAPTURES[0][0]}.json.gz"))
    call_states = {(step.block.number, step.index): (step.call_state, step.block) for step in recent}
    for vector in vectors:
        call_state, block = call_states[vector["block"], vector["txIndex"]]
        record = PricingRecord.from_bytes(block.extra_data)
        call, form = parse_call(vector["call"]), CostPerByte(record.variable_cost, record.fixed_cost)
        nonce = call_state.account(call.from_address).nonce
        gas = Gas(estimate_gas(call, call_state).gas_limit, nonce, call_state.chain_id)
        found = measuring.priced(call, gas, form=form, margin=vector["minMargin"])
        expected = (vector["gasEstimate"], vector["compressedTxSize"], vector["priorityFeePerGas"])
        assert (found.gas_limit, found.compressed_size, found.priority_fee) == expected, vector["block"]
    assert len(vectors) == 15
