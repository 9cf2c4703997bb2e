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

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from feemodel.checks import UINT64_MAX, UINT256_MAX, choice, require
from feemodel.errors import Int64Overflow
from feemodel.ethereum import fee_market
from feemodel.exact import maximum, minimum, where
from feemodel.formula import formula
from feemodel.quantities import (
    BaseFee,
    BlobBaseFee,
    Byte,
    CompressedSize,
    Gas,
    GasLimit,
    GasUsed,
    NonzeroBytes,
    Quantity,
    Wei,
    WeiPerGas,
    Whole,
    ZeroBytes,
)
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Columns, Factors, Rule

Billionths = Annotated[Whole, Quantity("1e-9", "factor in billionths")]
Attos = Annotated[Whole, Quantity("1e-18", "factor in units of 1e-18")]

EXTRA_NONZERO_BYTES = 4  # number of bytes added to every transaction before Curie
INFINITE_RATIO = UINT256_MAX  # compression ratio of empty calldata


@formula
def pre_curie_l1_fee(
    zero_bytes: ZeroBytes, nonzero_bytes: NonzeroBytes, *, l1_base_fee: BaseFee, overhead: Gas, scalar: Billionths
) -> Wei:
    """Return the L1 data fee before Curie; the sizes are of the signed transaction.

    L1 gas 204 · L1 base fee 15,000,000 wei · scalar 10 // 10⁹ is 30 wei:

    >>> pre_curie_l1_fee(2, 2, l1_base_fee=15_000_000, overhead=100, scalar=10)
    30
    """
    l1_gas = pre_curie_l1_gas.core(zero_bytes, nonzero_bytes, overhead=overhead)
    return minimum(l1_gas * l1_base_fee * scalar // 10**9, UINT64_MAX)


@formula
def pre_curie_l1_gas(zero_bytes: ZeroBytes, nonzero_bytes: NonzeroBytes, *, overhead: Gas) -> Gas:
    """Return the L1 gas of a transaction before Curie.

    4 · 2 + 16 · (2 + 4) + 100:

    >>> pre_curie_l1_gas(2, 2, overhead=100)
    204
    """
    return 4 * zero_bytes + 16 * (nonzero_bytes + EXTRA_NONZERO_BYTES) + overhead


@formula
def curie_l1_fee(
    length: Byte,
    *,
    l1_base_fee: BaseFee,
    blob_base_fee: BlobBaseFee,
    commit_scalar: Billionths,
    blob_scalar: Billionths,
) -> Wei:
    """Return the L1 data fee of Curie: a fixed amount for the commitment, and a price per byte for the blob.

    The fee is (10 · 1.5 gwei + 4 · 0.15 gwei · 10) // 10⁹:

    >>> curie_l1_fee(4, l1_base_fee=1_500_000_000, blob_base_fee=150_000_000, commit_scalar=10, blob_scalar=10)
    21
    """
    commitment = commit_scalar * l1_base_fee
    blob = length * blob_base_fee * blob_scalar
    return minimum((commitment + blob) // 10**9, UINT64_MAX)


@formula
def compression_ratio(length: Byte, compressed_size: Byte) -> Billionths:
    """Return max(length · 10⁹ // compressed_size, 10⁹), or 2**256 − 1 for empty data.

    >>> compression_ratio(612, 126)
    4857142857
    """
    if isinstance(length, int) and length == 0:
        return INFINITE_RATIO
    reason = "expected at least 1 in an array, because the ratio of empty data does not fit 64 bits"
    require("length", reason, length, length > 0, Int64Overflow)
    require("compressed_size", "expected whole bytes of at least 1", compressed_size, compressed_size > 0)
    return maximum(length * 10**9 // compressed_size, 10**9)


@formula
def feynman_l1_fee(
    length: Byte,
    data_length: Byte,
    compressed_data_size: Byte,
    *,
    l1_base_fee: BaseFee,
    blob_base_fee: BlobBaseFee,
    exec_scalar: Billionths,
    blob_scalar: Billionths,
    penalty_threshold: Billionths,
    penalty_factor: Billionths,
) -> Wei:
    """Return the L1 data fee of Feynman, with a penalty for calldata that compresses badly.

    The compression ratio of 5 is below the threshold of 6, so the penalty factor of 2 applies. The fee is (10 + 20) · 1
    gwei · 100 bytes · 2 // 10⁹:

    >>> feynman_l1_fee(100, 50, 10, l1_base_fee=10**9, blob_base_fee=10**9, exec_scalar=10, blob_scalar=20,
    ...                penalty_threshold=6 * 10**9, penalty_factor=2 * 10**9)
    6000
    """
    penalty = feynman_penalty.core(data_length, compressed_data_size, penalty_threshold, penalty_factor)
    price = exec_scalar * l1_base_fee + blob_scalar * blob_base_fee
    return minimum(price * length * penalty // 10**9 // 10**9, UINT64_MAX)


@formula
def feynman_penalty(
    data_length: Byte, compressed_data_size: Byte, threshold: Billionths, factor: Billionths
) -> Billionths:
    """Return the factor for calldata that compresses badly, 1 (10⁹ billionths) for other calldata.

    >>> feynman_penalty(50, 10, 6 * 10**9, 2 * 10**9)
    2000000000
    """
    compressed = where(data_length == 0, 1, compressed_data_size)
    require("compressed_data_size", "expected whole bytes of at least 1", compressed, compressed > 0)
    ratio = maximum(data_length * 10**9 // compressed, 10**9)
    return where((data_length > 0) & (ratio < threshold), factor, 10**9)


@formula
def galileo_l1_fee(
    compressed_size: CompressedSize,
    *,
    l1_base_fee: BaseFee,
    blob_base_fee: BlobBaseFee,
    exec_scalar: Billionths,
    blob_scalar: Billionths,
    penalty_factor: Byte,
) -> Wei:
    """Return the L1 data fee of Galileo, where larger transactions pay more per compressed byte.

    `compressed_size` is min(zstd length, length). A transaction of `penalty_factor` bytes pays twice as much per byte.

    >>> galileo_l1_fee(100, l1_base_fee=10**9, blob_base_fee=10**9, exec_scalar=2_394_981_796,
    ...                blob_scalar=1_019_097_245, penalty_factor=10_000)
    344821983141
    """
    base = (exec_scalar * l1_base_fee + blob_scalar * blob_base_fee) * compressed_size
    penalty = base * compressed_size // maximum(penalty_factor, 1)
    return minimum((base + penalty) // 10**9, UINT64_MAX)


MAX_L2_BASE_FEE = 10**10  # maximum base fee of a valid block [wei / gas]
CURIE_L2_SCALAR, CURIE_L2_OVERHEAD = 34 * 10**12, 15_680_000  # scalar [10⁻¹⁸] and overhead [wei / gas] since Curie


@formula
def curie_l2_base_fee(
    l1_base_fee: BaseFee, *, scalar: Attos = CURIE_L2_SCALAR, overhead: WeiPerGas = CURIE_L2_OVERHEAD
) -> WeiPerGas:
    """Return the L2 base fee from Curie to Feynman: min(l1_base_fee · scalar // 10¹⁸ + overhead, 10 gwei).

    The sequencer follows this rule, but a block is valid with any base fee of at most 10 gwei. `l1_base_fee` is
    that of the oracle at the parent block; the system contract has the others. Before Curie the base fee is 0.

    At an L1 base fee of 1 gwei, the L2 base fee is 34,000 + 15,680,000 wei:

    >>> curie_l2_base_fee(10**9)
    15714000
    """
    return minimum(l1_base_fee * scalar // 10**18 + overhead, MAX_L2_BASE_FEE)


@formula
def feynman_l2_base_fee(
    base_fee: BaseFee, gas_used: GasUsed, gas_limit: GasLimit, *, overhead: WeiPerGas, first: bool = False
) -> WeiPerGas:
    """Return the L2 base fee of the next block since Feynman: min(EIP-1559 base fee + overhead, 10 gwei).

    The sequencer follows this rule, but a block is valid with any base fee of at most 10 gwei. After many empty blocks,
    the EIP-1559 base fee is at most 7 wei; it stays there because an eighth of 7 wei is rounded down to 0. `base_fee`
    includes the overhead, which is set in the system contract. For the first block of Feynman (`first`), the result is
    min(base_fee + overhead, 10 gwei).

    The base fee is 81,000,000 wei plus the overhead of 39,000,000 wei. The gas used is a third above the target, so the
    next base fee is 81,000,000 + 81,000,000 · 3,333,333 // 10,000,000 // 8 + 39,000,000:

    >>> feynman_l2_base_fee(120_000_000, 13_333_333, 20_000_000, overhead=39_000_000)
    123374999
    """
    if first:
        return minimum(base_fee + overhead, MAX_L2_BASE_FEE)
    fee = fee_market.next_base_fee.core(maximum(base_fee - overhead, 0), gas_used, gas_limit)
    return minimum(fee + overhead, MAX_L2_BASE_FEE)


INPUTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "bernoulli": (("zero_bytes", "nonzero_bytes"), ("overhead", "scalar")),
        "curie": (("length",), ("commit_scalar", "blob_scalar")),
        "feynman": (
            ("length", "data_length", "zstd_data_size"),
            ("exec_scalar", "blob_scalar", "penalty_threshold", "penalty_factor"),
        ),
        "galileo": (("zstd_size",), ("exec_scalar", "blob_scalar", "penalty_factor")),
        "galileo-v2": (("zstd_size",), ("exec_scalar", "blob_scalar", "penalty_factor")),
    }
)  #: columns and parameters of the rule, by upgrade


def scroll_rule(parameters: Parameters) -> Rule:
    """Return Scroll's rule; `INPUTS` has the columns and parameters of each upgrade.

    >>> from feemodel.rollups.rules import rule
    >>> rule("scroll").columns
    ('gas', 'zstd_size')
    """
    upgrade = parameters["upgrade"]
    sizes, needed = INPUTS[choice("upgrade", upgrade, INPUTS)]
    terms = parameters.known(*needed, "l2_gas_price")

    def factors(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        size, *data = (columns[name] for name in sizes)
        offset = 0
        if upgrade == "bernoulli":
            units, divisor = pre_curie_l1_gas.core(size, *data, overhead=terms["overhead"]), 10**9
            price = base_fee * terms["scalar"]
        elif upgrade == "curie":
            units, divisor, price = size, 10**9, blob_base_fee * terms["blob_scalar"]
            offset = base_fee * terms["commit_scalar"]
        else:
            price = base_fee * terms["exec_scalar"] + blob_base_fee * terms["blob_scalar"]
            factor = terms["penalty_factor"]
            if upgrade == "feynman":
                units, divisor = size * feynman_penalty.core(*data, terms["penalty_threshold"], factor), 10**18
            else:
                factor = max(factor, 1)
                units, divisor = size * (factor + size), 10**9 * factor
        gas, gas_price = columns["gas"], terms["l2_gas_price"]
        return Factors(units, price, divisor, gas, gas_price, offset=offset, saturates=True)

    return Rule(parameters, ("gas", *sizes), tuple(terms), factors, upgrade)


def scroll_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of Scroll, whose sequencer may set any base fee up to the chain's maximum."""
    return max(base_fee, int(parameters.known("max_base_fee")["max_base_fee"]))
