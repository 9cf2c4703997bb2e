"""The bombs: what costs a server much and its sender little, each to be thrown again and again.

Executed code comes by a state override and is another one each time, as an attacker would have it, unless the bomb is
about that.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

from feemodel.ethereum.quantities import to_hex
from tests.development import ALDER, HOLDERS, RECORDS
from tests.fire import programs
from tests.fire.client import http, post, rpc
from tests.fire.programs import numbered

TARGET = to_hex(bytes.fromhex("7a57e7" * 6 + "7a57"))
HOLDER = to_hex(HOLDERS[0])
BODY_LIMIT = 1 << 20  # bytes of a request, the server's default
LARGEST = (BODY_LIMIT - 1_000) // 2  # bytes of calldata that fit

SLOW_BATCH, LARGE_BATCH = 8, 10  # calls


class Bomb(NamedTuple):
    """One way to cost a server much."""

    name: str
    requests: Callable[[], Iterator[bytes]]  #: one after the other, each by whoever throws it next
    answers: frozenset[str]  #: the outcomes that it may have


LIMITED = frozenset({"-32005"})
HALTED = frozenset({"-32000", "-32005"})
ANY_END = frozenset({"ok", "-32000", "-32005"})


def arsenal() -> list[Bomb]:
    """Every bomb that is a request."""
    return [*executions(), *precompiles(), *large_requests(), *batches(), *measures(), *refused()]


def running(code: bytes, method: str = "rollup_estimateGas", **fields: Any) -> Callable[[], Iterator[bytes]]:
    """Calls of code that stands there by an override, a little different each time."""

    def requests() -> Iterator[bytes]:
        start = random.getrandbits(48)
        for number in count(start):
            call = {"from": HOLDER, "to": TARGET, **fields}
            overrides = {TARGET: {"code": to_hex(numbered(code, number))}}
            yield post(method, call, *([] if method.startswith("rollup") else ["latest"]), overrides)

    return requests


def creating(code: bytes) -> Callable[[], Iterator[bytes]]:
    def requests() -> Iterator[bytes]:
        for number in count(random.getrandbits(48)):
            yield post("rollup_estimateGas", {"from": HOLDER, "data": to_hex(numbered(code, number))})

    return requests


def always(*bodies: bytes) -> Callable[[], Iterator[bytes]]:
    """The same requests in turns."""

    def requests() -> Iterator[bytes]:
        for number in count():
            yield bodies[number % len(bodies)]

    return requests


def executions() -> list[Bomb]:
    same = post("rollup_estimateGas", {"from": HOLDER, "to": TARGET}, {TARGET: {"code": to_hex(programs.ECMUL_LOOP)}})
    accounts = [*HOLDERS[1:], ALDER, RECORDS]
    return [
        Bomb("an infinite loop", running(programs.LOOP), HALTED),
        Bomb("an infinite loop, eth_call", running(programs.LOOP, "eth_call"), HALTED),
        Bomb("an infinite loop, reference engine", running(programs.CLZ_LOOP), HALTED),
        Bomb("an infinite loop in a creation", creating(programs.KECCAK_LOOP), HALTED),
        Bomb("memory expansion", running(programs.MEMORY_LOOP), HALTED),
        Bomb("megabytes returned", running(programs.LARGE_ANSWER, "eth_call"), ANY_END),
        Bomb("deep recursion", running(programs.RECURSION), ANY_END),
        Bomb("hashing", running(programs.KECCAK_LOOP), HALTED),
        Bomb("accounts met one by one", running(programs.one_by_one(accounts)), ANY_END),
        Bomb("the same slow code", always(same), HALTED),
    ]


def precompiles() -> list[Bomb]:
    def direct(place: int, data: bytes) -> bytes:
        call = {"from": HOLDER, "to": to_hex(place.to_bytes(20)), "data": to_hex(data)}
        return post("rollup_estimateGas", call)

    rounds = (15_000_000).to_bytes(4) + bytes(208) + b"\x01"
    return [
        Bomb("ecmul", running(programs.ECMUL_LOOP), HALTED),
        Bomb("ecadd", running(programs.ECADD_LOOP), HALTED),
        Bomb("pairing", running(programs.PAIRING_LOOP), HALTED),
        Bomb("pairing, called directly", always(direct(programs.PAIRING, programs.PAIR * 380)), ANY_END),
        Bomb("ecrecover", running(programs.ECRECOVER_LOOP), HALTED),
        Bomb("modexp", running(programs.MODEXP_LOOP), HALTED),
        Bomb("blake2f", running(programs.BLAKE2F_LOOP), HALTED),
        Bomb("blake2f, called directly", always(direct(programs.BLAKE2F, rounds)), ANY_END),
        Bomb("point evaluation", running(programs.POINT_LOOP), HALTED),
    ]


def large_requests() -> list[Bomb]:
    accounts = {to_hex((1 << 150 | place).to_bytes(20)): {"balance": "0x1"} for place in range(1_000)}
    word = "0x" + "11" * 32
    slots = {"0x" + place.to_bytes(32).hex(): word for place in range(1, 7_000)}
    transfer = {"from": HOLDER, "to": to_hex(HOLDERS[1]), "value": "0x1"}
    keys = ["0x" + place.to_bytes(32).hex() for place in range(8_500)]
    address = "0x" + "ab" * 20
    word_r = hex(2**255 - 19)
    signed = {"chainId": "0x539", "address": address, "nonce": "0x0", "yParity": "0x0", "r": word_r, "s": "0x5"}
    return [
        Bomb("1,000 accounts overridden", always(post("rollup_estimateGas", transfer, accounts)), ANY_END),
        Bomb(
            "7,000 slots overridden", always(post("rollup_estimateGas", transfer, {TARGET: {"state": slots}})), ANY_END
        ),
        Bomb("half a megabyte of code", running(b"\x00" + bytes(LARGEST - 200), "eth_call"), ANY_END),
        Bomb(
            "8,500 storage keys in an access list",
            always(post("rollup_estimateGas", transfer | {"accessList": [{"address": address, "storageKeys": keys}]})),
            ANY_END,
        ),
        Bomb("600 authorizations", always(
            post("rollup_estimateGas", transfer | {"authorizationList": [signed] * 600})), ANY_END),
        Bomb("3,000 authorizations", always(
            post("rollup_estimateGas", transfer | {"authorizationList": [signed] * 3_000})), ANY_END),
        Bomb("1,024 storage keys proved", always(
            post("rollup_getProof", to_hex(ALDER), [hex(place) for place in range(1_024)], "latest")),
             frozenset({"ok"})),
        Bomb("100,000 storage keys", always(post("rollup_getProof", to_hex(ALDER), ["0x1"] * 100_000, "latest")),
             frozenset({"-32602"})),
    ]  # fmt: skip


def batches() -> list[Bomb]:
    def of(calls: list[bytes]) -> bytes:
        return http(b"[" + b",".join(calls) + b"]")

    def slow() -> Iterator[bytes]:
        for number in count(random.getrandbits(48), SLOW_BATCH):
            codes = [to_hex(numbered(programs.ECMUL_LOOP, number + place)) for place in range(SLOW_BATCH)]
            yield of([rpc("eth_estimateGas", {"to": TARGET}, "latest", {TARGET: {"code": code}}) for code in codes])

    proofs = rpc("rollup_getProof", to_hex(ALDER), [hex(place) for place in range(1_024)], "latest")
    codes = ("[-32000]", "[-32005]", "[-32005, -32000]")
    all_failed = frozenset(f"batch: {SLOW_BATCH} of {SLOW_BATCH} failed, {found}" for found in codes)
    return [
        Bomb(f"a batch of {SLOW_BATCH} ecmul loops", slow, all_failed),
        Bomb(
            f"a batch of {LARGE_BATCH} whole proofs",
            always(of([proofs] * LARGE_BATCH)),
            frozenset({"ok", *_some_failed(LARGE_BATCH)}),
        ),
        Bomb("a batch of 101", always(of([rpc("eth_chainId")] * 101)), frozenset({"-32600"})),
        Bomb("a batch of 30,000", always(of([rpc("eth_chainId")[:30]] * 30_000)), frozenset({"-32700", "-32600"})),
    ]


def _some_failed(size: int) -> list[str]:
    """Of a batch whose answers have become too long."""
    return [f"batch: {failed} of {size} failed, [-32005]" for failed in range(1, size)]


def measures() -> list[Bomb]:
    rng = random.Random(3)
    two_values = bytes(rng.choices(b"\x00\x01", k=LARGEST))
    short = to_hex(two_values[:120_000])
    call = {"from": HOLDER, "to": to_hex(HOLDERS[1]), "gas": hex(10**7)}
    curve = {"compressedSize": 1, "gas": "0x5208", "axis": "compressedSize", "from": 0, "to": 10**6, "points": 500}
    return [
        Bomb("two-valued calldata", always(
            post("rollup_estimateGas", {"from": HOLDER, "to": TARGET, "data": to_hex(two_values)})), ANY_END),
        Bomb("two-valued calldata explained", always(post("feemodel_explain", call | {"data": short})), ANY_END),
        Bomb("two-valued calldata compared", always(
            post("feemodel_compare", call | {"data": short}, {"l1BaseFee": "0x1", "blobBaseFee": "0x1", "rules": "all"})
        ), ANY_END),
        Bomb("a curve of 500 points", always(post("feemodel_curve", curve)), frozenset({"ok"})),
        Bomb("a film with a price cap", always(post("feemodel_film", {"posting": "price-cap"})), frozenset({"ok"})),
        Bomb("the metrics", always(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), frozenset({"ok"})),
        Bomb("the page", always(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), frozenset({"ok"})),
    ]  # fmt: skip


def refused() -> list[Bomb]:
    nested = b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":' + b"[" * 500_000 + b"]" * 500_000 + b"}"
    packed = gzip.compress(bytes(100 << 20))
    return [
        Bomb("deeply nested JSON", always(http(nested)), frozenset({"-32700"})),
        Bomb("a compressed body", always(http(packed, more=b"Content-Encoding: gzip\r\n")), frozenset({"HTTP 415"})),
        Bomb("a body too long", always(http(json.dumps("a" * (BODY_LIMIT + 1)).encode())), frozenset({"HTTP 413"})),
        Bomb("a number of a million digits", always(http(b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":['
             + b"1" * 1_000_000 + b"]}")), frozenset({"-32602", "-32700"})),
    ]  # fmt: skip
