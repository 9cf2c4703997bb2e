"""Code that costs much for its gas; every program is another one by its number, so that nothing is known of it before.

A loop runs until its gas is gone. `numbered` puts a number behind the code, where it is never executed.
"""

import hashlib

from tests.helpers.development import words
from tests.helpers.engine_differences import BN_G1, BN_G2, NOTHING_COMMITTED, SIGNED, STATICCALL, in_memory, push

ECRECOVER, MODEXP, ECADD, ECMUL, PAIRING, BLAKE2F, POINT = 1, 5, 6, 7, 8, 9, 10
ORDER = 2**256 - 1  # the largest scalar


def loop(body: bytes, before: bytes = b"") -> bytes:
    """`before` once, then `body` again and again; it leaves the stack as it was."""
    return before + b"\x5b" + body + push(len(before)) + b"\x56"


def repeat(body: bytes, times: int) -> bytes:
    """`body` a number of times; it finds how often it still runs on the stack, where a zero stays at the end."""
    count_down = push(1) + b"\x90\x03\x80"
    return push(times) + b"\x5b" + body + count_down + push(len(push(times))) + b"\x57"


def numbered(code: bytes, number: int) -> bytes:
    return code + b"\xfe" + number.to_bytes(8)


def precompile(place: int, size: int) -> bytes:
    """Calls a precompile on the first bytes of the memory, with all the gas there is."""
    return push(0) + push(0) + push(size) + push(0) + push(place) + bytes([0x5A, STATICCALL, 0x50])


def precompile_loop(place: int, data: bytes) -> bytes:
    return loop(precompile(place, len(data)), MANY_RESULTS + in_memory(data))


#: Calls BN254 addition on 64 inputs, which differ behind the points that it reads. The native engine keeps 64 results
#: of a message, so it computes every other precompile each time.
MANY_RESULTS = repeat(b"\x80" + push(128) + b"\x52" + precompile(ECADD, 160), 64) + b"\x50"
#: A blob of zeros, whose commitment and proof are the point at infinity, at 5.
PROVEN = b"\x01" + hashlib.sha256(NOTHING_COMMITTED).digest()[1:] + words(5, 0) + NOTHING_COMMITTED * 2
PAIR = BN_G1 + BN_G2
MODEXP_DATA = words(256, 1, 256) + b"\xff" * 256 + b"\x03" + b"\xff" * 256

LOOP = loop(b"")
ECMUL_LOOP = precompile_loop(ECMUL, BN_G1 + words(ORDER))
ECADD_LOOP = precompile_loop(ECADD, BN_G1 * 2)
ECRECOVER_LOOP = precompile_loop(ECRECOVER, SIGNED)
POINT_LOOP = precompile_loop(POINT, PROVEN)
MODEXP_LOOP = precompile_loop(MODEXP, MODEXP_DATA)
HASH = push(100_000) + push(0) + b"\x20\x50"
KECCAK_LOOP = loop(HASH)
BRIEF_KECCAK = repeat(HASH, 58) + b"\x00"  # 1.1 million gas
#: Reads a word ever farther away.
MEMORY_LOOP = loop(push(65_536) + b"\x01\x80\x51\x50", push(0))
#: Returns the most memory that 16 million gas pay for.
LARGE_ANSWER = push(2_600_000) + push(0) + b"\xf3"
#: Calls itself twice, with all the gas that is left.
RECURSION = (b"\x5f\x5f\x5f\x5f\x5f\x30\x5a\xf1\x50" * 2) + b"\x00"
