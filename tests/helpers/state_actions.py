"""A small state, and calls on it that try to move the state in every way there is, each with how it must end."""

from typing import Any, NamedTuple

from feemodel.errors import ExecutionFailed, FeeModelError, LimitExceeded
from feemodel.ethereum._quantities import to_hex
from feemodel.execution import Account, Block, CallState, Limits, estimate_gas, execute_call
from tests.helpers.development import creation_address
from tests.helpers.engine_differences import push
from tests.helpers.execution_engines import address
from tests.helpers.still_state import word

PATIENT = Limits(gas_cap=200_000, total_gas=2_000_000, seconds=600)
SENDER, POOR, HEIR = address(0x5E17DE5), address(0x900), address(0x4E14)
WRITER, PAYER, LOOP, REVERTER, HALTER, NESTED, READER = (address(0xC0DE00 + place) for place in range(7))
EMPTY_PLACE = address(0xE111)  # where overrides put code


def returned(code: str) -> str:
    """Code that returns the word which other code leaves on the stack."""
    return code + "5f5260205ff3"


WRITES = returned("5f355f55" + "5f54")  # stores its first word at slot 0, answers with what stands there then
PAYS = returned("5f5f5f5f60075f355af1")  # sends 7 wei to the account in its first word
COUNTS = "5b5f546001015f555f56"  # adds 1 to slot 0, for ever
STORES_9 = "60095f55"
CALLS_WRITER = "60635f525f5f60205f5f73" + WRITER.hex() + "5af150"
CREATED = STORES_9 + "60fe5f5360015ff3"  # init code: stores, leaves the code 0xfe
CREATES = returned(push(int(CREATED, 16), 13).hex() + "5f52" + "600d60135f" + "f0")
DIES = "33ff"  # its creator inherits
READS = returned("5f54")

STATE = CallState(
    accounts={
        SENDER: Account(balance=10**18, nonce=3),
        POOR: Account(balance=5),
        WRITER: Account(nonce=1, code=bytes.fromhex(WRITES), storage={0: 1, 1: 2}),
        PAYER: Account(balance=100, nonce=1, code=bytes.fromhex(PAYS)),
        LOOP: Account(nonce=1, code=bytes.fromhex(COUNTS), storage={0: 7}),
        REVERTER: Account(nonce=1, code=bytes.fromhex(STORES_9 + CALLS_WRITER + "5f5ffd"), storage={0: 4}),
        HALTER: Account(nonce=1, code=bytes.fromhex(CALLS_WRITER + STORES_9 + "fe"), storage={0: 5}),
        NESTED: Account(balance=9, nonce=1, code=bytes.fromhex(CALLS_WRITER + returned("73" + HEIR.hex() + "31"))),
        READER: Account(nonce=1, code=bytes.fromhex(READS), storage={0: 6, 3: 8}),
        HEIR: Account(balance=1, nonce=1, code=bytes.fromhex("73" + SENDER.hex() + "ff"), storage={2: 2}),
    },
    block=Block(number=1_000, coinbase=address(0xC01)),
)
TOUCHED = [*STATE.accounts, EMPTY_PLACE, address(0xC01), *(creation_address(SENDER, nonce) for nonce in (3, 4, 77))]


class Action(NamedTuple):
    """A call that tries to move the state, and how it must end."""

    method: str  #: "call" or "estimate"
    call: dict[str, Any]
    overrides: dict[str, Any] | None
    limits: Limits
    ends: Any  #: what a call returns, or the kind of error


def action(
    method: str, to: bytes | None, ends: Any, data: Any = b"", *, limits: Limits = PATIENT, **fields: Any
) -> Action:
    overrides = fields.pop("overrides", None)
    call = {"from": to_hex(fields.pop("sender", SENDER)), "data": to_hex(data if data else b""), **fields}
    if to is not None:
        call["to"] = to_hex(to)
    return Action(method, call, overrides, limits, ends)


def code_at(code: str, **fields: Any) -> dict[str, Any]:
    return {to_hex(EMPTY_PLACE): {"code": f"0x{code}", **fields}}


def actions() -> dict[str, Action]:
    """Everything that a call can do to a state, done."""
    sender, reader = to_hex(SENDER), to_hex(READER)
    slot = {to_hex(word(0)): to_hex(word(11))}
    small, tight = Limits(gas_cap=60_000, seconds=600), Limits(gas_cap=200_000, total_gas=20_000, seconds=600)
    created_at = creation_address(EMPTY_PLACE, 0)
    return {
        "stores": action("call", WRITER, word(99), word(99)),
        "stores, estimated": action("estimate", WRITER, int, word(99)),
        "clears a slot, estimated": action("estimate", WRITER, int, word(0)),
        "pays a stranger": action("call", PAYER, word(1), word(int.from_bytes(address(0x57A4)))),
        "pays, estimated": action("estimate", PAYER, int, word(int.from_bytes(POOR))),
        "is paid": action("call", EMPTY_PLACE, b"", value=hex(10**17)),
        "is paid, estimated": action("estimate", POOR, int, value=hex(10**17)),
        "pays for its gas": action("estimate", WRITER, int, word(5), gasPrice="0x7"),
        "creates": action("call", None, b"\xfe", bytes.fromhex(CREATED)),
        "creates, estimated": action("estimate", None, int, bytes.fromhex(CREATED)),
        "creates out of a contract": action(
            "call", EMPTY_PLACE, word(int.from_bytes(created_at)), overrides=code_at(CREATES)
        ),
        "destroys itself": action("call", HEIR, b""),
        "destroys itself, estimated": action("estimate", HEIR, int, b"\1"),
        "destroys what it creates": action("call", None, b"", bytes.fromhex(DIES)),
        "stores and reverts": action("call", REVERTER, ExecutionFailed),
        "stores and reverts, estimated": action("estimate", REVERTER, ExecutionFailed, b"\1"),
        "stores and halts": action("call", HALTER, ExecutionFailed),
        "stores until the gas is out": action("call", LOOP, ExecutionFailed, limits=small),
        "stores until the gas is out, estimated": action("estimate", LOOP, ExecutionFailed, b"\1", limits=small),
        "takes more than its budget": action(  # reads GAS, so no limit is proven by another
            "estimate", EMPTY_PLACE, LimitExceeded, overrides=code_at("5a50" + STORES_9), limits=tight
        ),
        "stores in another contract": action("call", NESTED, word(1)),
        "cannot pay": action("call", WRITER, ExecutionFailed, word(1), sender=POOR, value="0x6"),
        "cannot pay, estimated": action("estimate", WRITER, ExecutionFailed, word(1), sender=POOR, value="0x6"),
        "has another balance": action(
            "call", POOR, b"", sender=HEIR, value=hex(10**20),
            overrides={to_hex(HEIR): {"balance": hex(10**21), "code": "0x"}},
        ),
        "has another nonce": action(
            "call", None, b"\xfe", bytes.fromhex(CREATED), overrides={sender: {"nonce": "0x4d"}}
        ),
        "has other code": action("call", EMPTY_PLACE, word(12), word(12), overrides=code_at(WRITES)),
        "has other code and fails": action("call", EMPTY_PLACE, ExecutionFailed, overrides=code_at(STORES_9 + "fe")),
        "has other storage": action("call", READER, word(11), overrides={reader: {"state": slot}}),
        "has another slot": action("call", READER, word(11), overrides={reader: {"stateDiff": slot}}),
        "has no storage": action("call", READER, word(0), overrides={reader: {"state": {}}}),
        "has everything else": action(
            "estimate", WRITER, int, word(3),
            overrides={
                to_hex(WRITER): {"balance": "0x1", "nonce": "0x9", "stateDiff": slot},
                sender: {"balance": hex(10**20), "nonce": "0x5"}, **code_at(COUNTS, state=slot),
            },
        ),
    }  # fmt: skip


ACTIONS = actions()


def ended(asked: Action, call_state: CallState, engine: Any) -> Any:
    """What an action is answered with, whichever engine it was; an error by its kind and words."""
    options = {"overrides": asked.overrides, "engine": engine, "limits": asked.limits}
    try:
        if asked.method == "call":
            return execute_call(asked.call, call_state, **options)
        return estimate_gas(asked.call, call_state, **options)._replace(engine="")
    except FeeModelError as error:
        return type(error), str(error)
