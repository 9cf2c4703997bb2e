"""What code can do, found by reading it: the opcodes that can run at all, and those that the fast engine gets wrong."""

from collections.abc import Iterator
from functools import lru_cache

_JUMPDEST = 0x5B
_PUSH1, _PUSH32 = 0x60, 0x7F
_ENDS = frozenset((0x00, 0x56, 0xF3, 0xFD, 0xFE, 0xFF))  # STOP JUMP RETURN REVERT INVALID SELFDESTRUCT
_CHAIN_CODE = 24_576  # bytes that code on a chain can have, EIP-170; longer code comes once and is not remembered
_RESERVED = 0xEF  # first byte of no ordinary code: EIP-3541; a delegation begins so, EIP-7702

#: Opcodes that pyrevm 0.3.7 lacks, or answers without regard to the block or the price, and the two that run code which
#: no reading of the world's code has seen.
UNLIKE = {
    0x1E: "CLZ",
    0x3A: "GASPRICE",
    0x40: "BLOCKHASH",
    0x48: "BASEFEE",
    0x4A: "BLOBBASEFEE",
    0xF0: "CREATE",
    0xF5: "CREATE2",
}

#: Opcodes by which an execution can meet an account that is neither its sender nor its target.
MEETS_OTHERS = frozenset((0x31, 0x3B, 0x3C, 0x3F, 0xF0, 0xF1, 0xF2, 0xF4, 0xF5, 0xFA, 0xFF))


def unlike_opcode(code: bytes) -> str | None:
    """The name of an opcode in the code that the fast engine is not exact on; `None` where it has none.

    >>> unlike_opcode(bytes.fromhex("6048600055")), unlike_opcode(bytes.fromhex("600048")), unlike_opcode(b"\\xfe\\x48")
    (None, 'BASEFEE', None)
    """
    return _unlike(code) if len(code) <= _CHAIN_CODE else _unlike.__wrapped__(code)


@lru_cache(maxsize=1024)
def _unlike(code: bytes) -> str | None:
    if code[:1] == bytes([_RESERVED]):
        return "a delegation"
    return next((UNLIKE[opcode] for opcode in _reachable(code) if opcode in UNLIKE), None)


def meets_others(code: bytes) -> bool:
    """Whether the code may look at, call or make an account that is neither its sender nor its target.

    >>> meets_others(bytes.fromhex("6001600055")), meets_others(bytes.fromhex("5f31")), meets_others(b"")
    (False, True, False)
    """
    return _meets(code) if len(code) <= _CHAIN_CODE else _meets.__wrapped__(code)


@lru_cache(maxsize=1024)
def _meets(code: bytes) -> bool:
    return code[:1] == bytes([_RESERVED]) or any(opcode in MEETS_OTHERS for opcode in _reachable(code))


def _reachable(code: bytes) -> Iterator[int]:
    """The opcodes that can be reached, which may come more than once.

    What follows an instruction that ends the flow, up to the next JUMPDEST, is data (a compiler's metadata, constants),
    whatever its bytes spell.
    """
    position, live = 0, True
    while position < len(code):
        opcode = code[position]
        if opcode == _JUMPDEST:
            live = True
        elif live:
            yield opcode
        if opcode in _ENDS:
            live = False
        elif _PUSH1 <= opcode <= _PUSH32:
            position += opcode - _PUSH1 + 1
        position += 1
