"""Scroll: the L1 data fee by upgrade, and the L2 base fee. Scalars are given in units of 10⁻⁹.

| upgrade   | L1 data fee [wei]                                                                          |
|-----------|--------------------------------------------------------------------------------------------|
| bernoulli | (4 · zero + 16 · (nonzero + 4) + overhead) · l1_base_fee · scalar // 10⁹                   |
| curie     | (commit_scalar · l1_base_fee + length · blob_base_fee · blob_scalar) // 10⁹                |
| feynman   | price · length · penalty // 10⁹ // 10⁹                                                     |
| galileo   | (price · c + price · c · c // penalty_factor) // 10⁹, c = min(compressed_size, length)     |

In the table, price = exec_scalar · l1_base_fee + blob_scalar · blob_base_fee. Sizes are measured on the signed EIP-2718
encoding. The upgrade Euclid, which came between Curie and Feynman, introduced transactions of type 4 (EIP-7702). If all
arguments are scalars, a fee above 2**64 − 1 becomes 2**64 − 1, as in the node. With arrays, a fee above 2**63 − 1
raises `Int64Overflow`.

Sources: Chaintable/go-ethereum-scrl at 5f34f2a (2026-06-30): rollup/fees/rollup_fee.go, consensus/misc/eip1559.go;
scroll-tech/reth at 0504d4e: crates/scroll/evm/src/base_fee.rs; scroll-tech/scroll-contracts at
dfbd661: src/L2/predeploys/L1GasPriceOracle.sol; scroll-tech/scroll-revm: src/l1block.rs. The dates of the upgrades are
from Scroll's chain configuration.
"""

from feemodel.checks import UINT256_MAX, ArrayLike, flag, whole
from feemodel.errors import Int64Overflow
from feemodel.ethereum import fee_market
from feemodel.formula import formula
from feemodel.integers import (
    MILLION,
    NOTHING,
    FixedPoint,
    Whole,
    add,
    add_parts,
    maximum,
    minimum,
    multiply,
    multiply_divide,
    multiply_divide_parts,
    product_in_parts,
    require,
    saturated,
    where,
)

PRECISION = 10**9
EXTRA_NONZERO_BYTES = 4  # number of bytes added to every transaction before Curie
INFINITE_RATIO = UINT256_MAX  # compression ratio of empty calldata


@formula
def pre_curie_l1_fee(
    zero_bytes: ArrayLike, nonzero_bytes: ArrayLike, *, l1_base_fee: ArrayLike, overhead: ArrayLike, scalar: ArrayLike
) -> Whole:
    """Return the L1 data fee before Curie [wei].

    Parameters
    ----------
    zero_bytes, nonzero_bytes : number of zero and non-zero bytes in the transaction [byte].
    l1_base_fee : base fee of L1 [wei / gas].
    overhead : gas added to every transaction [gas].
    scalar : the oracle's factor for the L1 base fee [10⁻⁹].

    L1 gas 204 · L1 base fee 15,000,000 wei · scalar 10 // 10⁹ is 30 wei:

    >>> pre_curie_l1_fee(2, 2, l1_base_fee=15_000_000, overhead=100, scalar=10)
    30
    """
    gas = pre_curie_gas(zero_bytes, nonzero_bytes, overhead=overhead)
    return _fee(_checked_price(l1_base_fee, scalar), gas, 1)


@formula
def pre_curie_gas(zero_bytes: ArrayLike, nonzero_bytes: ArrayLike, *, overhead: ArrayLike) -> Whole:
    """Return the L1 gas of a transaction before Curie: 4 · zero + 16 · (nonzero + 4) + overhead [gas].

    >>> pre_curie_gas(2, 2, overhead=100)
    204
    """
    zero, nonzero = whole("zero_bytes", zero_bytes, unit="bytes"), whole("nonzero_bytes", nonzero_bytes, unit="bytes")
    return _pre_curie_gas(zero, nonzero, overhead=whole("overhead", overhead, unit="gas"))


def _pre_curie_gas(zero_bytes: Whole, nonzero_bytes: Whole, *, overhead: Whole) -> Whole:
    nonzero = add("nonzero_bytes", nonzero_bytes, EXTRA_NONZERO_BYTES)
    return add("gas", fee_market._calldata_gas(zero_bytes, nonzero), overhead)


@formula
def curie_l1_fee(
    length: ArrayLike,
    *,
    l1_base_fee: ArrayLike,
    blob_base_fee: ArrayLike,
    commit_scalar: ArrayLike,
    blob_scalar: ArrayLike,
) -> Whole:
    """Return the L1 data fee of Curie: a fixed amount for the commitment, and a price per byte for the blob [wei].

    Parameters
    ----------
    length : length of the transaction [byte].
    l1_base_fee, blob_base_fee : base fee and blob base fee of L1 [wei / gas].
    commit_scalar, blob_scalar : the oracle's factors for base fee and blob base fee [10⁻⁹].

    The fee is (10 · 1.5 gwei + 4 · 0.15 gwei · 10) // 10⁹:

    >>> curie_l1_fee(4, l1_base_fee=1_500_000_000, blob_base_fee=150_000_000, commit_scalar=10, blob_scalar=10)
    21
    """
    commitment = _checked_price(l1_base_fee, commit_scalar)
    byte = _checked_price(0, 0, blob_base_fee, blob_scalar)
    size = whole("length", length, unit="bytes")
    return _fee(byte, size, 1, commitment)


@formula
def compression_ratio(length: ArrayLike, compressed_size: ArrayLike) -> Whole:
    """Return max(length · 10⁹ // compressed_size, 10⁹), or 2**256 − 1 for empty data [10⁻⁹].

    Raises `InvalidInput` for a `compressed_size` of 0, and `Int64Overflow` for a `length` of 0 in an array.

    >>> compression_ratio(612, 126)
    4857142857
    """
    size = whole("length", length, unit="bytes")
    if isinstance(size, int) and size == 0:
        return INFINITE_RATIO
    require(
        "length",
        "expected at least 1 in an array, because the ratio of empty data does not fit 64 bits",
        size,
        size > 0,
        Int64Overflow,
    )
    return _compression_ratio(size, whole("compressed_size", compressed_size, minimum=1, unit="bytes"))


def _compression_ratio(length: Whole, compressed_size: Whole) -> Whole:
    return maximum(multiply_divide("compression_ratio", length, PRECISION, compressed_size), PRECISION)


@formula
def feynman_l1_fee(
    length: ArrayLike,
    data_length: ArrayLike,
    compressed_data_size: ArrayLike,
    *,
    l1_base_fee: ArrayLike,
    blob_base_fee: ArrayLike,
    exec_scalar: ArrayLike,
    blob_scalar: ArrayLike,
    penalty_threshold: ArrayLike,
    penalty_factor: ArrayLike,
) -> Whole:
    """Return the L1 data fee of Feynman, with a penalty for calldata that compresses badly [wei].

    Parameters
    ----------
    length : length of the transaction [byte].
    data_length, compressed_data_size : length of the calldata before and after zstd compression; there is no penalty
        for empty calldata [byte].
    l1_base_fee, blob_base_fee : base fee and blob base fee of L1 [wei / gas].
    exec_scalar, blob_scalar : the oracle's factors for base fee and blob base fee [10⁻⁹].
    penalty_threshold : compression ratio below which there is a penalty [10⁻⁹].
    penalty_factor : factor by which the fee is multiplied if there is a penalty [10⁻⁹].

    The compression ratio of 5 is below the threshold of 6, so the penalty factor of 2 applies. The fee is (10 + 20) · 1
    gwei · 100 bytes · 2 // 10⁹:

    >>> feynman_l1_fee(100, 50, 10, l1_base_fee=10**9, blob_base_fee=10**9, exec_scalar=10, blob_scalar=20,
    ...                penalty_threshold=6 * 10**9, penalty_factor=2 * 10**9)
    6000
    """
    units = _feynman_units(
        data_length=whole("data_length", data_length, unit="bytes"),
        compressed_data_size=whole("compressed_data_size", compressed_data_size, unit="bytes"),
        penalty_threshold=whole("penalty_threshold", penalty_threshold),
        penalty_factor=whole("penalty_factor", penalty_factor),
        length=whole("length", length, unit="bytes"),
    )
    return _fee(_checked_price(l1_base_fee, exec_scalar, blob_base_fee, blob_scalar), units, PRECISION)


def _feynman_units(
    length: Whole,
    data_length: Whole,
    compressed_data_size: Whole,
    *,
    penalty_threshold: Whole,
    penalty_factor: Whole,
) -> Whole:
    """Return length · penalty [10⁻⁹ byte]."""
    compressed = where(data_length == 0, 1, compressed_data_size)
    require("compressed_size", "expected whole bytes of at least 1", compressed, compressed > 0)
    ratio = _compression_ratio(maximum(data_length, 1), compressed)
    penalized = (data_length > 0) & (ratio < penalty_threshold)
    return multiply("length · penalty", length, where(penalized, penalty_factor, PRECISION))


@formula
def galileo_l1_fee(
    compressed_size: ArrayLike,
    *,
    l1_base_fee: ArrayLike,
    blob_base_fee: ArrayLike,
    exec_scalar: ArrayLike,
    blob_scalar: ArrayLike,
    penalty_factor: ArrayLike,
) -> Whole:
    """Return the L1 data fee of Galileo, where larger transactions pay more per compressed byte [wei].

    Parameters
    ----------
    compressed_size : min(zstd length, length) of the transaction [byte].
    l1_base_fee, blob_base_fee : base fee and blob base fee of L1 [wei / gas].
    exec_scalar, blob_scalar : the oracle's factors for base fee and blob base fee [10⁻⁹].
    penalty_factor : compressed size at which the penalty doubles the fee per byte; 0 counts as 1 [byte].

    >>> galileo_l1_fee(100, l1_base_fee=10**9, blob_base_fee=10**9, exec_scalar=2_394_981_796,
    ...                blob_scalar=1_019_097_245, penalty_factor=10_000)
    344821983141
    """
    price = _checked_price(l1_base_fee, exec_scalar, blob_base_fee, blob_scalar)
    size = whole("compressed_size", compressed_size, unit="bytes")
    doubling = _doubling_size(whole("penalty_factor", penalty_factor))
    return _fee(price, _galileo_units(size, doubling), doubling)


def _galileo_units(compressed_size: Whole, doubling_size: Whole) -> Whole:
    """Return c · (doubling_size + c), where c is the compressed size [byte²].

    The fee is charged for `_galileo_units` / doubling_size bytes.
    """
    return multiply("compressed_size", compressed_size, add("penalty_factor", doubling_size, compressed_size))


def _doubling_size(penalty_factor: Whole) -> Whole:
    """Return the size at which the fee per byte is doubled [byte]."""
    return maximum(penalty_factor, 1)


MAX_L2_BASE_FEE = 10**10  # maximum base fee of a valid block [wei / gas]
CURIE_L2_SCALAR, CURIE_L2_OVERHEAD = 34 * 10**12, 15_680_000  # scalar [10⁻¹⁸] and overhead [wei / gas] since Curie
L2_PRECISION = 10**18


@formula
def curie_l2_base_fee(
    l1_base_fee: ArrayLike, *, scalar: ArrayLike = CURIE_L2_SCALAR, overhead: ArrayLike = CURIE_L2_OVERHEAD
) -> Whole:
    """Return the L2 base fee from Curie to Feynman: min(l1_base_fee · scalar // 10¹⁸ + overhead, 10 gwei).

    The sequencer follows this rule, but a block is valid with any base fee of at most 10 gwei. Before Curie the base
    fee is 0.

    Parameters
    ----------
    l1_base_fee : L1 base fee that the oracle contract stored at the parent block [wei / gas].
    scalar : factor for the L1 base fee, set in the system contract [10⁻¹⁸].
    overhead : amount added to the base fee, set in the system contract [wei / gas].

    At an L1 base fee of 1 gwei, the L2 base fee is 34,000 + 15,680,000 wei:

    >>> curie_l2_base_fee(10**9)
    15714000
    """
    fee = whole("l1_base_fee", l1_base_fee, unit="wei")
    share = multiply_divide("l1_base_fee", fee, whole("scalar", scalar), L2_PRECISION)
    return minimum(add("base_fee", share, whole("overhead", overhead, unit="wei")), MAX_L2_BASE_FEE)


@formula
def feynman_l2_base_fee(
    base_fee: ArrayLike, gas_used: ArrayLike, gas_limit: ArrayLike, *, overhead: ArrayLike, first: bool = False
) -> Whole:
    """Return the L2 base fee of the next block since Feynman: min(EIP-1559 base fee + overhead, 10 gwei).

    The sequencer follows this rule, but a block is valid with any base fee of at most 10 gwei. After many empty blocks,
    the EIP-1559 base fee is at most 7 wei; it stays there because an eighth of 7 wei is rounded down to 0.

    Parameters
    ----------
    base_fee : base fee of the current block, including the overhead [wei / gas].
    gas_used, gas_limit : gas used and gas limit of the current block [gas].
    overhead : amount added to the base fee, set in the system contract [wei / gas].
    first : whether the next block is the first block of Feynman. If `first` is `True`, the result is
        min(base_fee + overhead, 10 gwei).

    The base fee is 81,000,000 wei plus the overhead of 39,000,000 wei. The gas used is a third above the target, so the
    next base fee is 81,000,000 + 81,000,000 · 3,333,333 // 10,000,000 // 8 + 39,000,000:

    >>> feynman_l2_base_fee(120_000_000, 13_333_333, 20_000_000, overhead=39_000_000)
    123374999
    """
    fee = whole("base_fee", base_fee, unit="wei")
    added = whole("overhead", overhead, unit="wei")
    if not flag("first", first):
        fee = fee_market.next_base_fee(maximum(fee - added, 0), gas_used, gas_limit)
    return minimum(add("base_fee", fee, added), MAX_L2_BASE_FEE)


def _checked_price(
    l1_base_fee: ArrayLike, scalar: ArrayLike, blob_base_fee: ArrayLike = 0, blob_scalar: ArrayLike = 0
) -> FixedPoint:
    execution = whole("l1_base_fee", l1_base_fee, unit="wei"), whole("scalar of l1_base_fee", scalar)
    return _price(*execution, whole("blob_base_fee", blob_base_fee, unit="wei"), whole("blob_scalar", blob_scalar))


def _price(l1_base_fee: Whole, scalar: Whole, blob_base_fee: Whole = 0, blob_scalar: Whole = 0) -> FixedPoint:
    """Return scalar · l1_base_fee + blob_scalar · blob_base_fee [10⁻⁹ wei]."""
    execution = product_in_parts("l1_base_fee", l1_base_fee, scalar)
    return add_parts("price", execution, product_in_parts("blob_base_fee", blob_base_fee, blob_scalar))


def _fee(price: FixedPoint, units: Whole, divisor: Whole, addend: FixedPoint = NOTHING) -> Whole:
    """Return min((price · units + addend) // divisor, 2**64 − 1), where the price has nine decimals."""
    return saturated(multiply_divide_parts("l1_fee", price, units, PRECISION // MILLION * divisor, addend))
