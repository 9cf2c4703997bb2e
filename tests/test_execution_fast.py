"""The fast engine: every way in which pyrevm is not exact, shown on pyrevm itself, and the engine that knows of it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

pyrevm = pytest.importorskip("pyrevm", reason="needs pyrevm: pip install feemodel[fast]")

from feemodel.execution import Account, Block, Fast, Message, Status, World  # noqa: E402  # only where pyrevm is
from feemodel.execution.engines import Auto, Inexact  # noqa: E402
from feemodel.execution.forks import fork_named  # noqa: E402
from feemodel.execution.message import Authorization  # noqa: E402
from feemodel.execution.reference import Reference  # noqa: E402
from tests.execution_engines import address, run_once  # noqa: E402
from tests.execution_programs import differences  # noqa: E402

SENDER = address(0x5E17DE5)
OUTER, INNER, HIDDEN = (address(0xC0DE00 + place) for place in range(3))
GAS = 1_000_000


def call(target):
    """Code that calls an account with all gas, and drops what it answers."""
    return bytes.fromhex("5f5f5f5f5f73") + target + bytes.fromhex("5af150")


def store(code):
    """Code that stores what other code leaves on the stack, at slot 0."""
    return bytes.fromhex(code) + bytes.fromhex("5f55")


def world(*, fork="osaka", sender=None, storage=None, **codes):
    places = {"outer": OUTER, "inner": INNER, "hidden": HIDDEN}
    accounts = {places[name]: Account(nonce=1, code=code, storage=storage or {}) for name, code in codes.items()}
    accounts[SENDER] = sender or Account(balance=10**18)
    block = Block(number=1_000, coinbase=address(0xC01), hashes={999: b"\x01" * 32}, excess_blob_gas=2**27)
    return World(accounts=accounts, block=block, fork=fork_named(fork))


def ask(state, message=None, *, engine=None):
    message = message or Message(sender=SENDER, to=OUTER, base_fee=7)
    return (engine or Fast()).run(state, lambda execute: execute(message, GAS))


def bare(state):
    """pyrevm on the same accounts, without any care: the gas that it reports."""
    machine = pyrevm.EVM(spec_id="CANCUN", gas_limit=state.block.gas_limit)
    for key, account in state.accounts.items():
        info = pyrevm.AccountInfo(balance=account.balance, nonce=account.nonce, code=account.code)
        machine.insert_account_info("0x" + key.hex(), info)
    machine.message_call("0x" + SENDER.hex(), "0x" + OUTER.hex(), gas=GAS)
    return machine.result.gas_used + machine.result.gas_refunded


REVERT = bytes.fromhex("5f5ffd")
P256 = bytes.fromhex("5f5f5f5f6101005afa50")
MODEXP = bytes.fromhex("60205f52602060205260206040525f5f60c05f60055afa50")

TRAPS = {
    "an opcode that it lacks, in an inner call": (
        {"outer": call(INNER) + b"\0", "inner": bytes.fromhex("60051e50")},
        "CLZ",
    ),
    "a branch on the base fee": ({"outer": bytes.fromhex("48600857") + bytes.fromhex("60015f555b00")}, "BASEFEE"),
    "the blob base fee": ({"outer": store("60014a14") + b"\0"}, "BLOBBASEFEE"),
    "a precompile that it lacks": ({"outer": P256 + b"\0"}, "precompile 0x100"),
    "a precompile that has become dearer": ({"outer": MODEXP + b"\0"}, "precompile 0x5"),
    "a delegated account": (
        {"outer": call(INNER) + b"\0", "inner": b"\xef\x01\x00" + HIDDEN, "hidden": store("6001")},
        "a delegation",
    ),
    "a precompile in a call that fails": (
        {"outer": call(INNER) + b"\0", "inner": P256 + REVERT},
        "precompile 0x100",
    ),
    "an opcode behind a call that fails": (
        {"outer": call(INNER) + b"\0", "inner": call(HIDDEN) + REVERT, "hidden": bytes.fromhex("60051e50")},
        "CLZ",
    ),
    "the hash of a block": (
        {"outer": bytes.fromhex("6103e740") + b"\x7f" + b"\x01" * 32 + bytes.fromhex("145f5500")},
        "BLOCKHASH",
    ),
}


@pytest.mark.parametrize("name", TRAPS)
def test_pyrevm_is_wrong_here_and_the_engine_declines(name):
    codes, reason = TRAPS[name]
    state = world(**codes)
    exact = ask(state, engine=Reference())

    assert exact.succeeded
    assert bare(state) != exact.gas_used, "pyrevm has become exact here: the trap may go"
    with pytest.raises(Inexact, match=reason):
        ask(state)
    assert ask(state, engine=Auto(Fast(), Reference())) == exact


@pytest.mark.parametrize(
    ("name", "codes", "reason"),
    [
        ("code that nobody has read", {"outer": bytes.fromhex("5f5f5ff05000")}, "CREATE"),
        ("the gas price, which would be checked against the balance", {"outer": store("3a") + b"\0"}, "GASPRICE"),
        ("a sender with code", {"outer": b"\0"}, "a sender with code"),
    ],
)
def test_the_engine_declines_what_it_does_not_know_to_be_exact(name, codes, reason):
    sender = Account(balance=10**18, code=b"\0") if "sender" in name else None

    with pytest.raises(Inexact, match=reason):
        ask(world(sender=sender, **codes))


@pytest.mark.parametrize("number", [0x05, 0x0B, 0x11, 0x100])
def test_a_call_straight_to_such_a_precompile_is_declined(number):
    with pytest.raises(Inexact, match=f"precompile {number:#x}"):
        ask(world(), Message(sender=SENDER, to=address(number), data=bytes(213)))


@pytest.mark.parametrize(("fork", "numbers"), [("cancun", (0x05, 0x0B, 0x100)), ("prague", (0x05, 0x100))])
def test_it_is_not_declined_where_the_rules_agree(fork, numbers):
    state = world(fork=fork)
    for number in numbers:
        message = Message(sender=SENDER, to=address(number), data=bytes(96))
        assert ask(state, message) == ask(state, message, engine=Reference())


def test_what_an_unloaded_account_leads_to_is_no_answer():
    """Without the inner account the outer one halts: which the engine must not take for the call's own end."""
    copies_32_bytes_of_the_answer = call(INNER) + bytes.fromhex("60205f5f3e00")
    state = world(outer=copies_32_bytes_of_the_answer, inner=bytes.fromhex("60205ff3"))

    assert ask(state) == ask(state, engine=Reference())
    assert ask(state).succeeded


def test_authorizations_and_blobs_are_declined():
    entry = Authorization(chain_id=1, address=INNER, nonce=0, y_parity=0, r=1, s=1)
    for fields in ({"authorizations": (entry,)}, {"blob_hashes": (b"\x01" * 32,)}):
        with pytest.raises(Inexact, match="an authorization list or blobs"):
            ask(world(outer=b"\0"), Message(sender=SENDER, to=OUTER, **fields))


def test_rules_before_cancun_are_declined():
    with pytest.raises(Inexact, match="the rules of london"):
        ask(world(fork="london", outer=b"\0"))


def test_an_override_with_such_code_is_declined():
    state = world(outer=b"\0").overridden({OUTER: {"code": "0x60051e50"}})

    with pytest.raises(Inexact, match="CLZ"):
        ask(state)


def test_data_behind_the_code_is_no_reason_to_decline():
    metadata = bytes.fromhex("fea264697066735822122048484848484a4a4a1e1e1e1e")

    assert ask(world(outer=store("6001") + b"\0" + metadata)).succeeded


def test_slots_are_cold_and_clean_however_many_were_loaded():
    """Loaded one after the other, pyrevm would hold all but the first warm and dirty."""
    clears = b"".join(bytes.fromhex("5f60") + bytes([slot, 0x55]) for slot in range(10))
    state = world(outer=clears, storage=dict.fromkeys(range(10), 1))

    outcome = ask(state)
    assert outcome.gas_used == 21_000 + 10 * (2 + 3 + 5_000)
    assert outcome == ask(state, engine=Reference())


def test_one_call_does_not_warm_the_next():
    engine, state = Fast(), world(outer=store("5f54600101"))
    gas = {ask(state, engine=engine).gas_used for _ in range(3)}

    assert len(gas) == 1


def test_an_access_list_does_not_warm_the_next_call():
    engine, state = Fast(), world(outer=bytes.fromhex("5f545000"))
    listed = Message(sender=SENDER, to=OUTER, access_list=((OUTER, (bytes(32),)), (INNER, ())))
    plain = ask(state, engine=engine).gas_used

    assert ask(state, listed, engine=engine) == ask(state, listed, engine=Reference())
    assert ask(state, engine=engine).gas_used == plain == 21_000 + 2 + 2_100 + 2


@pytest.mark.parametrize("code", ["33315f5260205ff3", "333f5f5260205ff3"], ids=["its balance", "its code's hash"])
@pytest.mark.parametrize("sender", [SENDER, HIDDEN], ids=["rich", "never seen"])
def test_the_sender_has_paid_and_counted_before_its_call_runs(code, sender):
    """pyrevm takes no price from it and leaves its nonce, so that a new one would not exist yet."""
    message = Message(sender=sender, to=OUTER, gas_price=10 if sender == SENDER else 0)
    state = world(outer=bytes.fromhex(code))

    assert ask(state, message) == ask(state, message, engine=Reference())


def test_several_threads_may_share_one_engine():
    """Each under an override of its own, which no other thread may see."""
    engine, state = Fast(), world(outer=bytes.fromhex("5f545f5260205ff3"))

    def read(number):
        changed = state.overridden({OUTER: {"stateDiff": {0: number}}})
        return int.from_bytes(ask(changed, engine=engine).output, "big")

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, range(200))) == list(range(200))


def test_transient_storage_ends_with_the_call():
    engine, state = Fast(), world(outer=bytes.fromhex("5f5c600101805f5d5f5260205ff3"))

    assert [ask(state, engine=engine).output[-1] for _ in range(2)] == [1, 1]


def test_the_gas_limit_of_the_block_is_the_blocks():
    state = world(outer=bytes.fromhex("455f5260205ff3"))

    assert int.from_bytes(ask(state).output, "big") == state.block.gas_limit


def test_any_word_is_a_rule_set_to_pyrevm():
    """Which is why the engine names it itself, and a fork is a row of a table."""
    pyrevm.EVM(spec_id="NO SUCH RULES")


def test_pyrevm_charges_london_for_init_code():
    """By EIP-3860, which London has not: so no fork before Cancun is left to it."""
    machine = pyrevm.EVM(spec_id="LONDON")
    machine.deploy("0x" + SENDER.hex(), bytes.fromhex("60016000f3"), 0, 100_000)
    state = world(fork="london")

    exact = run_once(state, Message(sender=SENDER, to=None, data=bytes.fromhex("60016000f3")), 100_000)
    assert machine.result.gas_used == exact.gas_used + 2


def everything(engine):
    """What the database holds, addresses that were only asked for left out."""
    machine = engine._database.evm
    accounts = {key: (info.balance, info.nonce, info.code or b"") for key, info in machine.db_accounts.items()}
    checkpoint = machine.snapshot()
    slots = {(key, slot): machine.storage(key, slot) for key in accounts for slot in range(12)}
    machine.revert(checkpoint)
    return {
        "accounts": {key: found for key, found in accounts.items() if found != (0, 0, b"")},
        "slots": {place: value for place, value in slots.items() if value},
    }


@pytest.mark.parametrize("code", ["60015f5500", "5f5ffd", "fe", "5b5f56"])
@pytest.mark.parametrize(
    "override",
    [
        {"balance": 1, "nonce": 7},
        {"code": "0x5f545f5260205ff3"},
        {"stateDiff": {0: 0, 1: 9, 11: 3}},
        {"state": {2: 2}},
    ],
)
def test_the_state_is_to_the_byte_what_it_was_after_an_override(code, override):
    engine = Fast()
    state = world(outer=bytes.fromhex(code), inner=b"\0", storage={0: 5, 1: 6, 3: 7})
    plain = ask(state, engine=engine)
    before = everything(engine)
    changed = state.overridden({OUTER: override, SENDER: {"balance": 10**20}, HIDDEN: {"code": "0x00"}})
    for _ in range(2):
        ask(changed, engine=engine)

    assert everything(engine) == before
    assert ask(state, engine=engine) == plain


def test_an_account_that_was_seen_absent_can_be_funded_by_an_override():
    engine, stranger = Fast(), address(0x57A4)
    state = world(outer=bytes.fromhex("73") + stranger + bytes.fromhex("315f5260205ff3"))

    assert int.from_bytes(ask(state, engine=engine).output, "big") == 0
    assert int.from_bytes(ask(state.overridden({stranger: {"balance": 9}}), engine=engine).output, "big") == 9
    assert int.from_bytes(ask(state, engine=engine).output, "big") == 0


def test_what_a_task_raises_is_raised():
    def fails(execute):
        raise ZeroDivisionError(execute(Message(sender=SENDER, to=OUTER), GAS).status)

    engine = Fast()
    with pytest.raises(ZeroDivisionError, match="success"):
        engine.run(world(outer=b"\0"), fails)
    assert ask(world(outer=b"\0"), engine=engine).status is Status.SUCCESS


def test_thousands_of_strangers_do_not_make_it_slower():
    """Every stranger stays in pyrevm's database, which is read as a whole: a new one is begun in time."""
    engine, state = Fast(), world(outer=bytes.fromhex("5f35315000"))
    for number in range(2_000):
        message = Message(sender=SENDER, to=OUTER, data=address(0x10_0000 + number).rjust(32, b"\0"))
        ask(state, message, engine=engine)

    assert len(engine._database.evm.db_accounts) < 100


def test_random_calls_end_equally_on_both_engines():
    """Two thousand; `python -m tests.execution_programs 20000` for more, with the shares of how they ended."""
    shares, found = differences(seed=7, calls=2_000, fast=Fast())

    assert found == []
    exact = sum(count for name, count in shares.items() if not name.startswith("handed over"))
    assert shares["success"] > 900
    assert exact > 1_400
    for reason in ("CLZ", "BASEFEE", "BLOBBASEFEE", "a delegation", "CREATE", "precompile 0x5", "precompile 0x100"):
        assert shares[f"handed over: {reason}"] > 0, reason
