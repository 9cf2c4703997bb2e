"""The native engine: equal to the reference on random calls, and what its package refuses or gives up."""

import ast
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

native = pytest.importorskip("feemodel_native", reason="needs feemodel-native: pip install ./native")

from feemodel.errors import EngineFailed, ExecutionFailed, InvalidInput, LimitExceeded  # noqa: E402  # only where the package is
from feemodel.ethereum._hashes import Authorization  # noqa: E402
from feemodel.execution import Account, Block, CallState, Message, Native, Reference, Status  # noqa: E402
from feemodel.execution._forks import fork_named  # noqa: E402
from tests.helpers.engine_differences import differences  # noqa: E402
from tests.helpers.execution_engines import address  # noqa: E402
from tests.system.evm_programs import BLAKE2F, ECRECOVER_LOOP, KECCAK_LOOP, precompile_loop  # noqa: E402

TARGET, SENDER = address(0xC0DE), address(0x5E17DE5)


def call_state(code="", **changes):
    accounts = {TARGET: Account(nonce=1, code=bytes.fromhex(code)), SENDER: Account(balance=10**18)}
    return replace(CallState(accounts=accounts), **changes)


def run(state, message, gas_limit=1_000_000, engine=None):
    return (engine or Native()).execute(state, message, gas_limit)


def test_random_calls_of_every_kind_end_as_on_the_reference():
    """A hundred; `tests/system` compares more, `scripts/compare-engines 100000` prints how they ended."""
    shares, found = differences(11, 100, Native(), Reference())

    assert found == []
    assert shares["success"] > 40
    assert shares["proves other limits"] > 30


def test_a_trace_is_right_about_other_limits_under_rules_that_the_reference_lacks():
    shares, found = differences(7, 5_000, Native(), None, rules=("london", "paris", "shanghai", "cancun"))

    assert found == []
    assert shares["proves other limits"] > 2_500


def test_a_package_of_another_version_is_refused(monkeypatch):
    """What it answers would be read wrongly."""
    monkeypatch.setattr(native, "version", lambda: ("0.1.0", []))

    with pytest.raises(InvalidInput, match=r"engine: expected feemodel-native .*pip install .*, got"):
        Native()


def test_the_version_is_the_same_in_all_places():
    manifest = tomllib.loads(Path("native/Cargo.toml").read_text())["package"]["version"]
    extra = tomllib.loads(Path("pyproject.toml").read_text())["project"]["optional-dependencies"]["native"]

    assert native.version()[0] == manifest
    assert extra == [f"feemodel-native=={manifest}"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("fe", "invalid opcode: INVALID"),
        ("0c", "invalid opcode: opcode 0xc not defined"),
        ("5f56", "invalid jump destination"),
        ("50", "stack underflow"),
        ("80", "stack underflow"),
        ("5f8f", "stack underflow"),
        ("5f" * 1_025, "stack limit reached 1024"),
        ("60015f5f3e", "return data out of bounds"),
        ("5b5f56", "out of gas"),
    ],
)
def test_halts_have_the_words_of_the_reference(code, words):
    outcomes = [
        run(call_state(code), Message(sender=SENDER, to=TARGET), 50_000, engine) for engine in (Native(), Reference())
    ]

    assert outcomes[0] == outcomes[1]
    assert (outcomes[0].halt, outcomes[0].gas_used) == (words, 50_000)


def test_a_precompile_called_again_with_less_gas_runs_out_of_it():
    """ECRECOVER costs 3,000 gas, also where its output for the input is known."""
    call = "5f5f60805f600161"
    code = f"{call}0bb8fa{call}0bb7fa5f5260205260405ff3"

    assert run(call_state(code), Message(sender=SENDER, to=TARGET)).output == bytes(63) + b"\x01"


def test_numbers_beyond_64_bits_reach_the_code():
    """GASPRICE, of which revm keeps 128 bits, and BASEFEE."""
    rich = CallState(
        accounts={SENDER: Account(balance=2**255), TARGET: Account(nonce=1, code=bytes.fromhex("3a480160005260205ff3"))}
    )
    message = Message(sender=SENDER, to=TARGET, gas_price=2**127, base_fee=2**63)

    found = [run(rich, message, 100_000, engine).output for engine in (Native(), Reference())]
    assert found == [(2**127 + 2**63).to_bytes(32)] * 2


@pytest.mark.parametrize("engine", [Native, Reference])
def test_block_hashes_are_those_of_the_block_and_never_guessed(engine):
    code, message = "60014303405f5260205ff3", Message(sender=SENDER, to=TARGET)
    known = call_state(code, block=Block(number=100, hashes={99: b"\x07" * 32}))

    assert run(known, message, engine=engine()).output == b"\x07" * 32
    with pytest.raises(InvalidInput, match=r"block.hashes: .* hash of this block, which BLOCKHASH requests, got 99"):
        run(call_state(code, block=Block(number=100)), message, engine=engine())


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, 1.8e19])
def test_seconds_that_are_no_time_are_refused(seconds):
    with pytest.raises(InvalidInput, match="seconds: expected a number from 0 to"):
        run(call_state(), Message(to=TARGET), engine=Native(seconds))


@pytest.mark.parametrize("code", ["5f5f5f5f600133620186a0f1", "33ff"])
def test_a_balance_that_would_overflow_is_refused(code):
    """By a transfer, and by SELFDESTRUCT."""
    accounts = {
        TARGET: Account(balance=5, nonce=1, code=bytes.fromhex(code)), SENDER: Account(balance=2**256 - 1),
    }  # fmt: skip
    state = CallState(accounts=accounts, fork=fork_named("prague"))
    for engine in (Native(), Reference()):
        with pytest.raises(ExecutionFailed, match=r"an account would hold more than 2\*\*256 - 1 wei"):
            run(state, Message(sender=SENDER, to=TARGET), engine=engine)


def test_rules_without_authorizations_refuse_them():
    entry = Authorization(chain_id=1, address=TARGET, nonce=0, y_parity=0, r=1, s=1)
    for engine in (Native(), Reference()):
        with pytest.raises(InvalidInput, match="fork: expected Prague or later for authorizations, got 'cancun'"):
            run(
                call_state(fork=fork_named("cancun")),
                Message(sender=SENDER, to=TARGET, authorizations=(entry,)),
                engine=engine,
            )


def test_random_and_extreme_values_end_in_an_answer_or_a_named_error():
    """In a process of its own with 6 GiB: no panic, no error without a name, no end of the process."""
    command = [sys.executable, "-m", "tests.helpers.native_door", "2000", "--seed", "11"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ast.literal_eval(ended.stdout)["answered"] > 400


@pytest.mark.parametrize("engine", [Native, Reference])
@pytest.mark.parametrize("to", [None, TARGET])
def test_a_sender_whose_nonce_cannot_rise_is_refused(engine, to):
    """EIP-2681."""
    accounts = {SENDER: Account(balance=10**18, nonce=2**64 - 1)}

    with pytest.raises(InvalidInput, match=r"message.sender: expected a nonce below 2\*\*64 - 1, got"):
        run(CallState(accounts=accounts), Message(sender=SENDER, to=to), engine=engine())


def test_a_contract_whose_nonce_cannot_rise_creates_nothing():
    accounts = {SENDER: Account(balance=1), TARGET: Account(1, 2**64 - 1, bytes.fromhex("5f5f5ff05f5260205ff3"))}
    outcomes = [
        run(CallState(accounts=accounts), Message(sender=SENDER, to=TARGET), engine=engine)
        for engine in (Native(), Reference())
    ]

    assert outcomes[0] == outcomes[1]
    assert outcomes[0].output == bytes(32)


@pytest.mark.parametrize("engine", [Native, Reference])
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sender": b"short"}, "message.sender: expected 20 bytes"),
        ({"value": -1}, r"message.value: expected an integer from 0 to 2\*\*256 - 1, got -1"),
        ({"data": "0x"}, "message.data: expected bytes"),
        ({"gas_price": 2**128}, r"message.gas_price: expected an integer from 0 to 2\*\*128 - 1"),
        ({"access_list": ((TARGET, (bytes(33),)),)}, r"message.access_list\[0\]\[1\]\[0\]: expected 32 bytes"),
    ],
)
def test_a_field_that_no_transaction_could_carry_is_named(engine, fields, words):
    with pytest.raises(InvalidInput, match=words):
        run(call_state(), Message(to=TARGET)._replace(**fields), engine=engine())


@pytest.mark.parametrize("engine", [Native, Reference])
@pytest.mark.parametrize(
    ("state", "words"),
    [
        (call_state(block=Block(number=2**64)), "block.number: expected an integer"),
        (call_state(block=Block(excess_blob_gas=2**64 - 1)), "block.excess_blob_gas: expected"),
        (call_state(chain_id=-1), "chain_id: expected an integer"),
        (CallState(accounts={bytes(19): Account(1), bytes(21): Account(1)}), "accounts: expected 20 bytes"),
        (CallState(accounts={TARGET: Account(balance=-1)}), r"accounts\[0x0.*\].balance: expected an integer"),
        (CallState(accounts={TARGET: Account(storage={-1: 1})}), r"accounts\[0x0.*\].storage: expected an integer"),
    ],
)
def test_a_field_that_no_state_could_have_is_named(engine, state, words):
    with pytest.raises(InvalidInput, match=words):
        run(state, Message(to=TARGET), engine=engine())


@pytest.mark.parametrize("gas_limit", [-1, 2**29, 2**64, 1.5, None])
def test_a_gas_limit_that_no_execution_may_have_is_refused(gas_limit):
    for engine in (Native(), Reference()):
        with pytest.raises(InvalidInput, match=r"gas_limit: expected an integer from 0 to 2\*\*29 - 1, got"):
            run(call_state(), Message(to=TARGET), gas_limit, engine)


@pytest.mark.parametrize(
    "code", [ECRECOVER_LOOP, precompile_loop(BLAKE2F, (5_000_000).to_bytes(4) + bytes(208) + b"\x01")]
)
def test_an_execution_is_given_up_when_its_time_is_over(code):
    """It looks at the clock whenever code calls; the first call of BLAKE2F alone takes longer than there is time."""
    state = call_state(code.hex())

    with pytest.raises(LimitExceeded, match=r"the executions of one estimate took more than 0.01 s together"):
        run(state, Message(sender=SENDER, to=TARGET), 2**28, Native(seconds=0.01))


def test_other_threads_go_on_while_it_executes():
    """A loop over memory keeps one thread busy; Python executes in another meanwhile."""
    state, turns = call_state(KECCAK_LOOP.hex()), 0

    with ThreadPoolExecutor(1) as threads:
        executing = threads.submit(run, state, Message(sender=SENDER, to=TARGET), 50_000_000)
        while not executing.done():
            time.sleep(0)
            turns += 1

    assert executing.result().status is Status.OUT_OF_GAS
    assert turns > 100


def test_a_fault_of_the_engine_is_named_and_the_next_call_is_answered(monkeypatch):
    engine = Native()

    def panics(*_, **__):
        raise native.NativeError("index out of bounds")

    with monkeypatch.context() as broken:
        broken.setattr(native, "trace", panics)
        with pytest.raises(EngineFailed, match="the native engine failed: index out of bounds"):
            run(call_state("00"), Message(to=TARGET), engine=engine)
    assert run(call_state("00"), Message(to=TARGET), engine=engine).gas_used == 21_000
