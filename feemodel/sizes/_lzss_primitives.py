"""Helpers of the compiled LZSS: savings of references, words of eight bytes, and keys."""

import sys
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from feemodel.sizes._lzss_format import FAR_BITS, FIRST_RESERVED, LONGEST, NEAR_BITS, SHORTEST_FAR, SHORTEST_NEAR

Data: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.uint64]
Positions: TypeAlias = NDArray[np.int32]  # indices, lengths, or numbers of bits

NO_MATCH = -8 * LONGEST  # savings if there is no reference: less than the savings of any reference
PADDING = 16  # zeros after data that is read in words of eight bytes

_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio
_RUN_MARK = np.uint64(1 << 63)  # bit that is set in the keys of runs, and is 0 in keys of up to seven bytes
# The first parameter of an intrinsic is the compiler's context, which callers in compiled code do not pass.
_instruction = cast(Callable[[Callable[..., Any]], Callable[..., Any]], intrinsic)


@njit(nogil=True)
def is_reserved(byte: int) -> bool:
    """Return whether a byte must be written as a reference."""
    return byte >= FIRST_RESERVED


@njit(nogil=True)
def reference_savings(near: int, longest: int, reserved: bool) -> int:
    """Return the number of bits that the best reference saves compared with literals, or `NO_MATCH`.

    A far reference takes seven bits more than a near reference, and a literal takes eight bits. Therefore, a far
    reference saves more bits if it replaces at least one byte more than the near reference.

    Parameters
    ----------
    near : length of the longest match in the window; if the length is below `longest`, any number below `longest` gives
        the same result [byte].
    longest : length of the longest match in all earlier data and the dictionary [byte].
    reserved : whether the first byte is reserved.
    """
    if near == longest and (near >= SHORTEST_NEAR or reserved):
        return 8 * near - NEAR_BITS
    if longest >= SHORTEST_FAR or reserved:
        return 8 * longest - FAR_BITS
    return NO_MATCH


@njit(nogil=True)
def reference_length(savings: int) -> int:
    """Return the length of a reference [byte] from the bits that it saves."""
    return (savings + FAR_BITS) >> 3


@_instruction
def leading_zeros(_typing: Any, _word: Any) -> Any:
    """Return the number of zero bits above the highest set bit of a word that is not zero."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), build


@_instruction
def trailing_zeros(_typing: Any, _word: Any) -> Any:
    """Return the number of zero bits below the lowest set bit of a word that is not zero."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), build


@_instruction
def borrowed(_typing: Any, arrays: Any) -> Any:
    """Return the named tuple with the same arrays, whose references numba does not count.

    Whenever an array is passed to a function, numba updates the reference count of the array atomically, which is slow
    in inner loops. The returned tuple does not keep the arrays in memory. Therefore, pass only arrays that the calling
    function received as arguments; the calling function must not pass arrays that it allocates itself.
    """

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        result = arguments[0]
        for position, array in enumerate(arrays.types):
            view = context.make_array(array)(context, builder, builder.extract_value(result, position))
            view.meminfo = view.meminfo.type(None)
            result = builder.insert_value(result, view._getvalue(), position)
        return result

    return arrays(arrays), build


@_instruction
def load_word(_typing: Any, data: Any, index: Any) -> Any:
    """Load eight bytes at an index, little endian. All eight bytes must be within the array; no alignment is needed."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        word = builder.load(pointer, align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(data, types.int64), build


@njit(inline="always")
def common_prefix(a_data: Data, a: int, b_data: Data, b: int, limit: int) -> int:
    """Return the length of the common prefix of `a_data[a:]` and `b_data[b:]`, at most `limit`.

    Both arrays must end in `PADDING` zeros.
    """
    length = 0
    while length < limit:
        difference = load_word(a_data, a + length) ^ load_word(b_data, b + length)
        if difference != 0:
            length += trailing_zeros(difference) >> 3
            break
        length += 8
    return min(length, limit)


@njit(inline="always")
def all_equal(word: np.uint64, width: int) -> bool:
    """Return whether the first `width` bytes of a word are equal."""
    mask = (np.uint64(1) << np.uint64(8 * (width - 1))) - np.uint64(1)
    return bool((word ^ (word >> np.uint64(8))) & mask == 0)


@njit(inline="always")
def run_key(run: int, byte: int, following: int) -> np.uint64:
    """Return the key of an index at which `run` equal bytes start, followed by the byte `following`.

    A match can extend beyond the end of the run only if the match starts where an earlier run also has exactly `run`
    bytes left. Therefore, the key contains `run`, and the indices of a run have different keys. The key of an index
    that is not in a run consists of the first bytes at the index.
    """
    return _RUN_MARK | (np.uint64(run) << np.uint64(16)) | (np.uint64(byte) << np.uint64(8)) | np.uint64(following)


@njit(inline="always")
def signed(word: np.unsignedinteger[Any]) -> int:
    """Convert a word below 2**63 to a signed integer."""
    return np.int64(word)  # type: ignore[return-value]  # an int for numba, not for type checkers


@njit(inline="always")
def unsigned(number: int) -> int:
    """Convert a number of at least 0 to an unsigned index, so that numba does not check for negative indices."""
    return np.uint64(number)  # type: ignore[return-value]


@njit(inline="always")
def hashed(key: np.uint64) -> np.uint64:
    """Hash a key to 64 bits; the higher bits depend on the whole key (Fibonacci hashing)."""
    return key * _GOLDEN_RATIO
