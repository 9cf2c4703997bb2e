"""Honest calls of every kind on the development genesis, and how each is answered."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from feemodel.ethereum._quantities import to_hex
from tests.helpers import generated_calls as generated
from tests.helpers.development import ALDER, BALANCES, HOLDERS, RECORDS, UNIT, encoded, mapped
from tests.system.client import http, post, rpc
from tests.system.evm_programs import LOOP, numbered

HOLDER, STRANGER = to_hex(HOLDERS[0]), bytes.fromhex("57a49e40" * 5)
ORDERS = 2_048  # that are drawn once and sent again and again


class Order(NamedTuple):
    """A request, and the outcome that it must have."""

    kind: str
    request: bytes
    outcome: str = "ok"


def transfer(rng: random.Random) -> dict[str, Any]:
    return generated.transfer(rng)[0]


def token(rng: random.Random) -> dict[str, Any]:
    return generated.token_transfer(rng)[0]


def balance(rng: random.Random) -> dict[str, Any]:
    return {"to": to_hex(ALDER), "data": to_hex(encoded("balanceOf(address)", rng.choice(HOLDERS)))}


def overridden(rng: random.Random) -> list[Any]:
    """A token transfer of one who has nothing, but for the override."""
    call = token(rng) | {"from": to_hex(STRANGER), "to": to_hex(ALDER)}
    tokens = generated.slots({mapped(BALANCES, STRANGER): 10**6 * UNIT})
    return [call, {to_hex(STRANGER): {"balance": hex(10**18)}, to_hex(ALDER): {"stateDiff": tokens}}]


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


#: kind → how often, the request.
KINDS: dict[str, tuple[float, Callable[[random.Random], bytes]]] = {
    "estimate, transfer": (30, lambda rng: post("rollup_estimateGas", transfer(rng))),
    "estimate, token": (24, lambda rng: post("rollup_estimateGas", token(rng))),
    "estimate, swap": (8, lambda rng: post("linea_estimateGas", generated.swap(rng)[0])),
    "estimate, slots": (4, lambda rng: post("rollup_estimateGas", generated.fill(rng)[0] | {"from": HOLDER})),
    "estimate, override": (6, lambda rng: post("rollup_estimateGas", *overridden(rng))),
    "estimate, reverts": (4, lambda rng: post("rollup_estimateGas", generated.reverting(rng)[0])),
    "estimate, blobs": (1, lambda rng: post("rollup_estimateGas", generated.blobs(rng)[0])),
    "eth_estimateGas": (4, lambda rng: post("eth_estimateGas", token(rng))),
    "eth_call": (6, lambda rng: post("eth_call", balance(rng), "latest")),
    "eth_getBlockByNumber": (5, lambda rng: post("eth_getBlockByNumber", "latest", False)),
    "rollup_getProof": (4, lambda rng: post("rollup_getProof", *proof(rng))),
    "feemodel_fee": (3, lambda rng: post("feemodel_fee", fee(rng))),
    "a batch of five": (1.6, lambda rng: http(batch(rng))),
}


def orders(seed: int = 1, count: int = ORDERS) -> list[Order]:
    """Requests of all kinds in a random order, every kind at least once."""
    rng = random.Random(seed)
    weights = [weight for weight, _ in KINDS.values()]
    names = [*KINDS, *rng.choices(list(KINDS), weights, k=max(count - len(KINDS), 0))]
    rng.shuffle(names)
    return [Order(name, KINDS[name][1](rng), "3" if "reverts" in name else "ok") for name in names]


def slow_call(number: int, gas: int) -> bytes:
    """Return a request whose execution takes a while: half a second for 20 million gas on the native engine."""
    call = {"from": HOLDER, "to": to_hex(STRANGER), "gas": hex(gas)}
    return post("eth_call", call, "latest", {to_hex(STRANGER): {"code": to_hex(numbered(LOOP, number))}})
