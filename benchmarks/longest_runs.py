"""Slowest opcodes and precompiles of the native engine: processor seconds for 50 million gas.

Each program repeats one opcode or precompile until it runs out of gas. The engine checks its deadline at the start of
a frame or a precompile. The time within one frame therefore limits how far an estimate can exceed its deadline.
"""

import time

from feemodel.execution._forks import fork_named
from feemodel.execution._message import Message
from feemodel.execution._state import Account, CallState
from feemodel.execution.native import Native
from tests.helpers.engine_differences import BLS_G1, BLS_G2, P256_SIGNED, push
from tests.system.evm_programs import (
    ECADD_LOOP,
    ECMUL_LOOP,
    ECRECOVER_LOOP,
    KECCAK_LOOP,
    MODEXP_LOOP,
    ORDER,
    PAIR,
    POINT_LOOP,
    RECURSION,
    loop,
    precompile_loop,
    words,
)

GAS = 5_000_000  #: gas to execute
BOUGHT = 50_000_000  #: gas to which seconds are scaled: the default gas cap
TARGET = b"\xaa" * 20
WORD = b"\x7f" + b"\xff" * 31 + b"\xfb"

WITHIN_A_FRAME = {
    "KECCAK256 of 100,000 bytes": KECCAK_LOOP,
    "MULMOD": loop((WORD * 2 + b"\x7f" + b"\xef" * 32 + b"\x09\x50") * 20),
    "DIV": loop((b"\x70\x01" + b"\xff" * 16 + WORD + b"\x04\x50") * 20),
    "MOD": loop((b"\x70\x01" + b"\xff" * 16 + WORD + b"\x06\x50") * 20),
    "EXP": loop((b"\x7f" + b"\xff" * 32 + WORD + b"\x0a\x50") * 5),
    "TSTORE": loop(push(1) + b"\x01\x80\x80\x5d", push(0)),
    "ADD": loop((push(3) + push(5) + b"\x01\x50") * 40),
    "JUMP": loop(b""),
    "BALANCE of new accounts": loop(push(1) + b"\x01\x80\x31\x50", push(2**40)),
    "SLOAD of new slots": loop(push(1) + b"\x01\x80\x54\x50", push(0)),
}
FRAMES = {
    "ECRECOVER": ECRECOVER_LOOP,
    "P-256": precompile_loop(0x100, P256_SIGNED),
    "BLS12 G1 MSM of 1": precompile_loop(0x0C, BLS_G1 + words(ORDER)),
    "BLS12 G1 MSM of 64": precompile_loop(0x0C, (BLS_G1 + words(ORDER)) * 64),
    "BLS12 G2 MSM of 1": precompile_loop(0x0E, BLS_G2 + words(ORDER)),
    "BLS12 G2 MSM of 40": precompile_loop(0x0E, (BLS_G2 + words(ORDER)) * 40),
    "BLS12 G1 addition": precompile_loop(0x0B, BLS_G1 * 2),
    "BLS12 G2 addition": precompile_loop(0x0D, BLS_G2 * 2),
    "BLS12 pairing of 1": precompile_loop(0x0F, BLS_G1 + BLS_G2),
    "BLS12 pairing of 30": precompile_loop(0x0F, (BLS_G1 + BLS_G2) * 30),
    "BLS12 map to G1": precompile_loop(0x10, bytes(63) + b"\x05"),
    "BLS12 map to G2": precompile_loop(0x11, bytes(63) + b"\x05" + bytes(64)),
    "point evaluation": POINT_LOOP,
    "BN254 addition": ECADD_LOOP,
    "BN254 multiplication": ECMUL_LOOP,
    "BN254 pairing of 40": precompile_loop(8, PAIR * 40),
    "BLAKE2f of 2,000,000 rounds": precompile_loop(9, (2_000_000).to_bytes(4) + bytes(208) + b"\x01"),
    "MODEXP of 256 bytes": MODEXP_LOOP,
    "MODEXP of 32 bytes": precompile_loop(5, words(32, 32, 32) + b"\xff" * 96),
    "CREATE2 of 49,152 bytes": loop(
        push(1) + b"\x01\x80" + push(49_152) + push(0) + push(0) + b"\xf5\x50", push(49_152) + b"\x51\x50" + push(0)
    ),
    "CALL of itself": RECURSION,
}


def seconds(code: bytes) -> float:
    """Return the processor time of a program for 50 million gas [s]."""
    call_state = CallState(accounts={TARGET: Account(code=code, nonce=1, balance=10**18)}, fork=fork_named("osaka"))
    engine, message = Native(), Message(to=TARGET)
    engine.execute(call_state, message, 30_000)
    began = time.process_time()
    engine.execute(call_state, message, GAS)
    return (time.process_time() - began) / GAS * BOUGHT


def main() -> None:
    for title, programs in (("within a frame", WITHIN_A_FRAME), ("frames", FRAMES)):
        print(f"  {title}: processor seconds for {BOUGHT:,} gas")
        measured = {name: seconds(code) for name, code in programs.items()}
        for name, spent in sorted(measured.items(), key=lambda row: -row[1]):
            print(f"    {name:<30} {spent:6.2f} s  {spent / BOUGHT * 1e9:6.1f} ns a gas")


if __name__ == "__main__":
    main()
