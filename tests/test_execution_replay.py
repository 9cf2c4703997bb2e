"""Real blocks executed again: what the chain recorded, and what its node had estimated."""

import gzip
import json

import pytest

import feemodel
from feemodel.cli.replay import add_arguments, run
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.execution import Account, compare_transactions, estimate_gas, rollup_estimate
from feemodel.execution.engines import engine_named
from feemodel.execution.replay import execute_again, steps
from feemodel.fees.forms import CostPerByte
from feemodel.fees.record import PricingRecord
from feemodel.io.replay import parse_replay, read_replay
from feemodel.sizes.lzss import Lzss
from tests.execution_engines import address

SENDER, TARGET = address(0x5E17DE5), address(0x7A67)
RECORD = PricingRecord(30_000_000, 1_000_000_000, 41_904_000).to_bytes()
RECENT = "28279135-28279249"


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
        "logs": [],
        "selfDestructs": [],
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


def test_every_transaction_runs_on_what_the_ones_before_it_left():
    replay = parsed(transaction(outcome=COUNTED), transaction(nonce=1, outcome=AGAIN))
    found = list(compare_transactions(replay, codec="zstd"))

    assert [row.reproduced for row in found] == [True, True]
    assert [row.outcome.gas_used for row in found] == [26_026, 26_026]
    assert [replay.world(before=(10, index)).account(TARGET).storage[0] for index in (0, 1)] == [6, 7]


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
    world = replay.world(before=(10, 1))
    (created,) = world.accounts.keys() - {SENDER, TARGET}

    assert world.account(created) == Account(nonce=1, code=b"\xfe")


def test_a_comparison_has_the_estimate_the_fee_and_the_rule():
    transfer = transaction(to={"value": f"0x{'11' * 20}"})
    (row,) = compare_transactions(parsed(transfer), codec="zstd", measured="signed", packed=False)

    assert row.estimate.gas.gas_limit == 21_000
    costs = {"variable_cost": 10**9, "fixed_cost": 30_000_000, "margin": 1.2}
    assert row.estimate.fee.total == feemodel.priority_fee(row.estimate.compressed_size, 21_000, **costs)
    assert [verdict.offered_price for verdict in row.stages] == [60_000_000] * 3
    assert [(verdict.stage.gas, verdict.accepted) for verdict in row.stages] == [
        ("limit", True), ("limit", True), ("used", True),
    ]  # fmt: skip


def test_an_estimate_that_fails_is_part_of_the_answer():
    halts = [account(SENDER, balance=10**18), account(TARGET, nonce=1, code="fe")]
    failed = transaction(outcome={"status": False, "gasUsed": 100_000})
    (row,) = compare_transactions(parsed(failed, accounts=halts), codec="zstd")

    assert row.reproduced
    assert (row.estimate, row.wallet, row.failure) == (None, None, "invalid opcode: INVALID")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blocks": None}, r"the document\.blocks: expected a list"),
        ({"accounts": [{}]}, r"the document\.accounts\[0\]\.address"),
        ({"storage": [{"address": "0x" + "11" * 20}]}, r"the document\.storage\[0\]\.key"),
        ({"blocks": []}, "expected transactions of one chain"),
    ],
)
def test_a_wrong_capture_is_refused_with_the_place(change, message):
    with pytest.raises(InvalidInput, match=message):
        parsed(transaction(), **change)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"r": "0x1"}, r"blocks\[0\]\.txs\[0\]\.r: expected up to 64 hexadecimal digits"),
        ({"gasLimit": -1}, r"txs\[0\]\.gasLimit"),
        ({"accessList": {"value": [1]}}, r"txs\[0\]\.accessList: expected none"),
        ({"outcome": {"status": 1}}, r"outcome\.status: expected true or false"),
    ],
)
def test_a_wrong_transaction_is_refused_with_the_place(fields, message):
    with pytest.raises(InvalidInput, match=message):
        parsed(transaction(**fields))


def test_a_transaction_that_is_not_there_is_refused():
    with pytest.raises(InvalidInput, match="before: expected the number of a captured block and an index in it"):
        parsed(transaction()).world(before=(10, 1))


def test_a_file_that_is_no_capture_is_named(tmp_path):
    path = tmp_path / "capture.json"
    path.write_text("{}")

    with pytest.raises(UnreadableFile, match=r"capture\.json: the document\.blocks: expected a list"):
        read_replay(path)


@pytest.fixture
def verb():
    import argparse

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    parser.add_argument("--json", action="store_true")
    return lambda *options: run(parser.parse_args([str(option) for option in options]))


@pytest.mark.parametrize(("gas", "code"), [(26_026, 0), (26_030, 1)])
def test_the_verb_says_whether_all_is_as_recorded(tmp_path, capsys, verb, gas, code):
    path = tmp_path / "capture.json.gz"
    path.write_bytes(gzip.compress(json.dumps(capture(transaction(outcome=COUNTED | {"gasUsed": gas}))).encode()))

    assert verb(path, "--json", "--engine", "reference") == code
    (row,) = json.loads(capsys.readouterr().out)["transactions"]
    assert row["gas"] == {"limit": 100_000, "recorded": gas, "used": 26_026, "estimated": 26_368}
    assert verb(path, "--exact") == code
    printed = capsys.readouterr().out
    assert "1 transactions executed again" in printed
    assert ("Not as recorded" in printed) == bool(code)


@pytest.fixture(scope="module")
def recent(shared):
    return read_replay(shared / "data" / "replays" / f"{RECENT}.mainnet.json.gz")


def reproduced(replay, engine, chosen=lambda step: True):
    count = 0
    for step in filter(chosen, steps(replay)):
        outcome, _ = execute_again(step, engine)
        recorded = step.transaction
        place = (step.block.number, step.index)
        assert (outcome.succeeded, outcome.gas_used) == (recorded.succeeded, recorded.gas_used), place
        assert outcome.output == recorded.output, place
        count += 1
    return count


def test_300_transactions_take_the_recorded_gas_and_return_what_is_recorded(recent):
    assert reproduced(recent, engine_named("auto")) == 300


@pytest.mark.parametrize(("name", "count"), [("5995097", 10), ("6110045", 2), ("6569423", 41)])
def test_older_transactions_do_as_well(shared, name, count):
    """Captured in 2024, and recorded by Osaka's rules, as what a creation pays for its code shows."""
    replay = read_replay(shared / "data" / "replays" / f"{name}.mainnet.json.gz")

    assert reproduced(replay, engine_named("auto")) == count


def test_the_reference_alone_reproduces_them_too(recent):
    def is_chosen(step):
        return step.index == 0 and step.transaction.gas_used < 100_000

    assert reproduced(recent, engine_named("reference"), is_chosen) > 30


def test_estimate_and_fee_are_those_that_stand_on_the_chain(shared, recent):
    """Fifteen transactions whose fees explain the estimate before them: to the unit, to the byte, to the wei."""
    published = json.loads((shared / "vectors" / "linea" / "fees.json").read_bytes())
    vectors = published["mainnet_exact_priority_fee"]["items"]
    dictionary = Lzss.from_file(shared / "data" / "linea-dict-2025-04-21.bin")
    worlds = {(step.block.number, step.index): (step.world, step.block) for step in steps(recent)}
    for vector in vectors:
        world, block = worlds[vector["block"], vector["txIndex"]]
        record = PricingRecord.from_bytes(block.extra_data)
        found = rollup_estimate(
            vector["call"],
            world,
            form=CostPerByte(record.variable_cost, record.fixed_cost),
            margin=vector["minMargin"],
            codec=dictionary,
            measured="signed",
            packed=True,
        )
        expected = (vector["gasEstimate"], vector["compressedTxSize"], vector["priorityFeePerGas"])
        assert (found.gas.gas_limit, found.compressed_size, found.fee.total) == expected, vector["block"]
    assert len(vectors) == 15


def test_a_real_transfer_is_estimated_without_any_file():
    """Linea mainnet block 28,279,187, transaction 0, its balance as captured."""
    sender = "0x87d93fb637181954db31ae1fc4856d1e408ad8b9"
    call = {"from": sender, "to": "0x88eb991bc0457440c0059d19461a50329b8034a7", "value": "0xb0b37a14311ae5"}
    world = parsed(transaction()).world(before=(10, 0))
    found = estimate_gas(call, world, overrides={sender: {"balance": 10**18, "nonce": 20}})

    assert (found.gas_limit, found.executions) == (21_000, 1)
