"""Random states of small contracts and random calls on them."""

from dataclasses import replace

from feemodel.execution._forks import fork_named
from feemodel.execution._message import Message
from feemodel.execution._state import Account, Block, CallState
from tests.helpers.execution_engines import address

SENDER, POOR, COINBASE = address(0x5E17DE5), address(0x900), address(0xC01)
CONTRACTS = [address(0xC0DE00 + place) for place in range(6)]
DELEGATED, STRANGER = address(0xDE1E), address(0x57A4)
PEOPLE = [SENDER, POOR, COINBASE, DELEGATED, STRANGER]
EVERYBODY = [*CONTRACTS, *PEOPLE]
PRECOMPILES = [1, 2, 3, 4, 6, 7, 9] * 3 + [5, 0x0B, 0x100]

CALL, DELEGATECALL, STATICCALL = 0xF1, 0xF4, 0xFA


def push(value, size=None):
    size = size or max(1, (value.bit_length() + 7) // 8)
    return bytes([0x5F + size]) + value.to_bytes(size, "big")


def call(rng, target, *, gas=None, kind=None, size=0):
    kind = kind or rng.choice([CALL, CALL, DELEGATECALL, STATICCALL])
    value = b"" if kind != CALL else push(rng.choice([0, 0, 0, 1]))
    forwarded = bytes([0x5A]) if gas is None else push(gas)
    return push(0) + push(0) + push(size) + push(0) + value + b"\x73" + target + forwarded + bytes([kind])


def store(rng):
    return push(rng.choice([0, 0, 1, 2, 2**200])) + push(rng.randrange(4)) + b"\x55"


def fragment(rng, callees):
    """A few instructions that leave the stack as it was, mostly harmless, sometimes not."""
    other = rng.choice(EVERYBODY)
    memory = push(rng.choice([0, 1, 31, 32, 1_000, 5_000]))
    common = [
        lambda: store(rng),
        lambda: store(rng),
        lambda: push(rng.randrange(4)) + b"\x54\x50",  # SLOAD
        lambda: push(rng.randrange(3)) + push(rng.randrange(2)) + b"\x5d" + push(0) + b"\x5c\x50",  # TSTORE, TLOAD
        lambda: push(rng.randrange(200)) + memory + b"\x20\x50",  # KECCAK256
        lambda: push(7) + memory + b"\x52",  # MSTORE
        lambda: push(64) + push(0) + memory + b"\x5e",  # MCOPY
        lambda: push(rng.randrange(100)) + push(0) + b"\xa0",  # LOG0
        lambda: (
            b"\x73" + other + rng.choice([b"\x31", b"\x3b", b"\x3f"]) + b"\x50"
        ),  # BALANCE, EXTCODESIZE, EXTCODEHASH
        lambda: b"\x47\x50\x43\x50\x42\x50\x44\x50\x45\x50",  # SELFBALANCE, NUMBER, TIMESTAMP, PREVRANDAO, GASLIMIT
        lambda: push(rng.randrange(300)) + push(2) + b"\x0a\x50",  # EXP
        lambda: call(rng, rng.choice(callees)) + b"\x50",
        lambda: call(rng, rng.choice(callees)) + b"\x50",
        lambda: (
            call(rng, rng.choice([*callees[:2], *PEOPLE]), kind=CALL, gas=rng.choice([0, 2_300, 9_000, 60_000]))
            + b"\x50"
        ),
        lambda: b"\x5a" + push(rng.choice([3_000, 30_000])) + b"\x11\x5f\x55",  # GAS < n, stored
        lambda: (
            call(rng, address(rng.choice(PRECOMPILES)), kind=STATICCALL, size=rng.choice([0, 96, 128, 213])) + b"\x50"
        ),
    ]
    rare = [
        lambda: push(5) + b"\x1e\x50",  # CLZ
        lambda: b"\x48\x5f\x55",  # BASEFEE, stored
        lambda: b"\x4a\x5f\x55",  # BLOBBASEFEE, stored
        lambda: b"\x3a\x5f\x55",  # GASPRICE, stored
        lambda: push(1) + b"\x43\x03\x40\x5f\x55",  # BLOCKHASH of the parent, stored
        lambda: push(rng.randrange(30)) + push(0) + push(0) + b"\xf0\x50",  # CREATE
        lambda: push(1) + push(2) + push(0) + push(0) + b"\xf5\x50",  # CREATE2
        lambda: b"\x5f\x5f\xfd",  # REVERT
        lambda: b"\xfe",
        lambda: push(1) + push(0) + push(2**30) + b"\x3e",  # RETURNDATACOPY out of bounds
        lambda: b"\x73" + other + b"\xff",  # SELFDESTRUCT
    ]
    return rng.choice(rare if rng.random() < 0.02 else common)()


def program(rng, place=0):
    """Code that calls the contracts behind its own place, and now and then any: a call tree, seldom a recursion."""
    callees = CONTRACTS[place + 1 :] if rng.random() < 0.97 and place < len(CONTRACTS) - 1 else EVERYBODY
    body = b"".join(fragment(rng, callees) for _ in range(rng.randrange(1, 9)))
    word = push(32) + push(0)
    end = rng.choice([b"", word + b"\xf3", word + b"\xf3", push(0) + b"\x54\x5f\x52" + word + b"\xf3"])
    if rng.random() < 0.12:
        end = word + b"\xfd"
    metadata = b"\xfe" + rng.randbytes(40) if rng.random() < 0.5 else b""  # what compilers leave behind the code
    return body + (end or b"\x00") + metadata


def call_state(rng):
    contracts = {
        contract: Account(
            balance=rng.choice([0, 10]),
            nonce=1,
            code=program(rng, place),
            storage={slot: rng.randrange(1, 3) for slot in range(4) if rng.random() < 0.6},
        )
        for place, contract in enumerate(CONTRACTS)
    }
    people = {SENDER: Account(balance=10**18, nonce=rng.choice([0, 5])), POOR: Account(balance=3)}
    if rng.random() < 0.5:
        people[DELEGATED] = Account(balance=1, nonce=1, code=b"\xef\x01\x00" + CONTRACTS[0])
    block = Block(number=1_000, timestamp=1_700_000_000, gas_limit=30_000_000, coinbase=COINBASE, excess_blob_gas=2**27)
    hashes = {number: number.to_bytes(32, "big") for number in range(744, 1_000)}
    fork = fork_named(rng.choice(["cancun", "prague", "osaka", "osaka", "bpo2"]))
    return CallState(accounts=contracts | people, block=replace(block, hashes=hashes), fork=fork)


def message(rng):
    creates = rng.random() < 0.08
    listed = ()
    if rng.random() < 0.25:
        listed = tuple(
            (rng.choice(EVERYBODY), tuple(slot.to_bytes(32, "big") for slot in range(rng.randrange(3))))
            for _ in range(2)
        )
    return Message(
        sender=SENDER,
        to=None if creates else rng.choice(CONTRACTS[:4]),
        value=rng.choice([0, 0, 0, 1, 5]),
        data=program(rng) if creates else bytes(rng.choice([0, 0, 1, 255]) for _ in range(rng.choice([0, 4, 68, 900]))),
        gas_price=rng.choice([0, 7]),
        base_fee=7,
        access_list=listed,
    )


def override(rng):
    slots = {slot: rng.randrange(3) for slot in range(rng.randrange(1, 4))}
    return {
        rng.choice(CONTRACTS): rng.choice(
            [{"stateDiff": slots}, {"state": slots}, {"balance": 9}, {"code": program(rng, 3)}]
        ),
        SENDER: {"balance": 10**19, "nonce": 7},
    }
