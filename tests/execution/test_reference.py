"""The reference engine: the specification's own gas, on every fork."""

import subprocess
import sys

import pytest

from feemodel.errors import ExecutionFailed, InvalidInput
from feemodel.execution import Account, Block, CallState, Message, Reference, Status, estimate_gas
from feemodel.execution._forks import fork_named
from tests.helpers.execution_engines import address

SENDER, TARGET, OTHER = address(0x5E17DE5), address(0x7A67), address(0x07E5)
FUNDED = Account(balance=10**18)
execute = Reference().execute


def call_state(code="", *, fork="osaka", storage=None, **others):
    accounts = {SENDER: FUNDED, TARGET: Account(nonce=1, code=bytes.fromhex(code), storage=storage or {})}
    return CallState(accounts=accounts | others.pop("accounts", {}), fork=fork_named(fork), block=Block(**others))


@pytest.mark.parametrize(
    ("code", "storage", "expected", "refund"),
    [
        ("60015f55", {}, 3 + 2 + 22_100, 0),  # a new slot, cold: EIP-2929
        ("5f5f55", {0: 1}, 2 + 2 + 5_000, 4_800),  # cleared: EIP-3529
        ("5f545f54", {}, 2 + 2_100 + 2 + 100, 0),  # the second read is warm
        ("60051e", {}, 3 + 5, 0),  # CLZ: EIP-7939
        ("5f5f5f5f6101005afa", {}, 4 * 2 + 3 + 2 + 100 + 6_900, 0),  # P256VERIFY: EIP-7951
    ],
)
def test_opcodes_cost_what_their_eips_say(code, storage, expected, refund):
    outcome = execute(call_state(code, storage=storage), Message(sender=SENDER, to=TARGET), 1_000_000)

    assert (outcome.gas_used - 21_000, outcome.refund) == (expected, min(refund, outcome.gas_used // 5))


def test_rules_before_prague_are_refused():
    with pytest.raises(InvalidInput, match="fork: expected Prague or later on the reference engine, got 'cancun'"):
        execute(call_state(fork="cancun"), Message(sender=SENDER, to=TARGET), 100_000)


def test_its_default_gas_cap_bounds_the_time_of_an_estimate():
    """An endless loop is executed once, with a million gas."""
    state = call_state("5b5f56")
    call = {"from": SENDER, "to": TARGET, "data": "0x00"}
    with pytest.raises(ExecutionFailed, match=r"gas required exceeds allowance \(1000000\)"):
        estimate_gas(call, state, engine="reference", search="geth")
    outcome = execute(state, Message(sender=SENDER, to=TARGET), 200_000)
    assert outcome.gas_used == 200_000


def test_the_sender_has_paid_and_counted_before_its_call_runs():
    pays = Message(sender=SENDER, to=TARGET, gas_price=10)
    balance = execute(call_state("33315f5260205ff3"), pays, 100_000).output

    assert int.from_bytes(balance, "big") == 10**18 - 10 * 100_000
    # A sender that nobody ever saw exists by then: the hash of its code is that of no code.
    unseen = execute(call_state("333f5f5260205ff3"), Message(sender=address(0x999), to=TARGET), 100_000).output
    assert unseen.hex().startswith("c5d246")


def test_a_sender_that_cannot_pay_is_refused():
    with pytest.raises(InvalidInput, match=r"message\.sender: expected a balance of at least 1,000,000 wei"):
        execute(call_state(), Message(sender=OTHER, to=TARGET, gas_price=10), 100_000)


def test_calls_may_nest_deeper_than_python_would():
    """Each level keeps 1/64 of the gas: four million are enough for some four hundred levels."""
    outcome = execute(call_state("5f5f5f5f5f305af1"), Message(sender=SENDER, to=TARGET), 4_000_000)

    assert outcome.status is Status.SUCCESS


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
