"""What code can do, found by reading it: the opcodes that can run at all, and those that the fast engine gets wrong."""

from functools import lru_cache

_JUMPDEST = 0x5B
_PUSH1, _PUSH32 = 0x60, 0x7F
_ENDS = frozenset((0x00, 0x56, 0xF3, 0xFD, 0xFE, 0xFF))  # STOP JUMP RETURN REVERT INVALID SELFDESTRUCT
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


@lru_cache(maxsize=1024)
def unlike_opcode(code: bytes) -> str | None:
    """The name of an opcode in the code that the fast engine is not exact on; `None` where it has none.

    Counted are instructions that can be reached: what follows an instruction that ends the flow, up to the next
    JUMPDEST, is data (a compiler's metadata, constants), whatever its bytes spell.

    >>> unlike_opcode(bytes.fromhex("6048600055")), unlike_opcode(bytes.fromhex("600048")), unlike_opcode(b"\\xfe\\x48")
    (None, 'BASEFEE', None)
    """
    if code[:1] == bytes([_RESERVED]):
        return "a delegation"
    position, live = 0, True
    while position < len(code):
        opcode = code[position]
        if opcode == _JUMPDEST:
            live = True
        elif live and opcode in UNLIKE:
            return UNLIKE[opcode]
        if opcode in _ENDS:
            live = False
        elif _PUSH1 <= opcode <= _PUSH32:
            position += opcode - _PUSH1 + 1
        position += 1
    return None
