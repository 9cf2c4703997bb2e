"""Arbitrum (ArbOS): what a transaction pays for its bytes, and what a batch is reported to cost.

A transaction pays for 16 units per byte of its brotli-compressed signed encoding (level of the version, window 22, no
dictionary), at the price per unit of `feemodel.rollups.arbitrum_l1_pricing`. The charge is taken as gas.

Only transactions that the sequencer posts pay it; Arbitrum's own transaction types do not. From ArbOS 40 on there are
transactions of type 4 (EIP-7702), encoded with their authorization list; a node's estimate of a call measures a made-up
transaction of type 2, without the list. The L2 base fee is computed by `feemodel.rollups.arbitrum_l2_pricing`.

Source: OffchainLabs/nitro at 6dce8d1 (2026-04-23): arbos/l1pricing/l1pricing.go, arbos/tx_processor.go,
arbos/internal_tx.go; of the made-up transaction l1pricing.go at 001ae31.
"""

from dataclasses import dataclass
from typing import Generic, NamedTuple, overload

from feemodel.checks import ArrayLike, Numbers, Part, Wholes, choice, whole
from feemodel.ethereum import fee_market
from feemodel.formula import formula
from feemodel.integers import Whole, add, maximum, multiply, multiply_divide, saturated
from feemodel.records import compared_by_value, printed_as_table

UNITS_PER_BYTE = 16
BIPS = 10_000

# An estimate has no signature to measure: it adds this much to a placeholder's units, and to the cost.
ESTIMATE_EXTRA_UNITS = 16 * UNITS_PER_BYTE
ESTIMATE_UNIT_BIPS = 10_100
ESTIMATE_COST_BIPS = 11_000

KECCAK_GAS, KECCAK_WORD_GAS = 30, 6
STORAGE_WRITE_GAS = 20_000  # a batch report writes two slots
FLOOR_EXTRA_BYTES = 172  # of a batch-posting call, without the batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The parameters that an ArbOS version brings; `feemodel.rollups.chains` has its first day on each chain."""

    name: str
    brotli_level: int = 1
    equilibration_units: int = 16 * 10_000_000  #: units over which the controller wants a surplus spent
    per_batch_gas: int = 210_000  #: [gas]
    speed_limit: int | None = 7_000_000  #: of the legacy L2 base fee; `None`: gas constraints set it [gas / s]
    counts_floor: bool = False  #: whether EIP-7623 bounds a batch's gas from below


VERSIONS = (
    Version(
        name="arbos-0", brotli_level=0, equilibration_units=60 * 16 * 100_000, per_batch_gas=0, speed_limit=1_000_000
    ),
    Version(name="arbos-6", brotli_level=0, per_batch_gas=100_000),
    Version(name="arbos-11", brotli_level=0),
    Version(name="arbos-20"),
    Version(name="arbos-40"),  # the same fees; transactions of type 4
    Version(name="arbos-50", counts_floor=True),  # One went from 40 to 51 at once
    Version(name="arbos-51", speed_limit=None, counts_floor=True),
    Version(name="arbos-61", speed_limit=None, counts_floor=True),
)
_BY_NAME = {row.name: row for row in VERSIONS}


@compared_by_value
@printed_as_table
class PosterCharge(NamedTuple, Generic[Part]):
    """Charge for a transaction's bytes."""

    units: Part  #: [unit]
    gas: Part  #: added to the gas used, at most 2**64 − 1 [gas]
    fee: Part  #: gas · gas price [wei]


def version(name: str) -> Version:
    """The row of an ArbOS version; raises `InvalidInput` for another name.

    >>> version("arbos-20").brotli_level
    1
    """
    return _BY_NAME[choice("version", name, _BY_NAME)]


@overload
def poster_units(brotli_size: int) -> int: ...
@overload
def poster_units(brotli_size: Numbers[Wholes]) -> Wholes: ...
@formula
def poster_units(brotli_size: ArrayLike) -> Whole:
    """16 units per compressed byte of the signed transaction [unit].

    >>> poster_units(120)
    1920
    """
    return multiply("brotli_size", UNITS_PER_BYTE, whole("brotli_size", brotli_size, unit="bytes"))


@overload
def poster_charge(brotli_size: int, *, price_per_unit: int, gas_price: int) -> PosterCharge[int]: ...
@overload
def poster_charge(
    brotli_size: Numbers[Wholes], *, price_per_unit: Numbers[Wholes], gas_price: Numbers[Wholes]
) -> PosterCharge[Wholes]: ...
@formula
def poster_charge(brotli_size: ArrayLike, *, price_per_unit: ArrayLike, gas_price: ArrayLike) -> PosterCharge:
    """Charge for a posted transaction's bytes: price_per_unit · units, rounded down to whole gas.

    Parameters
    ----------
    brotli_size : compressed length of the signed transaction [byte].
    price_per_unit : the controller's [wei / unit].
    gas_price : what the transaction pays, at least 1 [wei / gas].

    All broadcast. The fields are ints for scalars, int64 arrays otherwise. Raises `InvalidInput` for anything that
    is not such a whole number, `Int64Overflow` where an array cannot hold the result.

    1,920 units · 7 gwei // 0.01 gwei:

    >>> poster_charge(120, price_per_unit=7 * 10**9, gas_price=10**7)
    PosterCharge(units=1920, gas=1344000, fee=13440000000000)
    """
    units = poster_units(brotli_size)
    price = whole("gas_price", gas_price, minimum=1, unit="wei")
    cost = multiply("poster_cost", whole("price_per_unit", price_per_unit, unit="wei"), units)
    gas = saturated(cost // price)
    return PosterCharge(units, gas, multiply("poster_fee", gas, price))


@overload
def estimated_poster_gas(brotli_size: int, *, price_per_unit: int, base_fee: int, min_base_fee: int) -> int: ...
@overload
def estimated_poster_gas(
    brotli_size: Numbers[Wholes], *, price_per_unit: Numbers[Wholes], base_fee: Numbers[Wholes],
    min_base_fee: Numbers[Wholes]
) -> Wholes: ...  # fmt: skip
@formula
def estimated_poster_gas(
    brotli_size: ArrayLike, *, price_per_unit: ArrayLike, base_fee: ArrayLike, min_base_fee: ArrayLike
) -> Whole:
    """The gas that an estimate adds for the bytes of a transaction that is not signed yet [gas].

    units = (16 · size + 256) · 10,100 // 10,000; gas = (price_per_unit · units) · 11,000 // 10,000
    // max(base_fee · 7 // 8, min_base_fee).

    Parameters
    ----------
    brotli_size : compressed length of the node's placeholder transaction [byte].
    price_per_unit : the controller's [wei / unit].
    base_fee, min_base_fee : L2 base fee and its minimum, at least 1 [wei / gas].

    Broadcasting and errors as `poster_charge`.

    2,197 units · 1e9 · 1.1 // 1e7:

    >>> estimated_poster_gas(120, price_per_unit=10**9, base_fee=10**7, min_base_fee=10**7)
    241670
    """
    padded = add("brotli_size", poster_units(brotli_size), ESTIMATE_EXTRA_UNITS)
    units = multiply_divide("brotli_size", padded, ESTIMATE_UNIT_BIPS, BIPS)
    cost = multiply("poster_cost", whole("price_per_unit", price_per_unit, unit="wei"), units)
    lowered = multiply_divide("base_fee", whole("base_fee", base_fee, unit="wei"), 7, 8)
    price = maximum(lowered, whole("min_base_fee", min_base_fee, minimum=1, unit="wei"))
    return saturated(multiply_divide("poster_cost", cost, ESTIMATE_COST_BIPS, BIPS) // price)


@overload
def batch_gas(
    zero_bytes: int, nonzero_bytes: int, *, version: str, extra_gas: int = ..., gas_floor_per_token: int = ...
) -> int: ...
@overload
def batch_gas(
    zero_bytes: Numbers[Wholes], nonzero_bytes: Numbers[Wholes], *, version: str, extra_gas: Numbers[Wholes] = ...,
    gas_floor_per_token: Numbers[Wholes] = ...
) -> Wholes: ...  # fmt: skip
@formula
def batch_gas(
    zero_bytes: ArrayLike,
    nonzero_bytes: ArrayLike,
    *,
    version: str,
    extra_gas: ArrayLike = 0,
    gas_floor_per_token: ArrayLike = fee_market.FLOOR_GAS_PER_TOKEN,
) -> Whole:
    """The L1 gas that a batch is reported to have cost.

    4 · zero + 16 · nonzero + (30 + 6 · words) + 2 · 20,000 + extra_gas + per-batch gas of the version; from ArbOS 50
    on at least gas_floor_per_token · (zero + 4 · nonzero + 172) + 21,000.

    Parameters
    ----------
    zero_bytes, nonzero_bytes : counts in the batch [byte].
    version : a name of `VERSIONS`.
    extra_gas : what the poster adds, for a batch in blobs their price in gas [gas].
    gas_floor_per_token : of the parent chain [gas].

    Broadcasting and errors as `poster_charge`.

    >>> batch_gas(0, 100, version="arbos-20")
    251654
    """
    row = _BY_NAME[choice("version", version, _BY_NAME)]
    zero, nonzero = whole("zero_bytes", zero_bytes, unit="bytes"), whole("nonzero_bytes", nonzero_bytes, unit="bytes")
    words: Whole = (add("zero_bytes", zero, nonzero) + 31) // 32
    keccak = KECCAK_GAS + multiply("words", KECCAK_WORD_GAS, words)
    bookkeeping = keccak + 2 * STORAGE_WRITE_GAS + row.per_batch_gas
    gas = add(
        "batch_gas", fee_market.calldata_gas(zero, nonzero), bookkeeping, whole("extra_gas", extra_gas, unit="gas")
    )
    if not row.counts_floor:
        return gas
    per_token = whole("gas_floor_per_token", gas_floor_per_token, unit="gas")
    one_token_bytes = add("zero_bytes", zero, FLOOR_EXTRA_BYTES)
    return maximum(gas, fee_market.calldata_floor_gas(one_token_bytes, nonzero, gas_per_token=per_token))
