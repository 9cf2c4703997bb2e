"""Random trees of contracts and a call of each, in families that decide a gas limit in different ways.

Most are adversarial: they catch failures, divide gas, read it, or read the balance that pays for it. For the tests that
tie a search with proven probes to the node's search, and one engine to another.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from feemodel.ethereum._quantities import to_hex
from feemodel.execution._forks import fork_named
from feemodel.execution._state import Account, Block, CallState
from tests.helpers.engine_differences import push
from tests.helpers.execution_engines import address

SENDER, COINBASE, STRANGER = address(0x5E17DE5), address(0xC01), address(0x57A4)
CONTRACTS = [address(0xC0DE00 + place) for place in range(6)]
BALANCE = 10**18
FORKS = ("osaka", "osaka", "prague", "cancun", "london", "bpo2")

CALL, CALLCODE, DELEGATECALL, STATICCALL = 0xF1, 0xF2, 0xF4, 0xFA
GAS = b"\x5a"
REVERT = bytes.fromhex("60006000fd")
#: Precompiles and inputs that they take; the last two fail on zeros, and take all the gas that they were given.
PRECOMPILES = [(1, 128), (2, 64), (3, 64), (4, 200), (6, 128), (7, 96), (8, 0), (9, 213), (5, 96), (9, 10), (6, 3)]


class Generated(NamedTuple):
    """One call on a state, as JSON-RPC has it."""

    family: str
    call_state: CallState
    call: dict[str, Any]


@dataclass(frozen=True)
class Style:
    """How the contracts of a tree treat each other: weights of what a call may be like."""

    checked: int = 1  #: a failure is passed on
    unchecked: int = 0  #: a failure is ignored
    caught: int = 0  #: a failure means other work
    value: float = 0.0
    explicit: float = 0.0  #: a number as the gas of a call
    arithmetic: float = 0.0  #: computed from GAS
    creates: float = 0.0
    precompiles: float = 0.0
    gas_branches: float = 0.0
    balance_branches: float = 0.0
    last_store: float = 0.1  #: the last thing is an SSTORE that takes little
    clears: float = 0.1
    halts: float = 0.0  #: a contract that may end in INVALID
    reverts: float = 0.02
    depth: int = 4


FAMILIES = {
    "nested": Style(),
    "value": Style(value=0.7, unchecked=1),
    "explicit gas": Style(explicit=0.7),
    "sentry": Style(last_store=1.0, depth=3),
    "refund": Style(clears=0.8, depth=2),
    "create": Style(creates=0.6, unchecked=1),
    "precompile": Style(precompiles=0.7, unchecked=1, explicit=0.2),
    "try": Style(checked=0, caught=1, halts=0.1, clears=0.2),
    "unchecked": Style(checked=0, unchecked=1, halts=0.1, clears=0.2),
    "mix": Style(1, 1, 1, 0.3, 0.2, 0.0, 0.2, 0.2, 0.0, 0.0, 0.2, 0.2, 0.05, 0.05),
    "arithmetic on GAS": Style(arithmetic=0.7, unchecked=1),
    "branch on GAS": Style(gas_branches=0.7, unchecked=1, clears=0.2),
    "paid balance": Style(balance_branches=0.7, value=0.3, unchecked=1),
}


def family_calls(seed: int, count: int, families: tuple[str, ...] = tuple(FAMILIES)) -> Iterator[Generated]:
    """Random calls, the families in turn."""
    for number in range(count):
        family = families[number % len(families)]
        yield generated(random.Random(f"{seed} {number}"), family)


def generated(rng: random.Random, family: str) -> Generated:
    """One call of a family, on contracts of its own."""
    style = FAMILIES[family]
    depth = rng.randrange(1, style.depth + 1)
    accounts = {
        contract: Account(
            balance=rng.choice([0, 10, 1_000]),
            nonce=1,
            code=program(rng, style, CONTRACTS[place + 1 : depth]),
            storage={slot: rng.randrange(1, 3) for slot in range(8) if rng.random() < 0.7},
        )
        for place, contract in enumerate(CONTRACTS[:depth])
    }
    own = rng.random() < 0.4 if family == "paid balance" else rng.random() < 0.03
    sender = Account(balance=BALANCE, nonce=3, code=program(rng, style, CONTRACTS[:depth]) if own else b"")
    block = Block(number=1_000, timestamp=1_700_000_000, gas_limit=30_000_000, coinbase=COINBASE)
    call_state = CallState(accounts={**accounts, SENDER: sender}, block=block, fork=fork_named(rng.choice(FORKS)))
    target = SENDER if own and rng.random() < 0.8 else CONTRACTS[0]
    creates = style.creates and rng.random() < 0.15
    data = init_code(rng, style, CONTRACTS[:depth]) if creates else rng.randbytes(rng.choice([0, 4, 36, 68, 600]))
    call = {"from": to_hex(SENDER), "data": to_hex(data)} | ({} if creates else {"to": to_hex(target)})
    if rng.random() < 0.2 + style.value:
        call["value"] = hex(rng.choice([1, 5, 10**15]))
    price = rng.choice([None, 10, 10**9] if family != "paid balance" else [10**9, 10**10, 10])
    if price is not None:
        call["gasPrice"] = hex(price)
    if rng.random() < 0.2:
        keys = ["0x" + slot.to_bytes(32, "big").hex() for slot in range(rng.randrange(3))]
        call["accessList"] = [{"address": to_hex(rng.choice(CONTRACTS)), "storageKeys": keys}]
    return Generated(family, call_state, call)


def with_fork(call: Generated, fork: str) -> Generated:
    """The same call under other rules."""
    return call._replace(call_state=replace(call.call_state, fork=fork_named(fork)))


def work(rng: random.Random) -> bytes:
    """Something that takes gas and leaves the stack as it was."""
    memory = rng.choice([0, 32, 1_000, 20_000])
    pieces: list[Callable[[], bytes]] = [
        lambda: push(rng.randrange(3)) + push(rng.randrange(8)) + b"\x55",  # SSTORE
        lambda: push(rng.randrange(8)) + b"\x54\x50",  # SLOAD
        lambda: push(rng.randrange(4_000)) + push(memory) + b"\x20\x50",  # KECCAK256
        lambda: push(rng.randrange(300)) + push(0) + b"\xa0",  # LOG0
        lambda: push(7) + push(memory) + b"\x52",  # MSTORE
        lambda: b"\x73" + rng.choice([*CONTRACTS, STRANGER]) + b"\x3b\x50",  # EXTCODESIZE
        lambda: b"\x43\x42\x45\x50\x50\x50" * rng.randrange(1, 60),
    ]
    return b"".join(rng.choice(pieces)() for _ in range(rng.randrange(1, 4)))


def called(rng: random.Random, style: Style, target: bytes) -> bytes:
    """A call of a contract that leaves whether it succeeded on the stack."""
    kind = rng.choice([CALL, CALL, DELEGATECALL, STATICCALL, CALLCODE])
    value = b""
    if kind in (CALL, CALLCODE):
        sends = rng.random() < style.value
        value = push(rng.choice([1, 2, 9, 11, BALANCE // 2, BALANCE]) if sends else 0)
        target = STRANGER if sends and rng.random() < 0.2 else target
    gas = GAS
    if rng.random() < style.explicit:
        gas = push(rng.choice([0, 700, 2_300, 9_000, 40_000, 120_000, 500_000]))
    elif rng.random() < style.arithmetic:
        by_subtraction = push(rng.choice([1, 5_000, 30_000])) + GAS + b"\x03"
        gas = rng.choice([by_subtraction, push(rng.choice([2, 3, 60])) + GAS + b"\x04"])
    return push(32) + push(0) + push(0) * 2 + value + b"\x73" + target + gas + bytes([kind])


def precompiled(rng: random.Random, style: Style) -> bytes:
    number, size = rng.choice(PRECOMPILES)
    gas = push(rng.choice([60, 3_000, 40_000])) if rng.random() < style.explicit else GAS
    return push(32) + push(0) + push(size) + push(0) + b"\x73" + address(number) + gas + bytes([STATICCALL])


def created(rng: random.Random, style: Style) -> bytes:
    code = init_code(rng, replace(style, depth=1), [])[-32:].rjust(32, b"\x5b")
    salt = push(rng.randrange(2))
    value = push(rng.choice([0, 0, 1, BALANCE]) if rng.random() < style.value else 0)
    store = b"\x7f" + code + push(0) + b"\x52"
    return store + rng.choice([push(32) + push(0) + value + b"\xf0", salt + push(32) + push(0) + value + b"\xf5"])


def init_code(rng: random.Random, style: Style, callees: list[bytes]) -> bytes:
    """Code that does a little and returns some zeros, or 0xef, or nothing, as the code of a contract."""
    body = b"" if not callees else called(rng, style, callees[0]) + b"\x50"
    size = rng.choice([0, 1, 32, 200, 2_000])
    ends = [push(size) + push(64) + b"\xf3"] * 6 + [push(0) + push(0) + b"\xfd", b"\xfe"]
    return body + push(1) + push(rng.randrange(3)) + b"\x55" + rng.choice(ends)


class _Code(bytearray):
    """Code that is written from its beginning, so that jumps know where they go."""

    def branch(self, condition: bytes, if_true: bytes, if_false: bytes) -> None:
        """One of two pieces of code that leave the stack as it was."""
        self += condition
        false_at = len(self) + 4
        true_at = false_at + len(if_false) + 4
        self += push(true_at, 2) + b"\x57" + if_false + push(true_at + 1 + len(if_true), 2) + b"\x56"
        self += b"\x5b" + if_true + b"\x5b"


def program(rng: random.Random, style: Style, callees: list[bytes]) -> bytes:
    """The code of one contract, which calls those behind it."""
    code = _Code(work(rng))
    for _ in range(rng.randrange(1, 4)):
        begun = _begun(rng, style, callees)
        if begun:
            _treated(rng, style, code, begun)
        if rng.random() < style.gas_branches:
            limit = rng.choice([10_000, 50_000, 100_000, 300_000])
            code.branch(push(limit) + GAS + b"\x10", rng.choice([work(rng), REVERT]), work(rng))
        if rng.random() < style.balance_branches:
            read = rng.choice([b"\x32\x31", b"\x33\x31", b"\x47", b"\x73" + SENDER + b"\x31"])
            figure = BALANCE - rng.choice([30_000, 60_000, 200_000]) * rng.choice([10**9, 10**10, 10])
            code.branch(push(figure) + read + b"\x11", work(rng) * 3, b"")
        if rng.random() < 0.5:
            code += work(rng)
    _ended(rng, style, code)
    return bytes(code)


def _begun(rng: random.Random, style: Style, callees: list[bytes]) -> bytes:
    if rng.random() < style.creates:
        return created(rng, style)
    if rng.random() < style.precompiles:
        return precompiled(rng, style)
    return called(rng, style, rng.choice(callees)) if callees else b""


def _treated(rng: random.Random, style: Style, code: _Code, begun: bytes) -> None:
    """What is done with whether a call succeeded."""
    treatments = ["checked"] * style.checked + ["unchecked"] * style.unchecked + ["caught"] * style.caught
    match rng.choice(treatments):
        case "checked":
            code.branch(begun, b"", REVERT)
        case "unchecked":
            code += begun + b"\x50"
        case "caught":
            code.branch(begun, *rng.sample([work(rng), work(rng) * 3, b""], 2))


def _ended(rng: random.Random, style: Style, code: _Code) -> None:
    if rng.random() < style.clears:
        code += b"".join(push(0) + push(slot) + b"\x55" for slot in range(rng.randrange(1, 9)))
    if rng.random() < style.last_store:
        code += push(0) + b"\x54" + push(0) + b"\x55"  # as it was: 100 gas, but 2,301 must be left
    if rng.random() < style.halts:
        code += b"\xfe"
    elif rng.random() < style.reverts:
        code += REVERT
    else:
        code += rng.choice([b"\x00", push(32) + push(0) + b"\xf3"])
