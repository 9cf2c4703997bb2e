"""Executions that stay: what the next one finds, what is paid, and that one that does not stay leaves nothing."""

import pytest

from feemodel.errors import InvalidInput
from feemodel.execution import Account, Block, CallState, EnginePool, Message, Status
from feemodel.execution.engines import Metered, engine_named
from feemodel.execution.forks import fork_named
from tests.execution_engines import ENGINES, address

SENDER, TARGET, MINER = address(0x5E17DE5), address(0xC0DE), address(0xC01)
COUNTER = bytes.fromhex("5f54600101805f555f5260205ff3")  # adds one to slot 0 and returns it
ACCOUNTS = {SENDER: Account(balance=10**18, nonce=4), TARGET: Account(nonce=1, code=COUNTER)}
BLOCK = Block(coinbase=MINER, base_fee=3)
STATE = CallState(accounts=ACCOUNTS, block=BLOCK)
COUNT = Message(sender=SENDER, to=TARGET, gas_price=10, base_fee=3)


@pytest.fixture(params=ENGINES)
def engine(request):
    return engine_named(request.param)


def test_what_stays_is_found_and_what_does_not_is_not(engine):
    def task(execute):
        first = execute(COUNT, 100_000)
        staying = [execute.commit(COUNT, 100_000).outcome for _ in range(2)]
        return [first, *staying, execute(COUNT, 100_000), execute.trace(COUNT, 100_000).outcome]

    assert [int.from_bytes(one.output) for one in engine.run(STATE, task)] == [1, 1, 2, 3, 3]
    assert int.from_bytes(engine.run(STATE, lambda execute: execute(COUNT, 100_000)).output) == 1


def test_gas_is_paid_to_the_unit(engine):
    """At 10 wei, of which 3 are burned: the sender pays 10 for what is charged, the beneficiary gets 7."""
    committed = engine.run(STATE, lambda execute: execute.commit(COUNT, 100_000))

    after, charged = STATE.after(committed.changes), committed.outcome.charged
    assert charged == 21_000 + 2 + 2_100 + 3 + 3 + 3 + 2 + 20_000 + 2 + 3 + 3 + 3 + 2
    assert after.account(SENDER) == Account(balance=10**18 - 10 * charged, nonce=5)
    assert after.account(MINER) == Account(balance=7 * charged)
    assert dict(after.account(TARGET).storage) == {0: 1}
    assert STATE.account(SENDER) == ACCOUNTS[SENDER]


def test_refunds_are_given_back_and_a_price_below_the_base_fee_pays_nobody(engine):
    """Clearing a slot gives back 4,800 gas at most a fifth of what is used."""
    clearing = Account(nonce=1, code=bytes.fromhex("5f5f5500"), storage={0: 1})
    clear = CallState(accounts={**ACCOUNTS, TARGET: clearing}, block=BLOCK)
    committed = engine.run(clear, lambda execute: execute.commit(COUNT._replace(gas_price=2), 100_000))

    used = 21_000 + 2 + 2 + 5_000
    assert (committed.outcome.gas_used, committed.outcome.refund) == (used, 4_800)
    after = clear.after(committed.changes)
    assert after.account(SENDER).balance == 10**18 - 2 * (used - 4_800)
    assert after.account(MINER) == Account()
    assert not any(after.account(TARGET).storage.values())


def test_too_little_gas_leaves_no_trace(engine):
    committed = engine.run(STATE, lambda execute: execute.commit(COUNT, 20_999))

    assert (committed.outcome.status, committed.logs, committed.changes) == (Status.INTRINSIC, (), ())


def test_an_account_that_is_gone_is_empty(engine):
    """Before Cancun SELFDESTRUCT removes a contract with its slots; its balance goes to the beneficiary."""
    doomed = Account(balance=5, nonce=1, code=b"\x41\xff", storage={1: 1})
    call_state = CallState(accounts={**ACCOUNTS, TARGET: doomed}, block=BLOCK, fork=fork_named("shanghai"))
    free = COUNT._replace(gas_price=0)

    def task(execute):
        return execute.commit(free, 100_000, transfers=True), execute.commit(free, 100_000, transfers=True)

    first, second = engine.run(call_state, task)
    after = call_state.after(first.changes)
    assert (after.account(TARGET), after.account(MINER)) == (Account(), Account(balance=5))
    assert [(log.is_transfer, int.from_bytes(log.data)) for log in first.logs] == [(True, 5)]
    assert (second.outcome.gas_used, second.logs) == (21_000, ())


def test_slots_that_an_override_replaced_stay_replaced(engine):
    call_state = CallState(
        accounts={**ACCOUNTS, TARGET: Account(nonce=1, code=COUNTER, storage={0: 7, 1: 7})}, block=BLOCK
    )
    whole, single = ({"0x" + TARGET.hex(): {name: {0: 20}}} for name in ("state", "stateDiff"))

    def task(execute):
        return [execute.commit(COUNT, 100_000) for _ in range(2)]

    for overrides, others in ((whole, 0), (single, 7)):
        begun = call_state.overridden(overrides)
        first, second = engine.run(begun, task)
        after = begun.after(first.changes).after(second.changes)
        assert (after.account(TARGET).storage.get(0), after.account(TARGET).storage.get(1, 0)) == (22, others)


def test_processes_keep_what_stays_for_one_task():
    with EnginePool(processes=1, deadline=60) as pool:
        staying = pool.run(STATE, lambda execute: [execute.commit(COUNT, 100_000) for _ in range(3)])
        again = pool.run(STATE, lambda execute: execute.commit(COUNT, 100_000, transfers=True))

    assert [int.from_bytes(one.outcome.output) for one in staying] == [1, 2, 3]
    assert again == staying[0]


def test_gas_of_what_stays_is_metered(engine):
    metered = Metered()
    committed = metered.on(engine).run(STATE, lambda execute: execute.commit(COUNT, 100_000))

    assert metered.gas == committed.outcome.gas_used > 21_000


def test_rules_with_empty_accounts_are_refused(engine):
    call_state = CallState(accounts=ACCOUNTS, fork=fork_named("tangerine_whistle"))
    with pytest.raises(InvalidInput, match=r"fork: expected Spurious Dragon or later.*got 'tangerine_whistle'"):
        engine.run(call_state, lambda execute: execute.commit(COUNT, 100_000))
