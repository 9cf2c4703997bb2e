"""Honest calls of every kind on the development genesis, and how each is answered."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from feemodel.ethereum._quantities import to_hex
from tests.helpers.development import ALDER, BALANCES, BIRCH, HOLDERS, POOL, RECORDS, UNIT, encoded, mapped, words
from tests.system.client import http, post, rpc

STRANGER = bytes.fromhex("57a49e40" * 5)
COUNTS_ZEROS = "0x5f351e5f5260205ff3"  # returns CLZ of its data, as Osaka has
REFERENCE = ("estimate, blobs", "estimate, reference")  # kinds that only the reference engine executes
ORDERS = 2_048  # that are drawn once and sent again and again


class Order(NamedTuple):
    """A request, and the outcomes that it may have."""

    kind: str
    request: bytes
    outcomes: frozenset[str] = frozenset({"ok"})


def transfer(rng: random.Random) -> dict[str, str]:
    sender, recipient = rng.sample(HOLDERS, 2)
    return {"from": to_hex(sender), "to": to_hex(recipient), "value": hex(rng.randrange(1, 10**19))}


def token(rng: random.Random) -> dict[str, str]:
    sender, recipient = rng.sample(HOLDERS, 2)
    data = encoded("transfer(address,uint256)", recipient, rng.randrange(1, 1_000 * UNIT))
    return {"from": to_hex(sender), "to": to_hex(rng.choice([ALDER, BIRCH])), "data": to_hex(data)}


def swap(rng: random.Random) -> dict[str, str]:
    sender, amount = rng.choice(HOLDERS), rng.randrange(UNIT, 1_000 * UNIT)
    data = encoded("swapExactIn(address,uint256,uint256,address)", rng.choice([ALDER, BIRCH]), amount, 1, sender)
    return {"from": to_hex(sender), "to": to_hex(POOL), "data": to_hex(data)}


def fifty_slots(rng: random.Random) -> dict[str, str]:
    data = encoded("fill(uint256,uint256)", 50, rng.randrange(1, 2**64))
    return {"from": to_hex(rng.choice(HOLDERS)), "to": to_hex(RECORDS), "data": to_hex(data)}


def overridden(rng: random.Random) -> list[Any]:
    """A token transfer of one who has nothing, but for the override."""
    balance = "0x" + words(10**6 * UNIT).hex()
    slot = "0x" + words(mapped(BALANCES, STRANGER)).hex()
    overrides = {
        to_hex(STRANGER): {"balance": hex(rng.randrange(10**18, 10**20))},
        to_hex(ALDER): {"stateDiff": {slot: balance}},
    }
    call = token(rng) | {"from": to_hex(STRANGER), "to": to_hex(ALDER)}
    return [call, overrides]


def refused(rng: random.Random) -> dict[str, str]:
    """A token transfer that reverts: nobody has so much."""
    data = encoded("transfer(address,uint256)", rng.choice(HOLDERS), rng.randrange(2**100, 2**200))
    return token(rng) | {"data": to_hex(data)}


def balance(rng: random.Random) -> dict[str, str]:
    data = encoded("balanceOf(address)", rng.choice(HOLDERS))
    return {"to": to_hex(rng.choice([ALDER, BIRCH])), "data": to_hex(data)}


def zeros(rng: random.Random) -> list[Any]:
    """Code of the caller's own with an opcode of Osaka, at an address where none is."""
    where, value = to_hex(STRANGER), "0x" + words(rng.randrange(1, 2**200)).hex()
    return [{"from": to_hex(rng.choice(HOLDERS)), "to": where, "data": value}, {where: {"code": COUNTS_ZEROS}}]


def blobs(rng: random.Random) -> dict[str, Any]:
    """A transfer beside blobs."""
    hashes = ["0x01" + rng.randbytes(31).hex() for _ in range(rng.randrange(1, 4))]
    return {**transfer(rng), "blobVersionedHashes": hashes}


def fee(rng: random.Random) -> dict[str, Any]:
    return {"compressedSize": rng.randrange(30, 5_000), "gas": hex(rng.randrange(21_000, 10**6))}


def batch(rng: random.Random) -> bytes:
    calls = [
        rpc("rollup_estimateGas", transfer(rng)), rpc("rollup_estimateGas", token(rng)),
        rpc("eth_getBalance", to_hex(rng.choice(HOLDERS)), "latest"), rpc("eth_blockNumber"), rpc("eth_chainId"),
    ]  # fmt: skip
    return b"[" + b",".join(calls) + b"]"


def proof(rng: random.Random) -> list[Any]:
    return [to_hex(rng.choice([*HOLDERS, ALDER, RECORDS])), [hex(rng.randrange(300)) for _ in range(3)], "latest"]


#: kind → how often, the request, what may come of it.
KINDS: dict[str, tuple[float, Callable[[random.Random], bytes], frozenset[str]]] = {
    "estimate, transfer": (30, lambda rng: post("rollup_estimateGas", transfer(rng)), frozenset({"ok"})),
    "estimate, token": (24, lambda rng: post("rollup_estimateGas", token(rng)), frozenset({"ok"})),
    "estimate, swap": (8, lambda rng: post("linea_estimateGas", swap(rng)), frozenset({"ok"})),
    "estimate, 50 slots": (4, lambda rng: post("rollup_estimateGas", fifty_slots(rng)), frozenset({"ok"})),
    "estimate, override": (6, lambda rng: post("rollup_estimateGas", *overridden(rng)), frozenset({"ok"})),
    "estimate, reverts": (4, lambda rng: post("rollup_estimateGas", refused(rng)), frozenset({"3"})),
    "estimate, blobs": (0.2, lambda rng: post("rollup_estimateGas", blobs(rng)), frozenset({"ok"})),
    "estimate, reference": (0.4, lambda rng: post("rollup_estimateGas", *zeros(rng)), frozenset({"ok"})),
    "eth_estimateGas": (4, lambda rng: post("eth_estimateGas", token(rng)), frozenset({"ok"})),
    "eth_call": (6, lambda rng: post("eth_call", balance(rng), "latest"), frozenset({"ok"})),
    "eth_getBlockByNumber": (5, lambda rng: post("eth_getBlockByNumber", "latest", False), frozenset({"ok"})),
    "rollup_getProof": (4, lambda rng: post("rollup_getProof", *proof(rng)), frozenset({"ok"})),
    "feemodel_fee": (3, lambda rng: post("feemodel_fee", fee(rng)), frozenset({"ok"})),
    "a batch of five": (1.6, lambda rng: http(batch(rng)), frozenset({"ok"})),
}


def orders(seed: int = 1, count: int = ORDERS) -> list[Order]:
    """Requests of all kinds in a random order, every kind at least once."""
    rng = random.Random(seed)
    weights = [weight for weight, _, _ in KINDS.values()]
    names = [*KINDS, *rng.choices(list(KINDS), weights, k=max(count - len(KINDS), 0))]
    rng.shuffle(names)
    return [Order(name, KINDS[name][1](rng), KINDS[name][2]) for name in names]


def quick_orders(seed: int, count: int) -> list[Order]:
    """Those that no child process executes."""
    return [order for order in orders(seed, count) if order.kind not in REFERENCE]
