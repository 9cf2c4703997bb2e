"""The reference engine: the specification's own gas, on every fork."""

import subprocess
import sys

import pytest

from feemodel.errors import ExecutionFailed, InvalidInput
from feemodel.ethereum._hashes import Authorization
from feemodel.execution import Account, Block, CallState, Message, Reference, Status, estimate_gas
from feemodel.execution._forks import FORKS, fork_named
from tests.helpers.execution_engines import address, run_once

SENDER, TARGET, OTHER = address(0x5E17DE5), address(0x7A67), address(0x07E5)
FUNDED = Account(balance=10**18)


def call_state(code="", *, fork="osaka", storage=None, **others):
    accounts = {SENDER: FUNDED, TARGET: Account(nonce=1, code=bytes.fromhex(code), storage=storage or {})}
    return CallState(accounts=accounts | others.pop("accounts", {}), fork=fork_named(fork), block=Block(**others))


def gas(code, **options):
    return run_once(call_state(code, **options), Message(sender=SENDER, to=TARGET), 1_000_000).gas_used - 21_000


@pytest.mark.parametrize(
    ("code", "storage", "expected", "refund"),
    [
        ("00", {}, 0, 0),
        ("60015f55", {}, 3 + 2 + 22_100, 0),  # a new slot, cold: EIP-2929
        ("60025f55", {0: 1}, 3 + 2 + 5_000, 0),  # another value
        ("5f5f55", {0: 1}, 2 + 2 + 5_000, 4_800),  # cleared: EIP-3529
        ("5f545f54", {}, 2 + 2_100 + 2 + 100, 0),  # the second read is warm
        ("60051e", {}, 3 + 5, 0),  # CLZ: EIP-7939
        ("4a", {}, 2, 0),  # BLOBBASEFEE
        ("60015f5d5f5c", {}, 3 + 2 + 100 + 2 + 100, 0),  # TSTORE and TLOAD: EIP-1153
        ("5f5f5f5f6101005afa", {}, 4 * 2 + 3 + 2 + 100 + 6_900, 0),  # P256VERIFY: EIP-7951
    ],
)
def test_opcodes_cost_what_their_eips_say(code, storage, expected, refund):
    outcome = run_once(call_state(code, storage=storage), Message(sender=SENDER, to=TARGET), 1_000_000)

    assert (outcome.gas_used - 21_000, outcome.refund) == (expected, min(refund, outcome.gas_used // 5))


PRAGUE = list(FORKS)[list(FORKS).index("prague") :]


def test_every_fork_since_prague_runs_and_none_before():
    for name in PRAGUE:
        outcome = run_once(call_state("602a60005260206000f3", fork=name), Message(sender=SENDER, to=TARGET), 100_000)
        assert (outcome.status, int.from_bytes(outcome.output, "big")) == (Status.SUCCESS, 42), name
    with pytest.raises(InvalidInput, match="fork: expected Prague or later on the reference engine, got 'cancun'"):
        run_once(call_state(fork="cancun"), Message(sender=SENDER, to=TARGET), 100_000)


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("fe", Status.HALT, "invalid opcode: INVALID"),
        ("0c", Status.HALT, "invalid opcode: opcode 0xc not defined"),
        ("01", Status.HALT, "stack underflow"),
        ("5f56", Status.HALT, "invalid jump destination"),
        ("60015f5f3e", Status.HALT, "return data out of bounds"),
        ("5b5f56", Status.OUT_OF_GAS, "out of gas"),
        ("5f5ffd", Status.REVERT, "execution reverted"),
    ],
)
def test_what_stops_it_is_named(code, status, words):
    outcome = run_once(call_state(code), Message(sender=SENDER, to=TARGET), 50_000)

    assert (outcome.status, outcome.halt) == (status, words)
    assert (outcome.gas_used == 50_000) == (status is not Status.REVERT)


def test_a_precompile_that_fails_takes_all_gas():
    outcome = run_once(call_state(), Message(sender=SENDER, to=address(0x0A), data=b"x"), 100_000)

    assert (outcome.status, outcome.gas_used) == (Status.HALT, 100_000)


def test_its_default_gas_cap_bounds_the_time_of_an_estimate():
    """An endless loop is executed once, with a million gas."""
    state = call_state("5b5f56")
    call = {"from": SENDER, "to": TARGET, "data": "0x00"}
    with pytest.raises(ExecutionFailed, match=r"gas required exceeds allowance \(1000000\)"):
        estimate_gas(call, state, engine="reference", search="geth")
    outcome = run_once(state, Message(sender=SENDER, to=TARGET), 200_000)
    assert outcome.gas_used == 200_000


def test_calldata_has_a_floor_since_prague():
    message = Message(sender=SENDER, to=OTHER, data=b"\x01" * 100)

    assert run_once(call_state(fork="prague"), message, 100_000).charged == 25_000
    assert run_once(call_state(fork="prague"), message, 24_999).status is Status.INTRINSIC
    assert run_once(call_state(fork="prague"), message, 25_000).status is Status.SUCCESS


def test_an_access_list_costs_and_warms():
    listed = ((TARGET, (bytes(32),)),)

    assert gas("5f54") == 2 + 2_100
    outcome = run_once(call_state("5f54"), Message(sender=SENDER, to=TARGET, access_list=listed), 100_000)
    assert outcome.gas_used == 21_000 + 2_400 + 1_900 + 2 + 100


def test_a_creation_pays_for_its_code():
    outcome = run_once(call_state(), Message(sender=SENDER, to=None, data=bytes.fromhex("60205ff3")), 200_000)

    intrinsic = 21_000 + 32_000 + 4 * 16 + 2
    assert outcome.gas_used == intrinsic + 3 + 2 + 3 + 32 * 200
    assert outcome.output == bytes(32)


def test_the_sender_has_paid_and_counted_before_its_call_runs():
    pays = Message(sender=SENDER, to=TARGET, gas_price=10)
    balance = run_once(call_state("33315f5260205ff3"), pays, 100_000).output

    assert int.from_bytes(balance, "big") == 10**18 - 10 * 100_000
    # A sender that nobody ever saw exists by then: the hash of its code is that of no code.
    unseen = run_once(call_state("333f5f5260205ff3"), Message(sender=address(0x999), to=TARGET), 100_000).output
    assert unseen.hex().startswith("c5d246")


def test_a_sender_that_cannot_pay_is_refused():
    with pytest.raises(InvalidInput, match=r"message\.sender: expected a balance of at least 1,000,000 wei"):
        run_once(call_state(), Message(sender=OTHER, to=TARGET, gas_price=10), 100_000)


def test_base_fee_and_price_are_what_the_message_says():
    message = Message(sender=SENDER, to=TARGET, gas_price=9, base_fee=7)
    output = run_once(call_state("485f523a60205260405ff3"), message, 100_000).output

    assert (output[31], output[63]) == (7, 9)


def test_block_hashes_are_those_of_the_block_and_never_guessed():
    code = "6008405f5260205ff3"
    known = call_state(code, number=10, hashes={8: b"\x07" * 32})

    assert run_once(known, Message(sender=SENDER, to=TARGET), 100_000).output == b"\x07" * 32
    with pytest.raises(
        InvalidInput, match=r"block\.hashes: expected the hash of this block, which BLOCKHASH requests, got 8"
    ):
        run_once(call_state(code, number=10), Message(sender=SENDER, to=TARGET), 100_000)


def test_a_delegated_account_runs_the_code_it_names():
    state = call_state("602a5f5260205ff3", accounts={OTHER: Account(nonce=1, code=b"\xef\x01\x00" + TARGET)})
    outcome = run_once(state, Message(sender=SENDER, to=OTHER), 100_000)

    assert outcome.output[-1] == 42
    assert outcome.gas_used == gas("602a5f5260205ff3") + 21_000


def test_an_authorization_costs_what_an_empty_account_does():
    entry = Authorization(chain_id=1, address=TARGET, nonce=0, y_parity=0, r=1, s=1)
    message = Message(sender=SENDER, to=OTHER, authorizations=(entry, entry))

    assert run_once(call_state(), message, 100_000).gas_used == 21_000 + 2 * 25_000


def test_calls_may_nest_deeper_than_python_would():
    """Each level keeps 1/64 of the gas: four million are enough for some four hundred levels."""
    outcome = run_once(call_state("5f5f5f5f5f305af1"), Message(sender=SENDER, to=TARGET), 4_000_000)

    assert outcome.status is Status.SUCCESS


def test_nothing_of_an_execution_stays():
    engine = Reference()
    state = call_state("5f546001015f555f545f5260205ff3")
    message = Message(sender=SENDER, to=TARGET)
    outcomes = [engine.execute(state, message, 100_000) for _ in range(3)]

    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0].output[-1] == 1


def test_the_recursion_limit_of_the_process_stays_as_it_is():
    """Loading the specification raises it a hundredfold, and nested JSON would then end the process."""
    program = (
        "import sys; before = sys.getrecursionlimit()\n"
        "from feemodel.execution import CallState, estimate_gas\n"
        "to = '0x' + '11' * 20\n"
        "estimate_gas({'to': to, 'data': '0x01'}, CallState(accounts={}), engine='reference')\n"
        "print(sys.getrecursionlimit() == before)\n"
        "import json\n"
        "try: json.loads('[' * 1_000_000)\n"
        "except RecursionError: print('refused')"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert found.stdout.split() == ["True", "refused"]
