"""The gas of a message before its first instruction: under every fork, what both engines charge."""

import pytest

from feemodel.execution._engines import engine_named
from feemodel.execution._forks import FORKS, fork_named
from feemodel.execution._message import Message, intrinsic_gas
from feemodel.execution._state import Account, CallState
from tests.helpers.execution_engines import ENGINES, address

RULES = {"native": FORKS, "reference": ("prague", "osaka", "bpo1", "bpo2")}
SENDER, TARGET = address(0x5E17DE5), address(0x7A67)


@pytest.mark.parametrize(("engine", "fork"), [(engine, fork) for engine in ENGINES for fork in RULES[engine]])
@pytest.mark.parametrize("to", [TARGET, None])
def test_intrinsic_gas_is_that_of_every_fork(fork, to, engine):
    listed = ((TARGET, (bytes(32), b"\x01" * 32)),)
    message = Message(sender=SENDER, to=to, data=b"\x00" * 40 + b"\x01" * 3, access_list=listed)
    call_state = CallState(accounts={SENDER: Account(balance=10**24, nonce=1)}, fork=fork_named(fork))
    outcome = engine_named(engine).execute(call_state, message, 100_000)

    assert outcome.gas_used == intrinsic_gas(message, fork_named(fork))
