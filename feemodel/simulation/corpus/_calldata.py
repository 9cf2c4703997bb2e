"""Generate calldata: exact words for well-known functions, and words from fitted mixtures for all other functions.

A shape is a selector and a list of 32-byte words. The name of a word determines its content:

    zero, max               32 zero bytes, 32 bytes of 0xff
    tiny, small, medium     an integer of 1, 2, 3 bytes; most are offsets and counts
    time                    an integer of 4 or 5 bytes; most are deadlines in seconds
    pool_fee                the fee of a pool, in hundredths of a basis point
    amount                  an amount of a token, 6 to 16 bytes, often round
    contract, user, sender  an address: of a contract, of any user, of the transaction's own sender
    packed                  1 to 28 bytes at the left, then zero bytes, like the last word of a `bytes` value
    digest                  32 random bytes: hashes, keys, signatures
    same                    the previous word again
    repeat                  any earlier word again
    tail                    a random number of words from the fitted mixture of the shape
    =0x60                   the integer 0x60
    length                  the length of the tail in bytes
    @0x1a0                  0x1a0 plus the length of the tail: the offset of the data after the tail
"""

from collections.abc import Callable
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from feemodel.simulation.corpus._fitted import Fitted, Indices, ShapeFit, Shares, WordFit, draw_keys, draw_strata

Bytes: TypeAlias = NDArray[np.uint8]  # one row for each address, selector or word

WORD = 32
LONGEST_AMOUNT = 16
POOL_FEES = (100, 500, 3_000, 10_000)  # Uniswap v3
DEADLINES = (1_690_000_000, 1_770_000_000)  # July 2023 to February 2026, the dates of the fitted transactions


class Shape(NamedTuple):
    """Selector and words of one layout of calldata. A `selector` of "*" means the selector of the called contract."""

    name: str
    kind: str
    selector: str = ""
    words: str = ""

    def around_the_tail(self) -> tuple[list[str], list[str]]:
        """Return the words before the word "tail", and the words after it."""
        words = self.words.split()
        tail = words.index("tail") if "tail" in words else len(words)
        return words[:tail], words[tail + 1 :]


# A bundle with one v0.6 user operation: 11 head words, then initCode, callData, paymasterAndData and signature.
USER_OPERATION = (
    "user amount =0x160 =0x180 medium medium medium time same @0x1a0 @0x1c0 "
    "zero length tail zero =65 digest digest packed"
)

SHAPES = (
    Shape("transfer ether", "plain_transfer"),
    Shape("transfer", "erc20_transfer", "a9059cbb", "user tail"),
    Shape("approve", "approval", "095ea7b3", "contract tail"),
    Shape("safeTransferFrom", "nft_transfer", "42842e0e", "sender user tail"),
    Shape("exactInputSingle", "swap", "414bf389", "contract contract pool_fee sender time amount amount zero"),
    Shape("swapExactETHForTokens", "swap", "7ff36ab5", "amount =0x80 sender time =2 contract contract"),
    Shape(
        "SyncSwap swap", "swap", "2cc4081e",
        "=0x60 amount time =1 =0x20 =0x60 zero amount =1 =0x20 "
        "contract =0x80 zero =0x100 =0x60 contract sender =2 zero",
    ),
    Shape("multicall", "swap", "ac9650d8", "=0x20 =1 =0x20 length tail"),
    Shape("aggregator swap", "swap", "5f575529", "=0x80 contract amount =0xc0 =0x13 packed length tail"),
    Shape("claimMessage", "bridge_message", "491e0936", "user same amount amount zero =0xe0 medium zero"),
    Shape(
        "OFT send", "bridge_message", "c7c7f5b3",
        "=0x80 amount zero sender small sender amount amount =0xe0 =0x100 =0x120 zero zero zero",
    ),
    Shape("sendMessage", "bridge_message", "9f3ce55a", "contract amount =0x60 length tail"),
    Shape("handleOps", "account_abstraction", "1fad948c", f"=0x40 sender =1 =0x20 {USER_OPERATION}"),
    Shape("call without arguments", "contract_call", "*"),
    Shape("call of 1 to 3 words", "contract_call", "*", "tail"),
    Shape("call of 4 to 8 words", "contract_call", "*", "tail"),
    Shape("call of 9 to 16 words", "contract_call", "*", "tail"),
    Shape("call of 17 to 48 words", "contract_call", "*", "tail"),
    Shape("call of more words", "contract_call", "*", "tail"),
    Shape("create", "deployment", "", "tail"),
)  # fmt: skip


class Pools(NamedTuple):
    """Pools of addresses (20 bytes) from which transactions are generated, and one selector for each contract."""

    contracts: Bytes
    selectors: Bytes
    users: Bytes

    @classmethod
    def draw(cls, fitted: Fitted, rng: np.random.Generator) -> Self:
        """Draw random contracts, selectors and users for the pools."""
        contracts, users = fitted.contracts.members, fitted.users.members
        return cls(_random(rng, contracts, 20), _random(rng, contracts, 4), _random(rng, users, 20))


def draw_calldata(
    shape: Shape, fitted: Fitted, pools: Pools, senders: Bytes, called: Indices, rng: np.random.Generator
) -> list[bytes]:
    """Draw calldata of one shape.

    Parameters
    ----------
    shape : layout of the calldata.
    fitted : distributions fitted to real transactions.
    pools : contracts, selectors and users.
    senders : address of each transaction's sender, of shape (n, 20).
    called : contract that each transaction calls, as an index into the pool of contracts, of shape (n,).
    rng : random generator.

    Returns
    -------
    Calldata of each transaction, n byte strings.

    >>> from feemodel.simulation.corpus._fitted import LINEA
    >>> rng = np.random.default_rng(1)
    >>> senders = np.zeros((2, 20), dtype=np.uint8)
    >>> transfer = next(shape for shape in SHAPES if shape.kind == "erc20_transfer")
    >>> drawn = draw_calldata(transfer, LINEA, Pools.draw(LINEA, rng), senders, np.array([0, 1]), rng)
    >>> [data[:4].hex() for data in drawn]
    ['a9059cbb', 'a9059cbb']
    """
    layout = _lay_out(shape, fitted.shapes[shape.name], len(senders), rng)
    words = _fill(layout, fitted, pools, senders, rng).tobytes()
    if shape.selector == "*":
        selectors = [selector.tobytes() for selector in pools.selectors[called]]
    else:
        selectors = [bytes.fromhex(shape.selector)] * len(senders)
    bounds = zip(selectors, (layout.starts * WORD).tolist(), (layout.ends * WORD).tolist(), strict=True)
    return [selector + words[start:end] for selector, start, end in bounds]


class _Layout(NamedTuple):
    """Words of all transactions, in order, and the indices at which the words of each transaction start and end."""

    starts: Indices
    ends: Indices
    names: NDArray[np.str_]  # name of each word
    numbers: Indices  # the integer of each word that is a fixed integer


def _lay_out(shape: Shape, fit: ShapeFit, count: int, rng: np.random.Generator) -> _Layout:
    before, after = shape.around_the_tail()
    tail = draw_strata(fit.tail, rng, count) if fit.tail else np.zeros(count, dtype=np.int64)
    lengths = len(before) + tail + len(after)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    names = np.full(lengths.sum(), "zero", dtype="U8")
    numbers = np.zeros(len(names), dtype=np.int64)
    if fit.mixture:
        names[:] = draw_keys(fit.mixture, rng, len(names))
    indexed = [(starts + index, word) for index, word in enumerate(before)]
    indexed += [(ends - len(after) + index, word) for index, word in enumerate(after)]
    for rows, word in indexed:
        number = word.replace("length", "@0")
        if number[0] in "=@":
            names[rows] = "number"
            numbers[rows] = int(number[1:], 0) + (tail * WORD if number[0] == "@" else 0)
        else:
            names[rows] = word
    return _Layout(starts, ends, names, numbers)


def _fill(layout: _Layout, fitted: Fitted, pools: Pools, senders: Bytes, rng: np.random.Generator) -> Bytes:
    words = np.zeros((len(layout.names), WORD), dtype=np.uint8)
    source = np.arange(len(words))
    owner = np.repeat(np.arange(len(senders)), layout.ends - layout.starts)
    for name in np.unique(layout.names).tolist():
        rows = np.flatnonzero(layout.names == name)
        if name == "number":
            words[rows] = _integers(layout.numbers[rows])
        elif name == "contract":
            words[rows, 12:] = pools.contracts[fitted.contracts.draw(rng, len(rows))]
        elif name == "user":
            words[rows, 12:] = pools.users[fitted.users.draw(rng, len(rows))]
        elif name == "sender":
            words[rows, 12:] = senders[owner[rows]]
        elif name == "same":
            source[rows] = rows - 1
        elif name == "repeat":
            first = layout.starts[owner[rows]]
            source[rows] = first + (rng.random(len(rows)) * (rows - first)).astype(np.int64)
        else:
            words[rows] = _DRAWN[name](fitted.words, rng, len(rows))
    while np.any(source != source[source]):  # the source of a repeated word may be a repeated word too
        source = source[source]
    return words[source]


def draw_amounts(shares: Shares, fit: WordFit, rng: np.random.Generator, count: int) -> Bytes:
    """Draw amounts of a token, many of which end in zero bytes.

    Parameters
    ----------
    shares : mapping from the length of an amount [byte] to the share of amounts with this length [1].
    fit : distributions fitted to the words of real calldata.
    rng : random generator.
    count : number of amounts.

    Returns
    -------
    Big-endian integers as rows of bytes, of shape (count, 16).

    >>> from feemodel.simulation.corpus._fitted import LINEA
    >>> draw_amounts({6: 1.0}, LINEA.words, np.random.default_rng(1), 2)[:, :10].any()  # at most 6 bytes are not zero
    np.False_
    """
    length = draw_keys(shares, rng, count)
    zeros: Indices = np.minimum(draw_keys(fit.amount_zeros, rng, count), length - 1)
    index = np.arange(LONGEST_AMOUNT - 1, -1, -1)  # index of each byte, counted from the right
    digits = rng.integers(1, 256, (count, LONGEST_AMOUNT), dtype=np.uint8)
    return digits * ((index < length[:, None]) & (index >= zeros[:, None]))


def _tiny(fit: WordFit, rng: np.random.Generator, count: int) -> Bytes:
    which = rng.random(count)
    offsets, counts = rng.integers(1, 8, count) * WORD, np.minimum(rng.geometric(0.5, count), 255)
    values = np.where(which < fit.counts_in_tiny, counts, rng.integers(1, 256, count))
    return _integers(np.where(which >= 1 - fit.offsets_in_tiny, offsets, values))


def _small(fit: WordFit, rng: np.random.Generator, count: int) -> Bytes:
    offsets = rng.integers(8, 64, count) * WORD
    is_offset = rng.random(count) < fit.offsets_in_small
    return _integers(np.where(is_offset, offsets, rng.integers(2**8, 2**16, count)))


def _time(fit: WordFit, rng: np.random.Generator, count: int) -> Bytes:
    is_deadline = rng.random(count) < fit.deadlines_in_time
    return _integers(np.where(is_deadline, rng.integers(*DEADLINES, count), rng.integers(2**24, 2**40, count)))


def _amount(fit: WordFit, rng: np.random.Generator, count: int) -> Bytes:
    return np.pad(draw_amounts(fit.amount_bytes, fit, rng, count), ((0, 0), (WORD - LONGEST_AMOUNT, 0)))


def _packed(fit: WordFit, rng: np.random.Generator, count: int) -> Bytes:
    length = draw_keys(fit.packed_bytes, rng, count)
    return _random(rng, count, WORD) * (np.arange(WORD) < length[:, None])


_DRAWN: dict[str, Callable[[WordFit, np.random.Generator, int], Bytes]] = {
    "zero": lambda fit, rng, count: np.zeros((count, WORD), dtype=np.uint8),
    "max": lambda fit, rng, count: np.full((count, WORD), 0xFF, dtype=np.uint8),
    "tiny": _tiny,
    "small": _small,
    "medium": lambda fit, rng, count: _integers(rng.integers(2**16, 2**24, count)),
    "time": _time,
    "pool_fee": lambda fit, rng, count: _integers(rng.choice(POOL_FEES, count)),
    "amount": _amount,
    "packed": _packed,
    "digest": lambda fit, rng, count: _random(rng, count, WORD),
}


def _integers(values: Indices) -> Bytes:
    """Return integers as big-endian words."""
    words = np.zeros((len(values), WORD), dtype=np.uint8)
    words[:, WORD - 8 :] = values.astype(">u8").view(np.uint8).reshape(-1, 8)
    return words


def _random(rng: np.random.Generator, count: int, width: int) -> Bytes:
    return rng.integers(0, 256, (count, width), dtype=np.uint8)
