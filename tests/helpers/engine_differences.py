"""Random calls of every kind on random states, executed by both engines: nothing may differ.

python -m tests.helpers.engine_differences 100000 --seed 7  # that many calls, the shares of how they ended printed

The words for an exceptional halt are not compared: the specification has fewer. All gas is gone either way. What the
native engine claims of other gas limits is executed.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

import coincurve

from feemodel.errors import FeeModelError
from feemodel.ethereum._hashes import Authorization, keccak256
from feemodel.execution._engines import Engine, engine_named
from feemodel.execution._forks import FORKS, Fork
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome, Status
from feemodel.execution._state import Account, Block, CallState
from tests.helpers.development import account_of, consent, creation_address
from tests.helpers.execution_engines import address

#: Where the calls run: the reference engine has the rules since Prague.
RULES = ("prague", "osaka", "bpo2")
ORDER = {name: place for place, name in enumerate(FORKS)}

CONTRACTS = [address(0xC0DE00 + place) for place in range(6)]
SENDER, POOR, COINBASE, STRANGER = address(0x5E17DE5), address(0x900), address(0xC01), address(0x57A4)
KEYS = [coincurve.PrivateKey(number.to_bytes(32)) for number in (1, 2, 3)]
CONSENTING = [*map(account_of, KEYS)]
PEOPLE = [SENDER, POOR, COINBASE, STRANGER, *CONSENTING]
EVERYBODY = [*CONTRACTS, *PEOPLE]
CALLS_A_WORLD = 5
PLENTY = 400_000
BLOCK_NUMBER = 1_000

CALL, CALLCODE, DELEGATECALL, STATICCALL = 0xF1, 0xF2, 0xF4, 0xFA
REVERT = bytes.fromhex("60006000fd")
BALANCE = 10**18  # of the sender
SPENT = 10**14  # of it, by 100,000 gas at the highest price


def push(value: int, size: int | None = None) -> bytes:
    """Code that puts a number on the stack."""
    size = size or max(1, (value.bit_length() + 7) // 8)
    return bytes([0x5F + size]) + value.to_bytes(size)


def word(number: int) -> bytes:
    return number.to_bytes(32)


# Inputs that precompiles accept


SIGNED = bytes.fromhex(
    "f606bf108a5b1452b46f0dd30cf96ec97646bafe97aaddfc56fbd5242bf81d50"
    "000000000000000000000000000000000000000000000000000000000000001c"
    "56e1c558665ac3491d9df3394890abb0adc9f63321d221eb9077c72f1fdad748"
    "25805ec254d6cb52854c2f548bbc3b097f77c4599ef5b69fbc0818646c0981af"
)
P256_SIGNED = bytes.fromhex(
    "f606bf108a5b1452b46f0dd30cf96ec97646bafe97aaddfc56fbd5242bf81d50"
    "ded35a93c9e6c7b821f8388d2c074c724a42b892adaeb34d6a7ec60ec022e7f2"
    "0e380f72b347f37d52fa95510fb27110003dd488788989f88476f296c88a5e39"
    "f8b7de3b9db0f5ba53688620160d81f8536ebcc88d73b626f382d0b3ec0ede69"
    "03ea9b9898d1a0f079685c514085ba2416f807380cc75d60ed74180a83e3f252"
)
BN_G1 = word(1) + word(2)
BN_G2 = b"".join(
    map(
        word,
        (
            11559732032986387107991004021392285783925812861821192530917403151452391805634,
            10857046999023057135944570762232829481370756359578518086990519993285655852781,
            4082367875863433681332203403145435568316851327593401208105741076214120093531,
            8495653923123431417604973247489272438418190587263600148770280649306958101930,
        ),
    )
)
BLS_G1 = bytes.fromhex(
    "0000000000000000000000000000000017f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac58"
    "6c55e83ff97a1aeffb3af00adb22c6bb0000000000000000000000000000000008b3f481e3aaa0f1a09e30ed741d8ae4"
    "fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1"
)
BLS_G2 = bytes.fromhex(
    "00000000000000000000000000000000024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d177"
    "0bac0326a805bbefd48056c8c121bdb80000000000000000000000000000000013e02b6052719f607dacd3a088274f65"
    "596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e00000000000000000000000000000000"
    "0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"
    "000000000000000000000000000000000606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab"
    "3f370d275cec1da1aaa9075ff05f79be"
)
NOTHING_COMMITTED = b"\xc0" + bytes(47)  # to the polynomial that is zero everywhere, and its proof


def precompile_input(rng: random.Random, number: int) -> bytes:
    """What the precompile takes, mostly; else a part of it, or anything."""
    valid: dict[int, Callable[[], bytes]] = {
        1: lambda: SIGNED,
        2: lambda: rng.randbytes(rng.randrange(200)),
        3: lambda: rng.randbytes(rng.randrange(200)),
        4: lambda: rng.randbytes(rng.randrange(200)),
        5: lambda: _powers(rng),
        6: lambda: BN_G1 + rng.choice([BN_G1, bytes(64)]),
        7: lambda: BN_G1 + word(rng.randrange(2**256)),
        8: lambda: rng.choice([b"", BN_G1 + BN_G2, bytes(192)]),
        9: lambda: rng.randrange(50).to_bytes(4) + rng.randbytes(208) + rng.choice([b"\0", b"\1", b"\2"]),
        10: lambda: (
            b"\x01" + sha256(NOTHING_COMMITTED).digest()[1:] + word(rng.randrange(9)) + word(0) + 2 * NOTHING_COMMITTED
        ),
        0x0B: lambda: BLS_G1 + rng.choice([BLS_G1, bytes(128)]),
        0x0C: lambda: (BLS_G1 + word(rng.randrange(2**200))) * rng.choice([1, 2]),
        0x0D: lambda: BLS_G2 + rng.choice([BLS_G2, bytes(256)]),
        0x0E: lambda: BLS_G2 + word(rng.randrange(2**200)),
        0x0F: lambda: rng.choice([BLS_G1 + BLS_G2, bytes(384)]),
        0x10: lambda: bytes(32) + rng.randbytes(32),
        0x11: lambda: bytes(32) + rng.randbytes(32) + bytes(32) + rng.randbytes(32),
        0x100: lambda: P256_SIGNED,
    }
    found = valid[number]()
    if rng.random() < 0.15 and found:
        return found[: rng.randrange(len(found))]
    return rng.randbytes(len(found)) if rng.random() < 0.1 else found


def _powers(rng: random.Random) -> bytes:
    sizes = [rng.choice([0, 1, 3, 32, 40]) for _ in range(3)]
    if rng.random() < 0.05:
        sizes[rng.randrange(3)] = rng.choice([1_025, 2**40])
    return b"".join(map(word, sizes)) + rng.randbytes(min(sum(sizes), 200))


#: Number and weight; those of curves take the specification milliseconds.
PRECOMPILES = {1: 4, 2: 4, 3: 4, 4: 4, 5: 6, 6: 2, 7: 2, 8: 1, 9: 4, 10: 1, 0x0B: 2, 0x0C: 1, 0x0D: 1, 0x0E: 1}
PRECOMPILES |= {0x0F: 1, 0x10: 1, 0x11: 1, 0x100: 2}


# Programs


def unless(condition: bytes, code: bytes) -> bytes:
    """Code that runs unless the word that `condition` leaves is true; the jump counts from where it stands."""
    return condition + push(len(code) + 3, 2) + b"\x58\x01\x57" + code + b"\x5b"


def in_memory(data: bytes) -> bytes:
    """Code that writes data to the start of the memory."""
    words = [data[at : at + 32].ljust(32, b"\0") for at in range(0, len(data), 32)]
    return b"".join(b"\x7f" + part + push(32 * place) + b"\x52" for place, part in enumerate(words))


def call(rng: random.Random, target: bytes, gas: bytes = b"\x5a", kind: int | None = None, size: int = 0) -> bytes:
    """A call whose output of a word goes to the memory; its success stays on the stack."""
    kind = kind or rng.choice([CALL, CALL, CALL, DELEGATECALL, STATICCALL, CALLCODE])
    value = push(rng.choice([0, 0, 0, 0, 1, 7, BALANCE - SPENT])) if kind in (CALL, CALLCODE) else b""
    return push(32) + push(0) + push(size) + push(0) + value + b"\x73" + target + gas + bytes([kind])


def create(rng: random.Random) -> bytes:
    """A creation, and a call of what it made."""
    runtime = rng.choice(
        [b"", b"\x60\x01\x60\x00\x55", b"\x33\xff", b"\xfe", b"\xef", b"\x60\x05\x54\x60\x05\x55", b"\x3d\xff"]
    )
    store = rng.choice([b"", b"\x60\x01\x60\x00\x55", b"\x60\x01\x60\x00\x55\x60\x00\x60\x00\x55"])
    end = rng.choice(["return", "return", "return", "revert", "invalid", "destroy", "large"])
    if end == "return":
        init = store + in_memory(runtime or b"\0") + push(len(runtime)) + push(0) + b"\xf3"
    elif end == "large":
        init = push(rng.choice([3_000, 24_577])) + push(0) + b"\xf3"
    else:
        init = store + {"revert": push(5) + push(0) + b"\xfd", "invalid": b"\xfe", "destroy": b"\x33\xff"}[end]
    salt = push(rng.randrange(2))
    head = in_memory(init)
    value = push(rng.choice([0, 0, 1, BALANCE - SPENT]))
    kind = rng.choice([b"\xf0", b"\xf5"])
    made = (salt if kind == b"\xf5" else b"") + push(len(init)) + push(0) + value + kind
    use = push(0) * 4 + push(rng.choice([0, 0, 1])) + b"\x85\x5a\xf1\x50\x50"  # of the address below five words
    return head + made + rng.choice([b"\x50", use, use])


def fragment(rng: random.Random, fork: Fork, callees: list[bytes]) -> bytes:
    """A few instructions that leave the stack as it was, mostly harmless, sometimes not."""
    since = ORDER[fork.name]
    other = rng.choice(EVERYBODY)
    memory = push(rng.choice([0, 1, 31, 32, 1_000, 5_000]))
    slot = push(rng.randrange(5))
    keep = rng.choice([b"\x50", slot + b"\x55"])  # POP, or SSTORE
    named = push(rng.choice([0, 1, 700, 2_300, 2_310, 9_000, 60_000, 10**7]))
    gas = rng.choice([*[b"\x5a"] * 4, *[named] * 4, push(5_000) + b"\x5a\x03", push(3) + b"\x5a\x04"])
    tight = push(rng.randrange(2_295, 2_320) + rng.choice([0, 0, 100, 2_100, 2_900, 5_000, 20_000]))
    otherwise = rng.choice([push(7) + slot + b"\x55", push(3_000) + memory + b"\x20\x50", b"", REVERT, b"\x00"])
    balance = rng.choice([b"\x32\x31", b"\x33\x31", b"\x47"])  # of the sender, of the caller, its own
    number = rng.choices(list(PRECOMPILES), list(PRECOMPILES.values()))[0]
    common: list[tuple[str, Callable[[], bytes]]] = [
        ("london", lambda: push(rng.choice([0, 0, 0, 1, 2, 2**200])) + slot + b"\x55"),
        ("london", lambda: push(rng.choice([0, 0, 1])) + slot + b"\x55"),
        *[("london", lambda: slot + b"\x54" + keep)] * 3,
        ("cancun", lambda: push(rng.randrange(3)) + slot + b"\x5d" + slot + b"\x5c" + keep),
        ("london", lambda: push(rng.randrange(200)) + memory + b"\x20" + keep),
        ("london", lambda: push(7) + memory + b"\x52"),
        ("cancun", lambda: push(64) + push(0) + memory + b"\x5e"),
        ("london", lambda: push(rng.randrange(100)) + push(0) + rng.choice([b"\xa0", slot + b"\x90\x50\xa0"])),
        ("london", lambda: b"\x73" + other + rng.choice([b"\x31", b"\x3b"]) + keep),
        ("london", lambda: b"\x73" + other + b"\x3f" + keep),
        ("london", lambda: push(40) + push(0) + memory + b"\x73" + other + b"\x3c"),
        ("london", lambda: b"\x47" + keep),
        (
            "london",
            lambda: rng.choice([b"\x43", b"\x42", b"\x44", b"\x45", b"\x41", b"\x32", b"\x33", b"\x34"]) + keep,
        ),
        ("london", lambda: rng.choice([b"\x3a", b"\x36", b"\x38", b"\x58", b"\x59", b"\x30"]) + keep),
        ("london", lambda: push(rng.choice([0, 1, 5, 255, 256, 257, 990])) + b"\x43\x03\x40" + keep),
        ("london", lambda: push(rng.randrange(300)) + push(2) + b"\x0a" + keep),
        ("london", lambda: b"\x5a" + keep),
        ("london", lambda: unless(push(rng.choice([3_000, 30_000, 200_000])) + b"\x5a\x11", otherwise)),
        ("london", lambda: unless(push(rng.choice([60_000, 150_000])) + b"\x5a\x11", REVERT)),
        ("london", lambda: unless(push(BALANCE - rng.randrange(4 * SPENT)) + balance + b"\x11", otherwise)),
        ("london", lambda: b"\x48" + keep),
        ("cancun", lambda: b"\x4a" + keep),
        ("cancun", lambda: push(rng.randrange(3)) + b"\x49" + keep),
        ("osaka", lambda: push(rng.randrange(2**70)) + b"\x1e" + keep),
        *[("london", lambda: call(rng, rng.choice(callees), gas) + keep)] * 3,
        *[("london", lambda: unless(call(rng, rng.choice(callees), gas), otherwise))] * 3,
        ("london", lambda: call(rng, rng.choice(callees), tight) + keep),
        ("london", lambda: call(rng, rng.choice([*PEOPLE, STRANGER]), gas, kind=CALL) + keep),
        ("london", lambda: b"\x3d" + keep + rng.choice([b"", push(1) + push(0) + push(0) + b"\x3e"])),
        ("london", lambda: _precompile(rng, number)),
        ("london", lambda: _precompile(rng, number)),
        ("london", lambda: create(rng)),
    ]
    rare: list[tuple[str, Callable[[], bytes]]] = [
        ("london", lambda: REVERT),
        ("london", lambda: b"\xfe"),
        ("london", lambda: bytes([rng.choice([0x0C, 0x1E, 0x21, 0x4B, 0x5F, 0xD0, 0xEF, 0xF6])])),
        ("london", lambda: push(rng.randrange(60)) + b"\x56"),
        ("london", lambda: b"\x50" * 3),
        ("london", lambda: push(1) + push(0) + push(2**30) + b"\x3e"),
        ("london", lambda: b"\x73" + other + b"\xff"),
        ("london", lambda: b"\x73" + rng.randbytes(20) + b"\xff"),
    ]
    known = [make for name, make in (rare if rng.random() < 0.05 else common) if ORDER[name] <= since]
    return rng.choice(known)()


def _precompile(rng: random.Random, number: int) -> bytes:
    data = precompile_input(rng, number)
    gas = rng.choice([b"\x5a", b"\x5a", push(rng.choice([100, 3_000, 50_000]))])
    return in_memory(data) + call(rng, address(number), gas, rng.choice([CALL, STATICCALL]), len(data)) + b"\x50"


def program(rng: random.Random, fork: Fork, place: int = 0) -> bytes:
    """Code that calls the contracts behind its own place, and now and then any: a call tree, seldom a recursion."""
    callees = CONTRACTS[place + 1 :] if rng.random() < 0.97 and place < len(CONTRACTS) - 1 else EVERYBODY
    body = b"".join(fragment(rng, fork, callees) for _ in range(rng.randrange(1, 9)))
    out = push(32) + push(0)
    end = rng.choice([b"\x00", out + b"\xf3", out + b"\xf3", push(0) + b"\x54" + push(0) + b"\x52" + out + b"\xf3"])
    return body + rng.choices([end, out + b"\xfd", b"\xfe"], [8, 1, 1 if place else 0])[0]


# States and messages


def call_state(rng: random.Random, fork: Fork) -> CallState:
    contracts = {
        contract: Account(
            balance=rng.choice([0, 10]),
            nonce=1,
            code=program(rng, fork, place),
            storage={slot: rng.randrange(1, 3) for slot in range(5) if rng.random() < 0.7},
        )
        for place, contract in enumerate(CONTRACTS)
    }
    people = {SENDER: Account(balance=BALANCE, nonce=rng.choice([0, 5])), POOR: Account(balance=3)}
    for person in CONSENTING:
        if rng.random() < 0.5:
            code = rng.choice([b"", b"\xef\x01\x00" + rng.choice([*CONTRACTS, address(4), person]), b"\xef\x01\x00"])
            people[person] = Account(balance=rng.choice([0, 1, 10**17]), nonce=rng.randrange(2), code=code)
    if rng.random() < 0.1:  # where a creation would be: storage, or an account, in its way
        people[creation_address(SENDER, people[SENDER].nonce)] = rng.choice(
            [Account(storage={1: 1}), Account(nonce=1), Account(balance=5)]
        )
    if rng.random() < 0.2:
        code = b"\xef\x01\x00" + CONTRACTS[0] if fork.authorizations else program(rng, fork)
        people[SENDER] = replace(people[SENDER], code=code)
    block = Block(
        number=BLOCK_NUMBER, timestamp=1_700_000_000, gas_limit=30_000_000, base_fee=7, coinbase=COINBASE,
        prev_randao=rng.randbytes(32),
        excess_blob_gas=rng.choice([0, 2**27]), hashes=_hashes(),
    )  # fmt: skip
    return CallState(accounts=contracts | people, block=block, fork=fork)


@cache
def _hashes() -> dict[int, bytes]:
    return {number: keccak256(word(number)) for number in range(BLOCK_NUMBER - 256, BLOCK_NUMBER)}


def message(rng: random.Random, base: CallState) -> Message:
    fork = base.fork
    creates = rng.random() < 0.08
    listed: tuple[Any, ...] = ()
    if rng.random() < 0.25:
        keys = tuple(word(slot) for slot in range(rng.randrange(3)))
        listed = tuple((rng.choice([*EVERYBODY, address(2)]), keys) for _ in range(2))
    consents: tuple[Authorization, ...] = ()
    if not creates and fork.authorizations and rng.random() < 0.2:
        consents = tuple(_consent(rng, base) for _ in range(rng.randrange(1, 4)))
    targets = [*CONTRACTS[:4]] * 4 + [*CONSENTING, SENDER, STRANGER] + [SENDER] * 20 * bool(base.account(SENDER).code)
    to = None if creates else rng.choice(targets)
    data = (
        program(rng, fork) if creates else bytes(rng.choice([0, 0, 1, 255]) for _ in range(rng.choice([0, 4, 68, 900])))
    )
    if not creates and rng.random() < 0.06:
        number = rng.choices(list(PRECOMPILES), list(PRECOMPILES.values()))[0]
        to, data = address(number), precompile_input(rng, number)
    return Message(
        sender=SENDER, to=to, value=rng.choice([0, 0, 0, 1, 5]), data=data, gas_price=rng.choice([0, 7, 10**9]),
        base_fee=rng.choice([0, 7]), access_list=listed, authorizations=consents,
        pays=rng.random() < 0.8,
    )  # fmt: skip


def _consent(rng: random.Random, base: CallState) -> Authorization:
    """One of an account, which mostly holds."""
    place = rng.randrange(len(KEYS))
    chain = rng.choice([0, base.chain_id, base.chain_id, 5])
    target = rng.choice([*CONTRACTS, *CONTRACTS, address(4), bytes(20), *CONSENTING])
    nonce = base.account(CONSENTING[place]).nonce + rng.choice([0, 0, 0, 0, 1])
    entry = consent(KEYS[place], chain, target, nonce)
    if rng.random() < 0.1:
        order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
        high = {"s": order - entry.s, "y_parity": 1 - entry.y_parity}
        return entry._replace(**rng.choice([high, {"r": 0}, {"s": 0}, {"y_parity": 27}, {"r": order, "y_parity": 0}]))
    return entry


def override(rng: random.Random, fork: Fork) -> dict[Any, Any]:
    slots = {slot: rng.randrange(3) for slot in range(rng.randrange(1, 4))}
    changes = [{"stateDiff": slots}, {"state": slots}, {"balance": 9}, {"code": program(rng, fork, 3)}, {"nonce": 0}]
    return {
        rng.choice([*CONTRACTS, *CONSENTING]): rng.choice(changes),
        SENDER: rng.choice([{"balance": 10**19, "nonce": 7}, {"code": b"\xef\x01\x00" + CONTRACTS[1]}]),
    }


class Case(NamedTuple):
    """A message on a state, with a gas limit."""

    call_state: CallState
    message: Message
    gas_limit: int


def cases(seed: int, count: int, native: Engine, rules: Sequence[str] = RULES) -> Iterator[Case]:
    """Random ones under rules by their names; some limits lie near what the call uses."""
    rng = random.Random(seed)
    for number in range(count):
        if number % CALLS_A_WORLD == 0:
            fork = FORKS[rng.choice(rules)]
            base = call_state(rng, fork)
        changed = base.overridden(override(rng, fork)) if rng.random() < 0.2 else base
        asked = message(rng, changed)
        limit = PLENTY
        if rng.random() < 0.3:
            found = ended(native, Case(changed, asked, PLENTY))
            used = found.gas_used if isinstance(found, Outcome) else 21_000
            limit = rng.choice([max(used, 21_000), max(used - 1, 20_999), used + 700, used + 2_300, 40_000])
        yield Case(changed, asked, limit)


# What may not differ


def alike(outcome: Outcome) -> Outcome:
    """Without the word for an exceptional halt."""
    halted = outcome.status in (Status.HALT, Status.OUT_OF_GAS)
    return outcome._replace(status=Status.HALT, halt="") if halted else outcome


def ended(engine: Engine, case: Case, method: str = "execute") -> Any:
    """The outcome, or with `method="trace"` what the native engine proves by it, or the error instead of one."""
    try:
        return getattr(engine, method)(case.call_state, case.message, case.gas_limit)
    except FeeModelError as error:
        return str(error)


def ran_out(outcome: Outcome) -> bool:
    """Whether more gas is all that an execution wants."""
    return outcome.status in (Status.OUT_OF_GAS, Status.INTRINSIC)


def unproven(engine: Engine, case: Case, answer: Any) -> Iterator[str]:
    """What a trace, or one with less gas than that needs, claims of other limits and is not so."""
    rng = random.Random(answer.minimum)
    for gas_limit in (case.gas_limit, answer.minimum - 1):
        traced = ended(engine, case._replace(gas_limit=gas_limit), "trace")
        if traced.minimum > traced.maximum:
            continue
        for other in (traced.minimum, rng.randint(traced.minimum, min(traced.maximum, 2 * traced.minimum))):
            outcome = ended(engine, case._replace(gas_limit=other))
            same = outcome.succeeded == traced.outcome.succeeded
            if not same or (traced.oblivious and outcome != traced.outcome):
                yield f"traced with {gas_limit:,}, not the same with {other:,}"
        below = ended(engine, case._replace(gas_limit=traced.minimum - 1))
        if (traced.single_frame and not ran_out(below)) or (traced.oblivious and below == traced.outcome):
            yield f"traced with {gas_limit:,}, does not run out of gas with {traced.minimum - 1:,}"


def differences(
    seed: int, count: int, native: Engine, reference: Engine | None, rules: Sequence[str] = RULES
) -> tuple[Counter[str], list[Any]]:
    """How the calls ended, and every difference between the engines; without a reference, what is not proven alone."""
    shares: Counter[str] = Counter()
    found = []
    for case in cases(seed, count, native, rules):
        ours, theirs = ended(native, case, "trace"), reference and ended(reference, case)
        if isinstance(ours, str):
            shares["error"] += 1
            same = theirs in (None, ours)
        else:
            shares[str(ours.outcome.status)] += 1
            shares["proves other limits"] += ours.minimum <= ours.maximum
            same = theirs is None or (isinstance(theirs, Outcome) and alike(ours.outcome) == alike(theirs))
            found += [(seed, claim, case, ours) for claim in unproven(native, case, ours)]
        if not same:
            found.append((seed, case, theirs, ours))
    return shares, found


def main() -> bool:
    """Compare as many calls as the command line says, and print how they ended; whether there is a difference."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", metavar="CALLS", type=int, nargs="?", default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    shares, found = differences(given.seed, given.count, engine_named("native"), engine_named("reference"))
    for name, number in shares.most_common():
        print(f"{number:>9,} {number / given.count:6.1%}  {name}")
    for difference in found[:20]:
        print("DIFFERENT", *(f"{part}"[:2_000] for part in difference), sep="\n    ")
    print(f"{given.count:,} calls of seed {given.seed}, {len(found):,} differences")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
