"""Random calls of every kind on the development genesis, seeded.

They keep to what two nodes that search for the smallest gas limit must agree on. So none of them succeeds
with less gas when an inner call fails, reads the base fee without naming a price, names a price below the base fee or a
`gas` below 21,000, or needs more gas than a transaction may have.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from feemodel.ethereum._quantities import from_hex, to_hex
from tests.helpers.development import (
    ALDER,
    ALLOWANCES,
    BALANCES,
    BASE_FEE,
    BIRCH,
    CHAIN_ID,
    CONTRACTS,
    HOLDERS,
    LENGTH,
    MAX_WORD,
    POOL,
    RECORDS,
    UNIT,
    development_state,
    encoded,
    mapped,
    token_creation,
    words,
)


class Generated(NamedTuple):
    """One call, as JSON-RPC has it."""

    kind: str
    call: dict[str, Any]
    overrides: dict[str, Any] | None = None


_TOKEN_CODE = development_state().account(ALDER).code

Parts = tuple[dict[str, Any], dict[str, Any] | None]
Kind = Callable[[random.Random], Parts]


def generated_calls(seed: int, count: int) -> Iterator[Generated]:
    """Random calls, the kinds in turn, so that none is missing."""
    rng = random.Random(seed)
    for number in range(count):
        name, kind = list(KINDS.items())[number % len(KINDS)]
        call, overrides = kind(rng)
        if name not in PLAIN:
            call, overrides = dressed(rng, call, overrides)
        yield Generated(name, call, overrides)


# What all kinds draw from


def amount(rng: random.Random, most: int) -> int:
    """Up to `most`, of any length: also 0, and as a rule with few zero bytes."""
    return rng.randrange(most + 1) >> rng.choice([0, 0, 8, 40, most.bit_length()])


def stranger(rng: random.Random) -> bytes:
    return rng.randbytes(20)


def someone(rng: random.Random) -> bytes:
    return rng.choice([*HOLDERS, POOL, ALDER, stranger(rng), stranger(rng), stranger(rng)])


def asked(sender: bytes, to: bytes | None, data: bytes = b"", value: int = 0) -> dict[str, Any]:
    """A call object without what is empty."""
    fields: dict[str, Any] = {"from": to_hex(sender)}
    if to is not None:
        fields["to"] = to_hex(to)
    if value:
        fields["value"] = hex(value)
    return fields | ({"data": to_hex(data)} if data or to is None else {})


def slots(values: dict[int, int]) -> dict[str, str]:
    """Slots as an override has them."""
    return {to_hex(slot.to_bytes(32)): to_hex(value.to_bytes(32)) for slot, value in values.items()}


def dressed(rng: random.Random, call: dict[str, Any], overrides: dict[str, Any] | None) -> Parts:
    """The call with more fields that clients send: a price, `gas`, an access list, what nodes ignore or check."""
    more: dict[str, Any] = {}
    if rng.random() < 0.35:
        overrides = _price(rng, call, more, overrides)
    if rng.random() < 0.2:
        more["accessList"] = [
            {"address": to_hex(someone(rng)), "storageKeys": [to_hex(rng.randrange(4).to_bytes(32))] * rng.randrange(3)}
            for _ in range(rng.randrange(1, 3))
        ]
    if rng.random() < 0.1:
        more["gas"] = hex(rng.choice([rng.randrange(21_000, 90_000), rng.randrange(21_000, 16_777_217)]))
    if rng.random() < 0.1:
        more["nonce"] = hex(rng.randrange(9))
    if rng.random() < 0.1:
        more["chainId"] = hex(CHAIN_ID)
    if rng.random() < 0.1 and "data" in call:
        more["input"] = call["data"]
        call = {name: value for name, value in call.items() if name != "data"}
    return call | more, overrides


def _price(
    rng: random.Random, call: dict[str, Any], more: dict[str, Any], overrides: dict[str, Any] | None
) -> dict[str, Any] | None:
    """A price from the base fee on; sometimes for a sender whose balance bounds the search."""
    price = BASE_FEE + amount(rng, 10**11)
    if rng.random() < 0.5:
        more["gasPrice"] = hex(price)
    else:
        more |= {"maxFeePerGas": hex(price), "maxPriorityFeePerGas": hex(amount(rng, price))}
    sender, value = call["from"], int(call.get("value", "0x0"), 16)
    if rng.random() < 0.6 and sender in map(to_hex, HOLDERS):
        return overrides
    affordable = rng.choice([rng.randrange(20_000, 200_000), 10**6, 10**7])
    return _with(overrides, sender, balance=hex(value + affordable * price))


def _with(overrides: dict[str, Any] | None, address: str, **fields: Any) -> dict[str, Any]:
    overrides = dict(overrides or {})
    return overrides | {address: overrides.get(address, {}) | fields}


# Transfers, tokens, records, swaps


def transfer(rng: random.Random) -> Parts:
    """Of ETH, to an account without code."""
    return asked(rng.choice(HOLDERS), rng.choice([*HOLDERS, stranger(rng)]), value=amount(rng, 100 * UNIT)), None


def token_transfer(rng: random.Random) -> Parts:
    data = encoded("transfer(address,uint256)", someone(rng), amount(rng, 10**6 * UNIT))
    return asked(rng.choice(HOLDERS), rng.choice([ALDER, BIRCH]), data), None


def token_transfer_from(rng: random.Random) -> Parts:
    """Of what the neighbour before allows, sometimes all of it."""
    place = rng.randrange(10)
    value = rng.choice([1_000 * UNIT, amount(rng, 1_000 * UNIT), amount(rng, 1_000 * UNIT)])
    data = encoded("transferFrom(address,address,uint256)", HOLDERS[place - 1], someone(rng), value)
    return asked(HOLDERS[place], rng.choice([ALDER, BIRCH]), data), None


def fill(rng: random.Random) -> Parts:
    data = encoded("fill(uint256,uint256)", rng.choice([0, 1, 2, 5, 20, 50]), amount(rng, MAX_WORD))
    return asked(rng.choice([*HOLDERS, stranger(rng)]), RECORDS, data), None


def swap(rng: random.Random) -> Parts:
    """Three contracts deep in each other's calls, for a recipient old or new."""
    token, value = rng.choice([ALDER, BIRCH]), amount(rng, 400_000 * UNIT)
    arguments = (token, value, rng.choice([0, 1]) if value > 10**6 else 0, someone(rng))
    return asked(rng.choice(HOLDERS), POOL, encoded("swapExactIn(address,uint256,uint256,address)", *arguments)), None


# Gas-dependent


def guarded(rng: random.Random) -> Parts:
    """Needs more gas left at its start than it uses."""
    arguments = (rng.randrange(4), amount(rng, MAX_WORD), rng.randrange(3_000_000))
    return asked(rng.choice(HOLDERS), RECORDS, encoded("fillGuarded(uint256,uint256,uint256)", *arguments)), None


def below(rng: random.Random) -> Parts:
    """Each call on the way keeps a 64th of its gas back."""
    arguments = (rng.randrange(30), rng.randrange(6), amount(rng, MAX_WORD))
    return asked(rng.choice(HOLDERS), RECORDS, encoded("fillBelow(uint256,uint256,uint256)", *arguments)), None


# Creations


def creation(rng: random.Random) -> Parts:
    sender = rng.choice(HOLDERS)
    letters = "".join(chr(rng.randrange(97, 123)) for _ in range(rng.randrange(1, 32)))
    init_code = rng.choice(
        [
            token_creation(letters.title(), letters[:4].upper(), amount(rng, MAX_WORD)),
            from_hex(CONTRACTS["Pool"]["initCode"]) + words(stranger(rng), rng.choice([ALDER, stranger(rng)])),
            from_hex(CONTRACTS["Records"]["initCode"]),
        ]
    )
    if rng.random() < 0.3:
        return asked(sender, None, init_code), {to_hex(sender): {"nonce": hex(rng.randrange(2**40))}}
    return asked(sender, None, init_code), None


# Reverting


def reverting(rng: random.Random) -> Parts:
    """With a text, a panic, a custom error, or nothing."""
    sender, token, big = rng.choice(HOLDERS), rng.choice([ALDER, BIRCH]), 3 * 10**6 * UNIT + amount(rng, 2**200)
    swapping, taking = "swapExactIn(address,uint256,uint256,address)", "transferFrom(address,address,uint256)"
    to, data = rng.choice(
        [
            (token, encoded("transfer(address,uint256)", someone(rng), big)),
            (token, encoded("transfer(address,uint256)", 0, 1)),
            (token, encoded(taking, stranger(rng), sender, 1 + amount(rng, UNIT))),
            (ALDER, encoded("increaseAllowance(address,uint256)", HOLDERS[HOLDERS.index(sender) - 9], MAX_WORD)),
            (RECORDS, encoded("valueAt(uint256)", 200 + amount(rng, MAX_WORD // 2))),
            (RECORDS, encoded("clear(uint256)", 201 + amount(rng, MAX_WORD // 2))),
            (POOL, encoded(swapping, token, UNIT, big, sender)),
            (POOL, encoded(swapping, stranger(rng), UNIT, 0, sender)),
            (POOL, encoded(swapping, token, big, 0, sender)),
            (POOL, rng.randbytes(rng.randrange(1, 40))),
        ]
    )
    return asked(sender, to, data, value=rng.choice([0, 0, 0, 0, 1])), None


# Overrides, blobs


def override_balance(rng: random.Random) -> Parts:
    """A sender who has nothing but what the override says, which may be too little."""
    sender, value = stranger(rng), amount(rng, UNIT)
    balance = rng.choice([value, value, value + amount(rng, UNIT), value // 2])
    return asked(sender, stranger(rng), rng.randbytes(rng.randrange(1, 80)), value), {
        to_hex(sender): {"balance": hex(balance)}
    }


def override_state_diff(rng: random.Random) -> Parts:
    sender, token, held = stranger(rng), rng.choice([ALDER, BIRCH]), 1 + amount(rng, 2**120)
    spent = rng.choice([held, amount(rng, held), amount(rng, held), held + 1])
    entries = {mapped(BALANCES, sender): held, mapped(ALLOWANCES, sender, POOL): rng.choice([held, MAX_WORD])}
    if rng.random() < 0.3:
        data = encoded("swapExactIn(address,uint256,uint256,address)", token, spent, 0, someone(rng))
        return asked(sender, POOL, data), {to_hex(token): {"stateDiff": slots(entries)}}
    if rng.random() < 0.2:
        length = slots({LENGTH: rng.randrange(100, 300)})  # of which 200 at most are not zero
        return asked(sender, RECORDS, encoded("clear(uint256)", rng.randrange(100))), {
            to_hex(RECORDS): {"stateDiff": length}
        }
    data = encoded("transfer(address,uint256)", someone(rng), spent)
    return asked(sender, token, data), {to_hex(token): {"stateDiff": slots(entries)}}


def override_state(rng: random.Random) -> Parts:
    """Storage of which nothing is left but this, also of a contract that the override puts there."""
    sender, held = stranger(rng), 1 + amount(rng, 2**120)
    token, code = rng.choice([(ALDER, {}), (stranger(rng), {"code": to_hex(_TOKEN_CODE)})])
    override = {"state": slots({mapped(BALANCES, sender): held}), **code}
    data = encoded("transfer(address,uint256)", someone(rng), rng.choice([held, amount(rng, held), held + 1]))
    return asked(sender, token, data), {to_hex(token): override}


def blobs(rng: random.Random) -> Parts:
    call, overrides = token_transfer(rng)
    hashes = [to_hex(b"\x01" + rng.randbytes(31)) for _ in range(rng.randrange(1, 7))]
    fees = {"maxFeePerGas": hex(10**9), "maxPriorityFeePerGas": "0x1", "maxFeePerBlobGas": hex(10**6)}
    return call | {"blobVersionedHashes": hashes} | fees, overrides


KINDS: dict[str, Kind] = {
    "transfer": transfer,
    "token: transfer": token_transfer,
    "token: transferFrom": token_transfer_from,
    "storage: fill": fill,
    "nested: swap": swap,
    "gas-dependent: guard": guarded,
    "gas-dependent: depth": below,
    "creation": creation,
    "reverting": reverting,
    "override: balance": override_balance,
    "override: stateDiff": override_state_diff,
    "override: state": override_state,
    "blobs": blobs,
}
#: Kinds that come as they are: their own fields are the point.
PLAIN = {"override: balance", "blobs"}
