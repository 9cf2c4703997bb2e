"""Gas by part and access lists: of both engines, as geth answers, and only for callers who ask."""

import pytest
from ethereum_rlp import rlp

from feemodel.errors import ExecutionFailed, InvalidInput
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import to_hex
from feemodel.execution._access_list import create_access_list, precompiles
from feemodel.execution._details import gas_details
from feemodel.execution._engines import engine_named
from feemodel.execution._forks import FORKS, fork_named
from feemodel.execution._gas_parts import gas_parts, intrinsic_parts
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome, Status
from feemodel.execution._pool import EnginePool
from feemodel.execution._state import Account, CallState
from tests.helpers import anvil
from tests.helpers.development import GENESIS, development_state
from tests.helpers.engine_differences import Case, cases
from tests.helpers.execution_engines import ENGINES, address
from tests.helpers.generated_calls import generated_calls
from tests.system.clients import require

SENDER, TARGET, CALLEE, OTHER = address(0x5E17DE5), address(0x7A67), address(0xCA11), address(0x07E4)
RICH = Account(balance=10**24, nonce=1)
CALL = {"from": to_hex(SENDER), "to": to_hex(TARGET)}
CALL_CALLEE = f"5f5f5f5f5f73{CALLEE.hex()}5af1"


def call_state(code, callee="", *, fork="osaka"):
    held = {
        SENDER: RICH,
        TARGET: Account(nonce=1, code=bytes.fromhex(code)),
        CALLEE: Account(nonce=1, code=bytes.fromhex(callee)),
    }
    return CallState(accounts=held, fork=fork_named(fork))


def listed(code, callee="", *, engine="reference", call=None, **options):
    found = create_access_list({**CALL, **(call or {})}, call_state(code, callee), engine=engine, **options)
    return {account: len(keys) for account, keys in found.access_list}, found


# Gas by part


def executed(engine, case):
    return engine_named(engine).run(case.call_state, lambda run: run(case.message, case.gas_limit))


def inspected(engine, case):
    return engine_named(engine).run(case.call_state, lambda run: run.inspect(case.message, case.gas_limit))


def inspections(seed, count):
    """Random calls inspected by each engine; those that no engine executes are left out."""

    def execute(*fields):
        try:
            return executed(ENGINES[0], Case(*fields))
        except (ExecutionFailed, InvalidInput):
            return Outcome(Status.REFUSED, 21_000)

    for case in cases(seed, count, execute):
        try:
            yield case, [inspected(engine, case) for engine in ENGINES]
        except (ExecutionFailed, InvalidInput):
            continue


def test_both_engines_find_the_same_parts_and_the_same_accounts_and_slots():
    assert check_same_inspections(11, 50) > 40


def check_same_inspections(seed, count):
    """Inspecting changes no outcome; before Berlin there are no access lists to compare."""
    compared = 0
    for case, found in inspections(seed, count):
        for other in found[1:]:
            assert other.contracts == found[0].contracts
            assert other.touched == found[0].touched or not case.call_state.fork.access_lists
        assert executed(ENGINES[0], case) == found[0].outcome
        compared += 1
    return compared


def test_the_parts_add_up_to_what_a_receipt_reports():
    check_parts_add_up(12, 50)


def check_parts_add_up(seed, count):
    for case, (found, *_) in inspections(seed, count):
        outcome, parts = found.outcome, gas_parts(case.message, found, case.call_state.fork)
        if outcome.status is Status.INTRINSIC or outcome.halt == "contract address collision":
            continue  # no code was executed
        assert parts.execution == sum(gas for _, gas in parts.contracts)
        assert parts.used == max(parts.intrinsic.total + parts.execution - parts.refund, parts.floor)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fork", FORKS)
@pytest.mark.parametrize("to", [TARGET, None])
def test_intrinsic_gas_is_that_of_every_fork(fork, to, engine):
    message = Message(sender=SENDER, to=to, data=b"\x00" * 40 + b"\x01" * 3)
    outcome = engine_named(engine).run(
        CallState(accounts={SENDER: RICH}, fork=fork_named(fork)), lambda execute: execute(message, 100_000)
    )

    assert outcome.gas_used == intrinsic_parts(message, fork_named(fork)).total


def test_gas_goes_to_the_contract_whose_code_used_it():
    """A delegate call runs the callee's code in the caller's name; the precompile at 2 takes 60 gas and no frame."""
    sha256 = "5f5f5f5f60025afa50"
    code = f"5f5f5f5f73{CALLEE.hex()}5af400"
    details = gas_details(CALL, call_state(code, sha256 + "00"), 100_000, engine="reference")

    assert dict(details.parts.contracts) == {
        address(2): 60,
        CALLEE: 2 + 2 + 2 + 2 + 3 + 2 + 100 + 2,
        TARGET: 4 * 2 + 3 + 2 + 2_600,
    }


# Access lists


def test_a_list_holds_slots_and_the_accounts_that_code_names():
    """The target itself is listed only with its slot; the precompile is warm without a list."""
    code = f"60015f5573{OTHER.hex()}31505f5f5f5f5f60025af150{CALL_CALLEE}00"

    assert listed(code, "5f5400")[0] == {TARGET: 1, OTHER: 0, CALLEE: 1}


def test_the_list_of_the_caller_is_kept_but_for_accounts_that_are_warm_anyway():
    brought = [
        {"address": to_hex(SENDER), "storageKeys": []},
        {"address": to_hex(OTHER), "storageKeys": []},
        {"address": to_hex(TARGET), "storageKeys": ["0x" + "07" * 32]},
    ]

    assert listed("00", call={"accessList": brought})[0] == {OTHER: 0}
    assert listed("600754", call={"accessList": brought})[0] == {OTHER: 0, TARGET: 1}


def test_a_list_that_geth_would_look_for_without_end_has_every_slot_that_was_touched():
    """The slot is read where more than 77,000 gas are left, which a list with it leaves no more."""
    code = "62012cc85a11" + "600a57" + "00" + "5b" + "60015400"
    assert listed(code, call={"gas": 100_000})[0] == {TARGET: 1}


def test_the_list_is_found_to_a_fixed_point():
    """A slot is read only where the account before it was cheap to reach, which is so once it is listed."""
    prefix = f"5a73{CALLEE.hex()}31505a9003610200" + "11"  # 512 > gas before − gas after
    jump = len(bytes.fromhex(prefix)) + 4
    code = prefix + f"60{jump:02x}57" + "00" + "5b" + "5f5400"
    found, answer = listed(code)

    assert (found, answer.executions) == ({CALLEE: 0, TARGET: 1}, 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_that_fails_has_a_list_and_its_error(engine):
    _, reverted = listed("5f545f5ffd", engine=engine)
    _, halted = listed("5f54fe", engine=engine)

    assert reverted.reply()["error"] == "execution reverted"
    assert halted.reply()["error"] == "invalid opcode: INVALID"
    assert len(reverted.reply()["accessList"]) == len(halted.reply()["accessList"]) == 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"gasPrice": "0x0"}, "gasPrice must be non-zero after london fork"),
        ({"maxFeePerGas": "0x0", "maxPriorityFeePerGas": "0x0"}, "maxFeePerGas must be non-zero"),
        ({"maxFeePerGas": "0x1"}, "maxFeePerGas (0x1) < maxPriorityFeePerGas (0x5)"),
        ({"chainId": "0x1"}, "chainId does not match node's (have=1, want=1337)"),
        ({"gasPrice": "0x1"}, "maxFeePerGas: 1, baseFee: 7"),
        ({"gas": "0x5207"}, "err: intrinsic gas too low: have 20999, want 21000"),
        ({"gas": "0x5208", "data": "0x01"}, "err: intrinsic gas too low: have 21000, want 21016"),
        ({"gas": "0x5218", "data": "0x01"}, "err: insufficient gas for floor data gas cost: have 21016, want 21040"),
        ({"gasPrice": hex(10**18)}, "err: insufficient funds for gas * price + value: address 0x"),
    ],
)
def test_what_geth_does_not_execute_is_refused_in_its_words(fields, words):
    with pytest.raises(ExecutionFailed) as refused:
        listed("00", call=fields, tip=5)

    assert words in refused.value.message


def test_a_refused_call_is_named_by_the_hash_of_its_transaction_of_any_type():
    blob = bytes([1]).ljust(32, b"\0")
    fields = {"gas": "0x5207", "blobVersionedHashes": [to_hex(blob)], "maxFeePerGas": "0x7", "maxFeePerBlobGas": "0x2"}
    # chain id 1337, nonce 1, tip 5, max fee 7, gas 20,999, target, value, data, access list, blobs; v, r and s
    items = [b"\5\x39", b"\1", b"\5", b"\7", b"\x52\7", TARGET, b"", b"", [], b"\2", [blob], b"", b"", b""]

    with pytest.raises(ExecutionFailed, match=to_hex(keccak256(b"\3" + rlp.encode(items)))):
        listed("00", call=fields, tip=5)


def test_rules_before_berlin_have_no_access_lists():
    with pytest.raises(InvalidInput, match="expected Berlin or later"):
        create_access_list(CALL, call_state("00", fork="istanbul"), engine="reference")
    assert gas_details(CALL, call_state("00", fork="istanbul"), 21_000, engine="reference").access_list is None


def test_precompiles_are_those_of_the_specification():
    from importlib import import_module

    for name in ("berlin", "london", "paris", "shanghai", "cancun", "prague", "osaka"):
        known = import_module(f"ethereum.forks.{name}.vm.precompiled_contracts.mapping").PRE_COMPILED_CONTRACTS
        assert set(precompiles(fork_named(name))) == set(map(bytes, known))


def test_all_engines_answer_generated_calls_alike():
    with EnginePool(1, deadline=60) as pool:
        for generated in generated_calls(5, 30):
            answers = []
            for engine in (*ENGINES, pool):
                try:
                    found = create_access_list(
                        generated.call, development_state(), overrides=generated.overrides, engine=engine
                    )
                    answers.append(found.reply())
                except ExecutionFailed as error:
                    answers.append(error.message)
            assert all(answer == answers[0] for answer in answers), generated


def accounts_of(answer):
    """Accounts with their slots, and the gas with them."""
    return {entry["address"]: set(entry["storageKeys"]) for entry in answer["accessList"]}, answer["gasUsed"]


def test_access_lists_are_those_of_anvil():
    """Where anvil is as geth: it takes no override, gives back for consents that are listed, keeps warm accounts that a
    caller lists, answers senders without funds, and gives no list of a call that fails."""
    require(anvil.binary())
    state, compared = development_state(), 0
    with anvil.running(GENESIS) as peer:
        for generated in generated_calls(7, 120):
            call = generated.call
            if generated.overrides or "authorizationList" in call or "accessList" in call:
                continue
            try:
                found = create_access_list(call, state)
            except ExecutionFailed:
                continue
            if not found.outcome.succeeded:
                continue
            theirs = peer.ask("eth_createAccessList", call, "latest")["result"]
            assert accounts_of(found.reply()) == accounts_of(theirs), generated
            compared += 1
    assert compared > 40
