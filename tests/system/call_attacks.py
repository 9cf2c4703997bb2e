"""Requests that cost a server much and their sender little, each sent again and again.

Code comes by a state override and differs from request to request, so that nothing is known of it before.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from itertools import count, repeat
from typing import Any

from feemodel.ethereum._quantities import to_hex
from tests.helpers.development import ALDER, HOLDERS
from tests.system import evm_programs as programs
from tests.system.attack import Attack, repeated
from tests.system.client import Target, rpc
from tests.system.evm_programs import numbered

ADDRESS = to_hex(bytes.fromhex("7a57e7" * 6 + "7a57"))
HOLDER = to_hex(HOLDERS[0])
BODY_LIMIT = 1 << 20  # bytes of a request, the server's default
LARGEST = (BODY_LIMIT - 1_000) // 2  # bytes of calldata that fit
SLOW_BATCH, LARGE_BATCH, LONG_BATCH = 8, 10, 1_000  # calls

HALTED = frozenset({"-32000", "-32005", "HTTP 503 -32005"})
ANY_END = HALTED | {"ok"}
INVALID = frozenset({"-32602"})

Requests = Callable[[Target], Iterator[bytes]]
Row = tuple[str, Requests, frozenset[str]]  # name, requests, allowed outcomes


def call_attacks() -> list[Attack]:
    """Return every attack that consists of whole requests."""
    rows = [*executions(), *precompiles(), *large_requests(), *batches(), *measures(), *refused()]
    return [Attack(name, repeated(requests), outcomes) for name, requests, outcomes in rows]


def running(code: bytes, method: str = "rollup_estimateGas") -> Requests:
    """Calls of code supplied by a state override, a little different each time."""

    def requests(target: Target) -> Iterator[bytes]:
        for number in count(random.getrandbits(48)):
            overrides = {ADDRESS: {"code": to_hex(numbered(code, number))}}
            yield target.post(
                method, {"from": HOLDER, "to": ADDRESS}, *([] if method.startswith("rollup") else ["latest"]), overrides
            )

    return requests


def always(method: str, *params: Any) -> Requests:
    """The same call each time."""
    return bodies(rpc(method, *params))


def bodies(body: bytes, more: bytes = b"") -> Requests:
    """The same body each time; `more` is further header lines."""
    return lambda target: repeat(target.http(body, more))


def executions() -> list[Row]:
    same = always(
        "rollup_estimateGas", {"from": HOLDER, "to": ADDRESS}, {ADDRESS: {"code": to_hex(programs.ECMUL_LOOP)}}
    )
    return [
        ("an infinite loop", running(programs.LOOP), HALTED),
        ("memory expansion", running(programs.MEMORY_LOOP), HALTED),
        ("megabytes returned", running(programs.LARGE_ANSWER, "eth_call"), ANY_END),
        ("deep recursion", running(programs.RECURSION), ANY_END),
        ("hashing", running(programs.KECCAK_LOOP), HALTED),
        ("hashing in the event loop", running(programs.BRIEF_KECCAK), ANY_END),
        ("the same slow code", same, HALTED),
    ]


def precompiles() -> list[Row]:
    def direct(number: int, data: bytes) -> Requests:
        return always("rollup_estimateGas", {"from": HOLDER, "to": to_hex(number.to_bytes(20)), "data": to_hex(data)})

    rounds = (15_000_000).to_bytes(4) + bytes(208) + b"\x01"
    return [
        ("ecmul", running(programs.ECMUL_LOOP), HALTED),
        ("pairing, called directly", direct(programs.PAIRING, programs.PAIR * 380), ANY_END),
        ("modexp", running(programs.MODEXP_LOOP), HALTED),
        ("blake2f, called directly", direct(programs.BLAKE2F, rounds), ANY_END),
        ("point evaluation", running(programs.POINT_LOOP), HALTED),
    ]


def large_requests() -> list[Row]:
    accounts = {to_hex((1 << 150 | index).to_bytes(20)): {"balance": "0x1"} for index in range(1_000)}
    transfer = {"from": HOLDER, "to": to_hex(HOLDERS[1]), "value": "0x1"}
    keys = ["0x" + index.to_bytes(32).hex() for index in range(8_500)]
    address = "0x" + "ab" * 20
    word_r = hex(2**255 - 19)
    signed = {"chainId": "0x539", "address": address, "nonce": "0x0", "yParity": "0x0", "r": word_r, "s": "0x5"}
    estimate = "rollup_estimateGas"
    wide = transfer | {"accessList": [{"address": address, "storageKeys": keys}]}
    proved = [hex(index) for index in range(1_024)]
    return [
        ("1,000 accounts overridden", always(estimate, transfer, accounts), ANY_END),
        ("half a megabyte of code", running(b"\x00" + bytes(LARGEST - 200), "eth_call"), ANY_END),
        ("8,500 storage keys in an access list", always(estimate, wide), ANY_END),
        ("3,000 authorizations", always(estimate, transfer | {"authorizationList": [signed] * 3_000}), ANY_END),
        ("1,024 storage keys proved", always("rollup_getProof", to_hex(ALDER), proved, "latest"), ANY_END),
        ("100,000 storage keys", always("rollup_getProof", to_hex(ALDER), ["0x1"] * 100_000, "latest"), INVALID),
    ]


def batches() -> list[Row]:
    """Batches whose calls, or whose answers, are many, long or costly."""

    def joined(calls: list[bytes]) -> bytes:
        return b"[" + b",".join(calls) + b"]"

    def slow(target: Target) -> Iterator[bytes]:
        for number in count(random.getrandbits(48), SLOW_BATCH):
            codes = [to_hex(numbered(programs.ECMUL_LOOP, number + index)) for index in range(SLOW_BATCH)]
            calls = [rpc("eth_estimateGas", {"to": ADDRESS}, "latest", {ADDRESS: {"code": code}}) for code in codes]
            yield target.http(joined(calls))

    proofs = rpc("rollup_getProof", to_hex(ALDER), [hex(index) for index in range(1_024)], "latest")
    loop = rpc("eth_call", {"to": ADDRESS}, "latest", {ADDRESS: {"code": to_hex(programs.LOOP)}})
    blocks = rpc("eth_getBlockByNumber", "latest", False)
    refused = frozenset({"-32600", "HTTP 413"})
    return [
        (f"a batch of {SLOW_BATCH} ecmul loops", slow, some_failed(SLOW_BATCH)),
        ("a batch of 1,000 loops", bodies(joined([loop] * LONG_BATCH)), some_failed(LONG_BATCH)),
        (f"a batch of {LARGE_BATCH} whole proofs", bodies(joined([proofs] * LARGE_BATCH)), some_failed(LARGE_BATCH)),
        ("a batch of 1,000 blocks", bodies(joined([blocks] * LONG_BATCH)), some_failed(LONG_BATCH)),
        ("a batch of 15,000", bodies(joined([b'{"a":1}'] * 15_000)), refused),
        ("a batch of 300,000 numbers", bodies(joined([b"1"] * 300_000)), refused),
    ]


def some_failed(size: int) -> frozenset[str]:
    """Outcomes of a batch whose calls may be halted or meet a limit; "-32600" where so many are refused."""
    codes = ("[-32000]", "[-32005]", "[-32005, -32000]")
    failed = {f"batch: {failed} of {size} failed, {found}" for failed in range(1, size + 1) for found in codes}
    return frozenset({"ok", "-32005", "-32600", "HTTP 503 -32005", *failed})


def measures() -> list[Row]:
    """Calls whose payloads take long to compress, and pages that take long to write."""
    values = bytes(random.Random(3).choices(b"\x00\x01", k=LARGEST))
    short = to_hex(values[:120_000])
    call = {"from": HOLDER, "to": to_hex(HOLDERS[1]), "gas": hex(10**7), "data": short}
    long = {"from": HOLDER, "to": ADDRESS, "data": to_hex(values)}
    curve = [{"compressedSize": 1, "gas": "0x5208"}, "compressedSize", [*range(0, 10**6, 2_000)]]
    prices = {"l1BaseFee": "0x1", "blobBaseFee": "0x1"}
    return [
        ("two-valued calldata", always("rollup_estimateGas", long), ANY_END),
        ("two-valued calldata explained", always("feemodel_explain", call), ANY_END | INVALID),
        ("two-valued calldata compared", always("feemodel_compare", call, prices), ANY_END | INVALID),
        ("a curve of 500 points", always("feemodel_fee", *curve), ANY_END),
    ]


def refused() -> list[Row]:
    """Requests that are refused before a method sees them."""
    start = b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":'
    nested = start + b"[" * 500_000 + b"]" * 500_000 + b"}"
    objects = start + b'{"a":' * 170_000 + b"1" + b"}" * 170_000 + b"}"
    digits = start + b"[" + b"1" * 1_000_000 + b"]}"
    names = start + b"[{" + b",".join(b'"%d":1' % index for index in range(90_000)) + b"}]}"
    parse = frozenset({"-32700", "-32602", "-32600", "ok"})  # unknown names may be ignored
    packed = gzip.compress(bytes(100 << 20))
    return [
        ("deeply nested arrays", bodies(nested), parse),
        ("deeply nested objects", bodies(objects), parse),
        ("an object of 90,000 names", bodies(names), parse),
        ("a number of a million digits", bodies(digits), parse),
        ("a compressed body", bodies(packed, b"Content-Encoding: gzip\r\n"), frozenset({"HTTP 415", "-32700"})),
        ("a body that is too long", bodies(json.dumps("a" * (BODY_LIMIT + 1)).encode()), frozenset({"HTTP 413"})),
    ]
