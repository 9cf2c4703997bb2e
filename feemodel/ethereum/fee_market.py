"""L1 fees that rollups pay: base fee, blob base fee and calldata gas.

Each upgrade of the blob rules is a dated row of `MAINNET`. `Schedule((*MAINNET.rows, row))` has one more row.
Arithmetic uses integers, as in the nodes: Python ints of any size for scalars, int64 for arrays.

Sources: EIP-1559, EIP-4844, EIP-7623, EIP-7691, EIP-7892, EIP-7918 (ethereum/EIPs at f767a1e, 2026-08-22);
ethereum/go-ethereum at 02b73d4 (2026-08-20): consensus/misc/eip1559, consensus/misc/eip4844, params/config.go.
"""

from __future__ import annotations  # so that `help` shows the names of quantities

import math
from bisect import bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import numpy as np

from feemodel.arguments import check_fields, checked
from feemodel.checks import UINT64_MAX, require
from feemodel.errors import InvalidInput
from feemodel.exact import Exact, exact, maximum, some, where
from feemodel.formula import formula
from feemodel.quantities import (
    BaseFee,
    BlobBaseFee,
    BlobGasUsed,
    Divisor,
    ExcessBlobGas,
    Gas,
    GasLimit,
    GasUsed,
    NonzeroBytes,
    Quantity,
    Timestamp,
    Truth,
    WholeNumber,
    ZeroBytes,
)

ELASTICITY = 2  # EIP-1559: gas limit / gas target
BASE_FEE_CHANGE_DENOMINATOR = 8  # EIP-1559
LOWEST_BASE_FEE = 7  # [wei / gas]; an eighth of 7 wei is rounded down to 0, so the base fee does not fall below 7 wei

GAS_PER_BLOB = 131_072  # EIP-4844
USABLE_BLOB_BYTES = 130_048  # 4,096 field elements of 254 bits; Linea's prices use `GAS_PER_BLOB` instead
MIN_BLOB_BASE_FEE = 1  # EIP-4844 [wei / gas]
BLOB_BASE_COST = 8_192  # EIP-7918: execution gas whose price is the minimum price of a blob

TRANSACTION_GAS = 21_000
ZERO_BYTE_GAS = 4
NONZERO_BYTE_GAS = 16  # EIP-2028
FLOOR_GAS_PER_TOKEN = 10  # EIP-7623; a zero byte is one token
TOKENS_OF_NONZERO_BYTE = 4  # EIP-7623

Blobs = Annotated[int, Quantity("blob", "blobs of a block", minimum=1, maximum=2**32)]
UpdateFraction = Annotated[int, Quantity("gas", "excess blob gas that multiplies the fee by e", 1, UINT64_MAX)]

LARGEST_EXPONENT = 178  # e**178 > 2**256: the fee would not fit a block header


class BlobLimits(NamedTuple):
    """The blob parameters in force: ints and a bool for one time, arrays for several."""

    target: Any  #: blob gas of a block at which the blob base fee does not change [gas]
    maximum: Any  #: [gas]
    update_fraction: Any  #: [gas]
    reserve: Any  #: whether EIP-7918 applies


@dataclass(frozen=True, slots=True)
class BlobRules:
    """The blob parameters of one upgrade."""

    name: str
    timestamp: Timestamp  #: activation time of the upgrade, at most the time of its first block [s]
    target: Blobs  #: number of blobs in a block at which the blob base fee does not change
    maximum: Blobs  #: maximum number of blobs in a block
    update_fraction: UpdateFraction  #: increase of excess blob gas that multiplies the fee by e [gas]
    reserve: bool  #: whether EIP-7918 keeps the blob fee from falling far below the execution fee
    source: str

    def __post_init__(self) -> None:
        check_fields(self)
        if self.maximum < self.target:
            raise InvalidInput("maximum", f"expected at least the target of {self.target} blobs", self.maximum)


@dataclass(frozen=True, slots=True, repr=False)
class Schedule:
    """The blob rules of a chain, in order of time."""

    rows: tuple[BlobRules, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.rows:
            raise InvalidInput("rows", "expected at least one row of blob rules", self.rows)
        starts = [row.timestamp for row in self.rows]
        for i in range(1, len(starts)):
            if starts[i] <= starts[i - 1]:
                raise InvalidInput("rows", f"expected increasing timestamps, above {starts[i - 1]:,}", starts[i], (i,))

    def __repr__(self) -> str:  # short, because `help` shows the text in the signatures of functions
        return f"Schedule({', '.join(row.name for row in self.rows)})"

    @checked
    def at(self, timestamp: Timestamp) -> BlobRules:
        """Return the rules at a time [s].

        >>> MAINNET.at(1_746_612_310).name, MAINNET.at(1_746_612_311).name
        ('Cancun', 'Prague')
        """
        self.parameters(timestamp)
        return self.rows[bisect_right(self.rows, timestamp, key=attrgetter("timestamp")) - 1]

    def parameters(self, timestamp: Any) -> BlobLimits:
        """Return the parameters in force at each time [s]; raises `InvalidInput` before the first row."""
        if not isinstance(timestamp, Exact) and timestamp >= self.rows[0].timestamp:
            return BlobLimits(
                *_blob_gas(self.rows[bisect_right(self.rows, timestamp, key=attrgetter("timestamp")) - 1])
            )
        first = self.rows[0]
        reason = f"expected at least {first.timestamp:,}, the start of {first.name}, before which there were no blobs"
        require("timestamp", reason, timestamp, timestamp >= first.timestamp)
        index = np.searchsorted([row.timestamp for row in self.rows], timestamp.word, side="right") - 1
        *gas, reserve = (np.array(column)[index] for column in zip(*map(_blob_gas, self.rows), strict=True))
        target, maximum, fraction = map(exact, gas)
        return BlobLimits(target, maximum, fraction, reserve)


def _blob_gas(row: BlobRules) -> tuple[int, int, int, bool]:
    return row.target * GAS_PER_BLOB, row.maximum * GAS_PER_BLOB, row.update_fraction, row.reserve


MAINNET = Schedule(
    (
        # name, activation time, target, maximum, update fraction, reserve, source
        BlobRules("Cancun", 1_710_338_135, 3, 6, 3_338_477, False, "EIP-4844, mainnet block 19,426,587"),
        BlobRules("Prague", 1_746_612_311, 6, 9, 5_007_716, False, "EIP-7691, mainnet block 22,431,084"),
        BlobRules("Osaka", 1_764_798_551, 6, 9, 5_007_716, True, "EIP-7918, mainnet block 23,935,694"),
        BlobRules("BPO1", 1_765_290_071, 10, 15, 8_346_193, True, "EIP-7892 and EIP-8134, mainnet block 23,975,778"),
        BlobRules("BPO2", 1_767_747_671, 14, 21, 11_684_671, True, "EIP-8135, mainnet block 24,179,383"),
    )
)


class ExcessBranches(NamedTuple):
    """Next excess blob gas under each branch of EIP-7918 [gas]; both values are 0 if excess + used is below target."""

    classic: Any  #: excess + used − target
    reserve: Any  #: excess + used · (maximum − target) // maximum, for blobs below their reserve price


@formula
def next_base_fee(
    base_fee: BaseFee,
    gas_used: GasUsed,
    gas_limit: GasLimit,
    *,
    elasticity: Divisor = ELASTICITY,
    denominator: Divisor = BASE_FEE_CHANGE_DENOMINATOR,
) -> BaseFee:
    """Base fee of the next block (EIP-1559).

    With target = gas_limit // elasticity, the fee changes by base_fee · |gas_used − target| // target // denominator.
    If the fee increases, it increases by at least 1 wei. The gas limit must be at least the elasticity, and the gas
    used at most the gas limit.

    The gas used is a tenth above the target, so the base fee rises by a tenth of an eighth, which is 1.25 %:

    >>> next_base_fee(1_000_000_000, 11_000_000, 20_000_000)
    1012500000
    """
    target = gas_limit // elasticity
    reason = "expected at least the elasticity, so that the gas target is at least 1"
    require("gas_limit", reason, gas_limit, target > 0)
    require("gas_used", "expected at most the gas limit", gas_used, gas_used <= gas_limit)
    return moved_base_fee.core(base_fee, gas_used, target, target, denominator)


@formula
def moved_base_fee(
    base_fee: BaseFee, gas_used: GasUsed, target: GasLimit, compared_target: Gas, denominator: Divisor
) -> BaseFee:
    """Return `next_base_fee` for a given gas target.

    `compared_target` is the target with which the gas used is compared; it equals `target` except for EIP-4396.

    >>> moved_base_fee(1_000_000_000, 11_000_000, 10_000_000, 10_000_000, 8)
    1012500000
    """
    distance = maximum(gas_used - compared_target, compared_target - gas_used)
    step = base_fee * distance // target // denominator
    risen = base_fee + maximum(step, 1)
    return where(gas_used > compared_target, risen, where(gas_used < compared_target, base_fee - step, base_fee))


def base_fee_bound(
    base_fee: int, blocks: int, *, gas_limit: int, elasticity: int, denominator: int, min_base_fee: int = 0
) -> list[int]:
    """Return the largest possible base fees after 1, 2, …, `blocks` blocks, which are those after full blocks.

    On Ethereum, each full block raises the base fee by an eighth:

    >>> base_fee_bound(10**9, 3, gas_limit=30_000_000, elasticity=2, denominator=8)
    [1125000000, 1265625000, 1423828125]
    """
    target, fees = gas_limit // elasticity, [base_fee]
    for _ in range(blocks):
        fee = moved_base_fee.core(fees[-1], gas_limit, target, target, denominator)
        fees.append(max(fee, min_base_fee))
    return fees[1:]


@checked
def blob_update_fraction(maximum: Blobs) -> int:
    """Return the update fraction for a maximum number of blobs per block: maximum · 131,072 / (2 · ln 1.125), rounded.

    A block full of blobs then raises the blob base fee by at most 12.5 % if the target is two thirds of the maximum.
    The formula gives the published update fractions for maximums of 6, 9, 15 and 21 blobs.

    Source: EIP-7691, EIP-8134, EIP-8135; the draft EIP-8138 uses the same formula.

    >>> [blob_update_fraction(maximum) for maximum in (6, 9, 15, 21, 32)]
    [3338477, 5007716, 8346193, 11684671, 17805213]
    """
    return round(maximum * GAS_PER_BLOB / (2 * math.log(1.125)))


@formula
def fake_exponential(factor: WholeNumber, numerator: WholeNumber, denominator: Divisor) -> WholeNumber:
    """Approximate `factor · e**(numerator / denominator)` by the integer Taylor series of EIP-4844.

    The terms are t₀ = factor · denominator and tᵢ = tᵢ₋₁ · numerator // (denominator · i), up to the first term that is
    0. The result is (t₀ + t₁ + …) // denominator. The numerator must be at most 178 · denominator, because a larger
    result does not fit 256 bits.

    The result approximates 1 · e**(5 / 2) = 12.18. The terms of the series are 2 + 5 + 6 + 5 + 3 + 1 = 22, and 22 // 2
    is 11:

    >>> fake_exponential(1, 5, 2)
    11
    """
    reason = f"expected at most {LARGEST_EXPONENT} · denominator, the maximum in a block header"
    require("numerator", reason, numerator, numerator <= LARGEST_EXPONENT * denominator)
    term, total, i = factor * denominator, 0, 1
    while some(term):
        total += term
        term = term * numerator // (denominator * i)
        i += 1
    return total // denominator


@checked
def excess_behind(blob_base_fee: BlobBaseFee, update_fraction: UpdateFraction = MAINNET.rows[0].update_fraction) -> int:
    """Return the minimum excess blob gas at which the blob base fee is at least a given fee.

    >>> excess_behind(2), excess_behind(1)
    (2314058, 0)
    """
    low, high = 0, LARGEST_EXPONENT * update_fraction
    reason = "expected at most the largest price that a block header can have"
    largest = fake_exponential.core(MIN_BLOB_BASE_FEE, high, update_fraction)
    require("blob_base_fee", reason, blob_base_fee, blob_base_fee <= largest)
    while low < high:
        middle = (low + high) // 2
        enough = fake_exponential.core(MIN_BLOB_BASE_FEE, middle, update_fraction) >= blob_base_fee
        low, high = (low, middle) if enough else (middle + 1, high)
    return low


@formula
def blob_base_fee(excess: ExcessBlobGas, timestamp: Timestamp, schedule: Schedule = MAINNET) -> BlobBaseFee:
    """Price of blob gas in a block: `fake_exponential(1, excess, update_fraction)`, so at least 1 wei.

    The excess blob gas is that of the block's own header. The time must not be before the first row of the schedule.

    e**(2,314,058 / 3,338,477) is just above 2:

    >>> blob_base_fee(2_314_058, 1_710_338_135)
    2
    """
    return fake_exponential.core(MIN_BLOB_BASE_FEE, excess, schedule.parameters(timestamp).update_fraction)


@formula
def next_excess_blob_gas(
    excess: ExcessBlobGas, used: BlobGasUsed, base_fee: BaseFee, timestamp: Timestamp, schedule: Schedule = MAINNET
) -> ExcessBlobGas:
    """Excess blob gas of a block, computed from its parent (EIP-4844; EIP-7918 if the rules have a reserve).

    Excess, blob gas used and base fee are the parent's. `timestamp` is the time of the child block: its rules apply,
    even if an upgrade came after the parent block.

    Four blobs at a target of three add the gas of one blob to the excess blob gas:

    >>> next_excess_blob_gas(0, 4 * 131_072, 10**9, 1_710_338_135)
    131072
    """
    branches = excess_branches.core(excess, used, timestamp, schedule)
    binds = reserve_binds.core(excess, base_fee, timestamp, schedule)
    return where(binds, branches.reserve, branches.classic)


@formula
def excess_branches(
    excess: ExcessBlobGas, used: BlobGasUsed, timestamp: Timestamp, schedule: Schedule = MAINNET
) -> ExcessBranches:
    """Next excess blob gas under each of the two branches of EIP-7918, see `next_excess_blob_gas`.

    With a target of 6 blobs and a maximum of 9, the reserve branch adds (9 − 6) / 9 of the blob gas used:

    >>> excess_branches(3_000_000, 9 * 131_072, 1_764_798_551)
    ExcessBranches(classic=3393216, reserve=3393216)
    >>> excess_branches(3_000_000, 6 * 131_072, 1_764_798_551)
    ExcessBranches(classic=3000000, reserve=3262144)
    """
    target, most, _, _ = schedule.parameters(timestamp)
    below = excess + used < target
    classic = where(below, 0, excess + used - target)
    return ExcessBranches(classic, where(below, 0, excess + used * (most - target) // most))


@formula
def reserve_binds(
    excess: ExcessBlobGas, base_fee: BaseFee, timestamp: Timestamp, schedule: Schedule = MAINNET
) -> Truth:
    """Return whether a blob costs less than its reserve price: 8,192 · base_fee > 131,072 · blob_base_fee (EIP-7918).

    The parameters are those of `next_excess_blob_gas`. The result is `False` if the blob rules have no reserve price.

    At a blob base fee of 1 wei, a blob costs less than its reserve price if the base fee is above 131,072 / 8,192 = 16
    wei:

    >>> reserve_binds(0, 17, 1_764_798_551), reserve_binds(0, 16, 1_764_798_551), reserve_binds(0, 17, 1_764_798_550)
    (True, False, False)
    """
    _, _, fraction, reserve = schedule.parameters(timestamp)
    price = fake_exponential.core(MIN_BLOB_BASE_FEE, where(reserve, excess, 0), fraction)
    return (BLOB_BASE_COST * base_fee > GAS_PER_BLOB * price) & reserve


@formula
def calldata_gas(zero_bytes: ZeroBytes, nonzero_bytes: NonzeroBytes) -> Gas:
    """Gas of calldata on L1: 4 for a zero byte, 16 for any other byte (EIP-2028).

    The gas is 3 zero bytes · 4 + 2 other bytes · 16 = 44:

    >>> calldata_gas(3, 2)
    44
    """
    return ZERO_BYTE_GAS * zero_bytes + NONZERO_BYTE_GAS * nonzero_bytes


@formula
def calldata_floor_gas(
    zero_bytes: ZeroBytes, nonzero_bytes: NonzeroBytes, *, gas_per_token: Gas = FLOOR_GAS_PER_TOKEN
) -> Gas:
    """Minimum gas of a transaction with given calldata: 21,000 + gas_per_token · (zero + 4 · nonzero) (EIP-7623).

    A zero byte is one token, any other byte is four. The minimum is 21,000 + 10 · (50 + 4 · 50) = 23,500 gas:

    >>> calldata_floor_gas(50, 50)
    23500
    """
    return TRANSACTION_GAS + gas_per_token * (zero_bytes + TOKENS_OF_NONZERO_BYTE * nonzero_bytes)
