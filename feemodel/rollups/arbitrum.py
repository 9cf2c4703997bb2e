"""Arbitrum (ArbOS): the charge for a transaction's bytes, and the L1 gas that a batch report states.

The signed encoding of a transaction is compressed with brotli (compression level of the ArbOS version, window 22, no
dictionary). The transaction pays for 16 units per compressed byte, at the price per unit of
`feemodel.rollups.arbitrum_l1_pricing`. The charge, units · price per unit, is converted to gas.

Only transactions that the sequencer posts pay this charge; transactions of Arbitrum's own types do not pay the charge.
ArbOS 40 introduced transactions of type 4 (EIP-7702), whose size includes the authorization list. For an estimate, a
node measures a placeholder transaction of type 2, which has no authorization list.
`feemodel.rollups.arbitrum_l2_pricing` has the L2 base fee.

Source: OffchainLabs/nitro at 6dce8d1 (2026-04-23): arbos/l1pricing/l1pricing.go, arbos/tx_processor.go,
arbos/internal_tx.go; for the placeholder transaction l1pricing.go at 001ae31.
"""

from dataclasses import dataclass
from typing import Generic, NamedTuple

from feemodel._records import compared_by_value, printed_as_table
from feemodel.checks import ArrayLike, Part, choice, whole
from feemodel.ethereum import fee_market
from feemodel.formula import formula
from feemodel.integers import Whole, add, maximum, multiply, multiply_divide, saturated

UNITS_PER_BYTE = 16
BIPS = 10_000

# For a gas estimate, a node measures a transaction with placeholder fields, and adds the margins below to the data
# units and to the cost.
ESTIMATE_EXTRA_UNITS = 16 * UNITS_PER_BYTE
ESTIMATE_UNIT_BIPS = 10_100
ESTIMATE_COST_BIPS = 11_000

KECCAK_GAS, KECCAK_WORD_GAS = 30, 6
STORAGE_WRITE_GAS = 20_000  # gas for a storage slot; a batch report writes two slots
FLOOR_EXTRA_BYTES = 172  # calldata bytes of the posting call in addition to the batch


@dataclass(frozen=True, slots=True, kw_only=True)
class ArbosVersion:
    """Parameters of an ArbOS version; `feemodel.rollups.chains` has the activation date of each version."""

    name: str
    brotli_level: int = 1
    equilibration_units: int = 16 * 10_000_000  #: number of units over which a surplus is spent [unit]
    per_batch_gas: int = 210_000  #: fixed gas of a batch, in addition to the gas for its bytes [gas]
    speed_limit: int | None = 7_000_000  #: target of the legacy L2 base fee; `None`: gas constraints apply [gas / s]
    counts_floor: bool = False  #: whether the calldata floor of EIP-7623 applies to a batch


VERSIONS = (
    ArbosVersion(
        name="arbos-0", brotli_level=0, equilibration_units=60 * 16 * 100_000, per_batch_gas=0, speed_limit=1_000_000
    ),
    ArbosVersion(name="arbos-6", brotli_level=0, per_batch_gas=100_000),
    ArbosVersion(name="arbos-11", brotli_level=0),
    ArbosVersion(name="arbos-20"),
    ArbosVersion(name="arbos-40"),  # the same fees as arbos-20; the first version with transactions of type 4
    ArbosVersion(name="arbos-50", counts_floor=True),  # Arbitrum One skipped ArbOS 50
    ArbosVersion(name="arbos-51", speed_limit=None, counts_floor=True),
    ArbosVersion(name="arbos-61", speed_limit=None, counts_floor=True),
)
_BY_NAME = {row.name: row for row in VERSIONS}


@compared_by_value
@printed_as_table
class PosterCharge(NamedTuple, Generic[Part]):
    """Charge for a transaction's bytes."""

    units: Part  #: data units of the transaction [unit]
    gas: Part  #: gas of the charge, which is added to the gas used; at most 2**64 − 1 [gas]
    fee: Part  #: gas · gas price [wei]


def version(name: str) -> ArbosVersion:
    """Return the parameters of an ArbOS version; raises `InvalidInput` for an unknown name.

    >>> version("arbos-20").brotli_level
    1
    """
    return _BY_NAME[choice("version", name, _BY_NAME)]


@formula
def poster_units(brotli_size: ArrayLike) -> Whole:
    """Return the data units of a transaction: 16 · brotli_size [unit].

    >>> poster_units(120)
    1920
    """
    return _poster_units(whole("brotli_size", brotli_size, unit="bytes"))


def _poster_units(brotli_size: Whole) -> Whole:
    return multiply("brotli_size", UNITS_PER_BYTE, brotli_size)


@formula
def poster_charge(brotli_size: ArrayLike, *, price_per_unit: ArrayLike, gas_price: ArrayLike) -> PosterCharge:
    """Compute the charge for a posted transaction's bytes: price_per_unit · units // gas_price [gas].

    Parameters
    ----------
    brotli_size : compressed length of the signed transaction [byte].
    price_per_unit : price per unit of the L1 pricing controller [wei / unit].
    gas_price : gas price that the transaction pays, at least 1 [wei / gas].

    1,920 units · 7 gwei // 0.01 gwei is 1,344,000 gas:

    >>> poster_charge(120, price_per_unit=7 * 10**9, gas_price=10**7)
    PosterCharge(units=1920, gas=1344000, fee=13440000000000)
    """
    size = whole("brotli_size", brotli_size, unit="bytes")
    price = whole("gas_price", gas_price, minimum=1, unit="wei")
    return _poster_charge(size, whole("price_per_unit", price_per_unit, unit="wei"), price)


def _poster_charge(brotli_size: Whole, price_per_unit: Whole, price: Whole) -> PosterCharge:
    units = _poster_units(brotli_size)
    gas = saturated(multiply("poster_cost", price_per_unit, units) // price)
    return PosterCharge(units, gas, multiply("poster_fee", gas, price))


@formula
def estimated_poster_gas(
    brotli_size: ArrayLike, *, price_per_unit: ArrayLike, base_fee: ArrayLike, min_base_fee: ArrayLike
) -> Whole:
    """Return the gas that a gas estimate includes for the bytes of an unsigned transaction [gas].

    units = (16 · size + 256) · 10,100 // 10,000; gas = (price_per_unit · units) · 11,000 // 10,000
    // max(base_fee · 7 // 8, min_base_fee).

    Parameters
    ----------
    brotli_size : compressed length of the node's placeholder transaction [byte].
    price_per_unit : price per unit of the L1 pricing controller [wei / unit].
    base_fee : L2 base fee [wei / gas].
    min_base_fee : minimum L2 base fee of the chain, at least 1 [wei / gas].

    The gas is 2,197 units · 10⁹ wei per unit · 1.1 // (10⁷ wei per gas):

    >>> estimated_poster_gas(120, price_per_unit=10**9, base_fee=10**7, min_base_fee=10**7)
    241670
    """
    size = whole("brotli_size", brotli_size, unit="bytes")
    cost = _estimated_cost(size, whole("price_per_unit", price_per_unit, unit="wei"))
    lowered = multiply_divide("base_fee", whole("base_fee", base_fee, unit="wei"), 7, 8)
    price = maximum(lowered, whole("min_base_fee", min_base_fee, minimum=1, unit="wei"))
    return saturated(cost // price)


def _estimated_cost(brotli_size: Whole, price_per_unit: Whole) -> Whole:
    """Return the posting cost that an estimate assumes, with the margins on units and cost [wei]."""
    padded = add("brotli_size", _poster_units(brotli_size), ESTIMATE_EXTRA_UNITS)
    units = multiply_divide("brotli_size", padded, ESTIMATE_UNIT_BIPS, BIPS)
    cost = multiply("poster_cost", price_per_unit, units)
    return multiply_divide("poster_cost", cost, ESTIMATE_COST_BIPS, BIPS)


@formula
def batch_gas(
    zero_bytes: ArrayLike,
    nonzero_bytes: ArrayLike,
    *,
    version: str,
    extra_gas: ArrayLike = 0,
    gas_floor_per_token: ArrayLike = fee_market.FLOOR_GAS_PER_TOKEN,
) -> Whole:
    """Return the L1 gas that a batch report states for the batch [gas].

    The L1 gas is 4 · zero + 16 · nonzero + (30 + 6 · words) + 2 · 20,000 + extra_gas + per-batch gas of the version.
    `words` is the number of 32-byte words of the batch, rounded up. Since ArbOS 50, the L1 gas is at least
    gas_floor_per_token · (zero + 4 · nonzero + 172) + 21,000.

    Parameters
    ----------
    zero_bytes, nonzero_bytes : number of zero and non-zero bytes in the batch [byte].
    version : name of an ArbOS version in `VERSIONS`.
    extra_gas : gas added by the batch poster, such as the cost of blobs converted to gas [gas].
    gas_floor_per_token : gas per token in the calldata floor of the parent chain [gas].

    >>> batch_gas(0, 100, version="arbos-20")
    251654
    """
    row = _BY_NAME[choice("version", version, _BY_NAME)]
    zero, nonzero = whole("zero_bytes", zero_bytes, unit="bytes"), whole("nonzero_bytes", nonzero_bytes, unit="bytes")
    words: Whole = (add("zero_bytes", zero, nonzero) + 31) // 32
    keccak = KECCAK_GAS + multiply("words", KECCAK_WORD_GAS, words)
    bookkeeping = keccak + 2 * STORAGE_WRITE_GAS + row.per_batch_gas
    gas = add(
        "batch_gas", fee_market._calldata_gas(zero, nonzero), bookkeeping, whole("extra_gas", extra_gas, unit="gas")
    )
    if not row.counts_floor:
        return gas
    per_token = whole("gas_floor_per_token", gas_floor_per_token, unit="gas")
    one_token_bytes = add("zero_bytes", zero, FLOOR_EXTRA_BYTES)
    return maximum(gas, fee_market._calldata_floor_gas(one_token_bytes, nonzero, per_token))
