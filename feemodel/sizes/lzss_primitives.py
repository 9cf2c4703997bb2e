"""The small parts of the compiled LZSS: what a reference is worth, bytes eight at a time, keys of places.

numba's cache knows a cached function by the text of its own file. After a change in this file alone, remove what it
keeps in `__pycache__`, or change the files that use it too.
"""

import sys
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from feemodel.sizes.lzss_format import FAR_BITS, FIRST_RESERVED, LONGEST, NEAR_BITS, SHORTEST_FAR, SHORTEST_NEAR

Data: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.uint64]
Positions: TypeAlias = NDArray[np.int32]  # places in the data, lengths, or bits: one for each place

NO_MATCH = -8 * LONGEST  # savings where there is no reference: less than any
PADDING = 16  # zeros behind data that are read a word at a time

_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio
_RUN_MARK = np.uint64(1 << 63)  # no key of up to seven bytes has it
# numba types an intrinsic as the compiler calls it; compiled code calls it with everything but the context.
_instruction = cast(Callable[[Callable[..., Any]], Callable[..., Any]], intrinsic)


@njit(nogil=True)
def is_reserved(byte: int) -> bool:
    """Whether a byte must be written as a reference."""
    return byte >= FIRST_RESERVED


@njit(nogil=True)
def reference_savings(near: int, longest: int, reserved: bool) -> int:
    """Bits that the best reference saves against literals; `NO_MATCH` where there is none.

    A far reference costs seven bits more, less than one literal: it is taken only where it is longer.

    Parameters
    ----------
    near : length of the longest match in the window [bytes]; where that is less than `longest`, anything less.
    longest : length of the longest match in all data before and the dictionary [bytes].
    reserved : whether the first byte is reserved.
    """
    if near == longest and (near >= SHORTEST_NEAR or reserved):
        return 8 * near - NEAR_BITS
    if longest >= SHORTEST_FAR or reserved:
        return 8 * longest - FAR_BITS
    return NO_MATCH


@njit(nogil=True)
def reference_length(savings: int) -> int:
    """Length [bytes] of the reference that saves so many bits: those of equal length differ by less than eight."""
    return (savings + FAR_BITS) >> 3


@_instruction
def leading_zeros(_typing: Any, _word: Any) -> Any:
    """Zero bits above the highest set bit of a word that is not zero."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), build


@_instruction
def trailing_zeros(_typing: Any, _word: Any) -> Any:
    """Zero bits below the lowest set bit of a word that is not zero."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), build


@_instruction
def borrowed(_typing: Any, arrays: Any) -> Any:
    """The same named tuple of arrays, without their reference counts.

    numba counts references, atomically, wherever an array is handed to a helper; in innermost loops that takes longer
    than the work. The owner must outlive what is borrowed: borrow arguments, never what the same function allocates.
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
    """The eight bytes from a place on, the first one lowest; they must be within the array, at any alignment."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        word = builder.load(pointer, align=1)
        return word if sys.byteorder == "little" else builder.bswap(word)

    return types.uint64(data, types.int64), build


@njit(inline="always")
def common_prefix(a_data: Data, a: int, b_data: Data, b: int, limit: int) -> int:
    """Return the number of equal bytes from `a` and from `b` on, at most `limit`. Both end in `PADDING` zeros."""
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
    """Whether the first `width` bytes of a word are one value."""
    mask = (np.uint64(1) << np.uint64(8 * (width - 1))) - np.uint64(1)
    return bool((word ^ (word >> np.uint64(8))) & mask == 0)


@njit(inline="always")
def run_key(run: int, byte: int, following: int) -> np.uint64:
    """The key of a place from which on `run` bytes are equal, with their value and the byte behind them.

    A run matches beyond its end only where just as much is left of another, so the places inside a run, alike in
    their first bytes, have keys of their own. The key of any other place is its first bytes.
    """
    return _RUN_MARK | (np.uint64(run) << np.uint64(16)) | (np.uint64(byte) << np.uint64(8)) | np.uint64(following)


@njit(inline="always")
def signed(word: np.unsignedinteger[Any]) -> int:
    """A word below 2**63 as a number to count and index with."""
    return np.int64(word)  # type: ignore[return-value]  # to type checkers no int, to numba the only one


@njit(inline="always")
def unsigned(number: int) -> int:
    """A number that is not negative, as an index: numba asks of a signed one whether it counts from the end."""
    return np.uint64(number)  # type: ignore[return-value]


@njit(inline="always")
def hashed(key: np.uint64) -> np.uint64:
    """A key mixed into 64 bits, of which the higher ones depend on all of it (Fibonacci hashing)."""
    return key * _GOLDEN_RATIO
