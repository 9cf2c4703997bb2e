"""L1 fees that rollups pay: base fee, blob base fee and calldata gas.

Each upgrade of the blob rules is a dated row of `MAINNET`. `MAINNET.with_row(...)` makes a schedule with one more row.
Arithmetic uses integers, as in the nodes: Python ints of any size for scalars, int64 for arrays.

Sources: EIP-1559, EIP-4844, EIP-7623, EIP-7691, EIP-7892, EIP-7918 (ethereum/EIPs at f767a1e, 2026-08-22);
ethereum/go-ethereum at 02b73d4 (2026-08-20): consensus/misc/eip1559, consensus/misc/eip4844, params/config.go.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, overload

import numpy as np

from feemodel._records import compared_by_value
from feemodel.checks import (
    INT64_MAX,
    UINT64_MAX,
    ArrayLike,
    Numbers,
    Part,
    Truths,
    WholeArray,
    Wholes,
    flag,
    instance,
    raise_first,
    sequence,
    text,
    whole,
    whole_scalar,
)
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.formula import formula
from feemodel.integers import (
    Truth,
    Whole,
    add,
    divided_product,
    fitting,
    maximum,
    multiply,
    multiply_divide,
    require,
    where,
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

LARGEST_EXPONENT = 178  # e**178 > 2**256: the fee would not fit a block header
ARRAY_BLOCK = 1 << 15  # elements per block

# Target and maximum blob gas of a block, update fraction, and whether the reserve price of EIP-7918 applies.
BlobParameters: TypeAlias = tuple[Whole, Whole, Whole, Truth]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobRules:
    """The blob parameters of one upgrade."""

    name: str
    timestamp: int  #: activation time of the upgrade, at most the time of its first block [s]
    target: int  #: number of blobs in a block at which the blob base fee does not change
    maximum: int  #: maximum number of blobs in a block
    update_fraction: int  #: increase of excess blob gas that multiplies the fee by e [gas]
    reserve: bool  #: whether EIP-7918 keeps the blob fee from falling far below the execution fee
    source: str

    def __post_init__(self) -> None:
        text("name", self.name)
        flag("reserve", self.reserve)
        for field in ("timestamp", "target", "maximum", "update_fraction"):
            whole_scalar(field, getattr(self, field), minimum=0 if field == "timestamp" else 1)
        if self.maximum < self.target:
            raise InvalidInput("maximum", f"expected at least the target of {self.target} blobs", self.maximum)


@dataclass(frozen=True, slots=True, repr=False)
class Schedule:
    """The blob rules of a chain, in order of time."""

    rows: tuple[BlobRules, ...]

    def __post_init__(self) -> None:
        if not sequence("rows", self.rows):
            raise InvalidInput("rows", "expected at least one row of blob rules", self.rows)
        for row in self.rows:
            instance("rows", row, BlobRules)
        starts = [row.timestamp for row in self.rows]
        for i in range(1, len(starts)):
            if starts[i] <= starts[i - 1]:
                raise InvalidInput("rows", f"expected increasing timestamps, above {starts[i - 1]:,}", starts[i], (i,))

    def __repr__(self) -> str:  # short, because `help` shows the text in the signatures of functions
        return f"Schedule({', '.join(row.name for row in self.rows)})"

    def at(self, timestamp: int) -> BlobRules:
        """Return the rules at a time [s].

        >>> MAINNET.at(1_746_612_310).name, MAINNET.at(1_746_612_311).name
        ('Cancun', 'Prague')
        """
        return self.rows[int(self.indices(timestamp))]

    def with_row(self, row: BlobRules) -> "Schedule":
        """Return a new schedule with one more row, in order of time.

        >>> from dataclasses import replace
        >>> later = replace(MAINNET.rows[-1], name="BPO3", timestamp=1_800_000_000, target=21, maximum=32)
        >>> MAINNET.with_row(later).at(1_800_000_000).target, len(MAINNET.rows)
        (21, 5)
        """
        return Schedule(tuple(sorted((*self.rows, row), key=lambda other: other.timestamp)))

    def indices(self, timestamp: ArrayLike) -> Whole:
        """Return the index of the row in force at each time [s]; raises `InvalidInput` before the first row."""
        time = whole("timestamp", timestamp, unit="seconds")
        starts = [row.timestamp for row in self.rows]
        reason = f"expected at least {starts[0]:,}, the start of {self.rows[0].name}, before which there were no blobs"
        if isinstance(time, int):
            if time < starts[0]:
                raise InvalidInput("timestamp", reason, time)
            return bisect_right(starts, time) - 1
        if time.size and time.min() < starts[0]:
            raise_first("timestamp", reason, time, time < starts[0])
        return np.searchsorted(starts, time, side="right") - 1

    def parameters(self, timestamp: ArrayLike) -> BlobParameters:
        """Return target gas, maximum gas, update fraction and reserve at each time [s], in the shape of `timestamp`."""
        index = self.indices(timestamp)
        table = [(r.target * GAS_PER_BLOB, r.maximum * GAS_PER_BLOB, r.update_fraction, r.reserve) for r in self.rows]
        if isinstance(index, int):
            return table[index]
        target, highest, fraction, reserve = (np.array(column)[index] for column in zip(*table, strict=True))
        return target, highest, fraction, reserve


MAINNET = Schedule(
    (
        BlobRules(
            name="Cancun", timestamp=1_710_338_135, target=3, maximum=6, update_fraction=3_338_477, reserve=False,
            source="EIP-4844, mainnet block 19,426,587",
        ),
        BlobRules(
            name="Prague", timestamp=1_746_612_311, target=6, maximum=9, update_fraction=5_007_716, reserve=False,
            source="EIP-7691, mainnet block 22,431,084",
        ),
        BlobRules(
            name="Osaka", timestamp=1_764_798_551, target=6, maximum=9, update_fraction=5_007_716, reserve=True,
            source="EIP-7918, mainnet block 23,935,694",
        ),
        BlobRules(
            name="BPO1", timestamp=1_765_290_071, target=10, maximum=15, update_fraction=8_346_193, reserve=True,
            source="EIP-7892 and EIP-8134, mainnet block 23,975,778",
        ),
        BlobRules(
            name="BPO2", timestamp=1_767_747_671, target=14, maximum=21, update_fraction=11_684_671, reserve=True,
            source="EIP-8135, mainnet block 24,179,383",
        ),
    )
)  # fmt: skip


@compared_by_value
class ExcessBranches(NamedTuple, Generic[Part]):
    """Next excess blob gas under each branch of EIP-7918 [gas]; both values are 0 if excess + used is below target."""

    classic: Part  #: excess + used − target
    reserve: Part  #: excess + used · (maximum − target) // maximum, for blobs below their reserve price


@overload
def next_base_fee(
    base_fee: int, gas_used: int, gas_limit: int, *, elasticity: int = ..., denominator: int = ...
) -> int: ...
@overload
def next_base_fee(
    base_fee: Numbers[Wholes], gas_used: Numbers[Wholes], gas_limit: Numbers[Wholes], *,
    elasticity: Numbers[Wholes] = ..., denominator: Numbers[Wholes] = ...
) -> Wholes: ...  # fmt: skip
@formula
def next_base_fee(
    base_fee: ArrayLike,
    gas_used: ArrayLike,
    gas_limit: ArrayLike,
    *,
    elasticity: ArrayLike = ELASTICITY,
    denominator: ArrayLike = BASE_FEE_CHANGE_DENOMINATOR,
) -> Whole:
    """Base fee of the next block (EIP-1559).

    With target = gas_limit // elasticity, the fee changes by base_fee · |gas_used − target| // target // denominator.
    If the fee increases, it increases by at least 1 wei.

    Parameters
    ----------
    base_fee : base fee of the current block [wei / gas].
    gas_used, gas_limit : gas used and gas limit of the current block [gas].
    elasticity, denominator : parameters of the chain, at least 1 [1]; the defaults are Ethereum's.

    All parameters broadcast against each other.

    Returns
    -------
    int for scalars, an int64 array otherwise [wei / gas].

    Raises
    ------
    InvalidInput : a gas limit below the elasticity, gas used above the limit, or a value that is negative or not an
        integer.
    Int64Overflow : a base fee that does not fit an int64 array.

    The gas used is a tenth above the target, so the base fee rises by a tenth of an eighth, which is 1.25 %:

    >>> next_base_fee(1_000_000_000, 11_000_000, 20_000_000)
    1012500000
    """
    fee = whole("base_fee", base_fee, unit="wei")
    used = whole("gas_used", gas_used, unit="gas")
    limit = whole("gas_limit", gas_limit, minimum=1, unit="gas")
    target: Whole = limit // whole("elasticity", elasticity, minimum=1)
    require("gas_limit", "expected at least the elasticity, so that the gas target is at least 1", limit, target > 0)
    require("gas_used", "expected at most the gas limit", used, used <= limit)
    return moved_base_fee(fee, used, target, target, whole("denominator", denominator, minimum=1))


def moved_base_fee(
    base_fee: Whole, gas_used: Whole, target: Whole, compared_target: Whole, denominator: Whole
) -> Whole:
    """Return `next_base_fee` for a given gas target; arguments are not checked.

    Parameters
    ----------
    base_fee : base fee of this block [wei / gas].
    gas_used : gas used by this block [gas].
    target : gas target by which the change of the base fee is divided, at least 1 [gas].
    compared_target : gas target with which the gas used is compared; equal to `target` except for EIP-4396 [gas].
    denominator : base fee change denominator of EIP-1559, a parameter of the chain, at least 1 [1].

    Returns
    -------
    int for scalars, an int64 array otherwise [wei / gas].

    Raises
    ------
    Int64Overflow : a base fee that does not fit an int64 array.

    >>> moved_base_fee(1_000_000_000, 11_000_000, 10_000_000, 10_000_000, 8)
    1012500000
    """
    distance = maximum(gas_used - compared_target, compared_target - gas_used)
    step = multiply_divide("base_fee", base_fee, distance, target) // denominator
    risen = add("base_fee", base_fee, where(gas_used > compared_target, maximum(step, 1), 0))
    return where(gas_used < compared_target, base_fee - step, risen)


def blob_update_fraction(maximum: int) -> int:
    """Update fraction for a maximum number of blobs per block: maximum · 131,072 / (2 · ln 1.125), rounded.

    With the returned update fraction, a block full of blobs raises the blob base fee by at most 12.5 % if the target is
    two thirds of the maximum. The formula gives the published update fractions for maximums of 6, 9, 15 and 21 blobs.

    Parameters
    ----------
    maximum : maximum number of blobs in a block, 1 to 2**32.

    Returns
    -------
    int [gas].

    Raises
    ------
    InvalidInput : `maximum` is not an integer from 1 to 2**32.

    Source: EIP-7691, EIP-8134, EIP-8135; the draft EIP-8138 uses the same formula.

    >>> [blob_update_fraction(maximum) for maximum in (6, 9, 15, 21, 32)]
    [3338477, 5007716, 8346193, 11684671, 17805213]
    """
    blobs = whole_scalar("maximum", maximum, minimum=1, maximum=2**32, unit="blobs")
    return round(blobs * GAS_PER_BLOB / (2 * math.log(1.125)))


@overload
def fake_exponential(factor: int, numerator: int, denominator: int) -> int: ...
@overload
def fake_exponential(factor: Numbers[Wholes], numerator: Numbers[Wholes], denominator: Numbers[Wholes]) -> Wholes: ...
@formula
def fake_exponential(factor: ArrayLike, numerator: ArrayLike, denominator: ArrayLike) -> Whole:
    """Approximate `factor · e**(numerator / denominator)` by the integer Taylor series of EIP-4844.

    The terms are t₀ = factor · denominator and tᵢ = tᵢ₋₁ · numerator // (denominator · i), up to the first term that is
    0. The result is (t₀ + t₁ + …) // denominator.

    Parameters
    ----------
    factor, numerator : integers of at least 0; `numerator` in the unit of `denominator`.
    denominator : integer of at least 1.

    All parameters broadcast against each other.

    Returns
    -------
    int for scalars, an int64 array otherwise: the approximation, in the unit of `factor`.

    Raises
    ------
    InvalidInput : a numerator above 178 · denominator, for which the result does not fit 256 bits, or a value that is
        negative or not an integer.
    Int64Overflow : a result that does not fit an int64 array.

    The result approximates 1 · e**(5 / 2) = 12.18. The terms of the series are 2 + 5 + 6 + 5 + 3 + 1 = 22, and 22 // 2
    is 11:

    >>> fake_exponential(1, 5, 2)
    11
    """
    factor_, numerator_ = whole("factor", factor), whole("numerator", numerator)
    return _fake_exponential(factor_, numerator_, whole("denominator", denominator, minimum=1))


def _fake_exponential(factor: Whole, numerator: Whole, denominator: Whole) -> Whole:
    limit = multiply("denominator", LARGEST_EXPONENT, denominator)
    reason = f"expected at most {LARGEST_EXPONENT} · denominator, the maximum in a block header"
    require("numerator", reason, numerator, numerator <= limit)
    if isinstance(factor, int) and isinstance(numerator, int) and isinstance(denominator, int):
        return _taylor(factor, numerator, denominator)
    arguments = (fitting("factor", factor), fitting("numerator", numerator), fitting("denominator", denominator))
    factors, numerators, denominators = np.broadcast_arrays(*arguments)
    values = np.empty(numerators.shape, dtype=np.int64)
    flat = [array.reshape(-1) for array in (factors, numerators, denominators)]
    for start in range(0, values.size, ARRAY_BLOCK):
        block = slice(start, start + ARRAY_BLOCK)
        found, beyond = _taylor_of_arrays(*(array[block] for array in flat))
        if beyond is not None:
            index = tuple(map(int, np.unravel_index(start + beyond, values.shape)))
            reason = "expected a value that fits an int64 array"
            raise Int64Overflow("numerator", reason, int(flat[1][start + beyond]), index)
        values.reshape(-1)[block] = found
    return values


def excess_behind(blob_base_fee: int, update_fraction: int = MAINNET.rows[0].update_fraction) -> int:
    """Minimum excess blob gas at which the blob base fee is at least a given fee, the inverse of `fake_exponential`.

    Parameters
    ----------
    blob_base_fee : price of blob gas [wei / gas].
    update_fraction : update fraction of the blob rules, at least 1 [gas].

    Returns
    -------
    int [gas].

    Raises
    ------
    InvalidInput : a fee above the maximum of a block header, or a value that is negative or not an integer.

    >>> excess_behind(2), excess_behind(1)
    (2314058, 0)
    """
    fee = whole_scalar("blob_base_fee", blob_base_fee, unit="wei")
    fraction = whole_scalar("update_fraction", update_fraction, minimum=1, maximum=UINT64_MAX, unit="gas")
    return _excess_behind(fee, fraction)


def _excess_behind(fee: int, fraction: int) -> int:
    highest = LARGEST_EXPONENT * fraction
    if _taylor(MIN_BLOB_BASE_FEE, highest, fraction) < fee:
        raise InvalidInput("blob_base_fee", "expected at most the largest price that a block header can have", fee)
    # `_taylor` rounds down, so the excess gas is at least fraction · log(fee), and usually slightly more.
    low = high = min(highest, max(0, math.floor(fraction * math.log(max(fee, 1)) * (1 - 1e-12))))
    step = 64
    while _taylor(MIN_BLOB_BASE_FEE, high, fraction) < fee:
        low, high, step = high + 1, min(highest, high + step), 2 * step
    while low < high:
        middle = (low + high) // 2
        enough = _taylor(MIN_BLOB_BASE_FEE, middle, fraction) >= fee
        low, high = (low, middle) if enough else (middle + 1, high)
    return low


@overload
def blob_base_fee(excess: int, timestamp: int, schedule: Schedule = ...) -> int: ...
@overload
def blob_base_fee(excess: Numbers[Wholes], timestamp: Numbers[Wholes], schedule: Schedule = ...) -> Wholes: ...
@formula
def blob_base_fee(excess: ArrayLike, timestamp: ArrayLike, schedule: Schedule = MAINNET) -> Whole:
    """Price of blob gas in a block: `fake_exponential(1, excess, update_fraction)`, so at least 1 wei.

    Parameters
    ----------
    excess : excess blob gas in the block's own header [gas].
    timestamp : time of the block [s].
    schedule : blob rules of the chain.

    Excess and timestamp broadcast against each other.

    Returns
    -------
    int for scalars, an int64 array otherwise [wei / gas].

    Raises
    ------
    InvalidInput : a time before the first row of the schedule, an excess above 178 · update fraction, or a value
        that is negative or not an integer.
    Int64Overflow : a price that does not fit an int64 array.

    e**(2,314,058 / 3,338,477) is just above 2:

    >>> blob_base_fee(2_314_058, 1_710_338_135)
    2
    """
    _, _, fraction, _ = schedule.parameters(timestamp)
    return _fake_exponential(MIN_BLOB_BASE_FEE, whole("excess", excess, unit="gas"), fraction)


@overload
def next_excess_blob_gas(excess: int, used: int, base_fee: int, timestamp: int, schedule: Schedule = ...) -> int: ...
@overload
def next_excess_blob_gas(
    excess: Numbers[Wholes], used: Numbers[Wholes], base_fee: Numbers[Wholes], timestamp: Numbers[Wholes],
    schedule: Schedule = ...
) -> Wholes: ...  # fmt: skip
@formula
def next_excess_blob_gas(
    excess: ArrayLike,
    used: ArrayLike,
    base_fee: ArrayLike,
    timestamp: ArrayLike,
    schedule: Schedule = MAINNET,
) -> Whole:
    """Excess blob gas of a block, computed from its parent (EIP-4844; EIP-7918 if the rules have a reserve).

    Parameters
    ----------
    excess, used : the parent's excess blob gas and blob gas used [gas].
    base_fee : the parent's base fee [wei / gas].
    timestamp : time of the child block [s]. The rules at the time of the child block apply, even if an upgrade came
        after the parent block.
    schedule : blob rules of the chain.

    All parameters but the schedule broadcast against each other.

    Returns
    -------
    int for scalars, an int64 array otherwise [gas].

    Raises
    ------
    InvalidInput : a time before the first row of the schedule, an excess above 178 · update fraction, or a value
        that is negative or not an integer.
    Int64Overflow : a result that does not fit an int64 array.

    Four blobs at a target of three add the gas of one blob to the excess blob gas:

    >>> next_excess_blob_gas(0, 4 * 131_072, 10**9, 1_710_338_135)
    131072
    """
    excess_, used_ = whole("excess", excess, unit="gas"), whole("used", used, unit="gas")
    parameters = schedule.parameters(timestamp)
    branches = _excess_branches(excess_, used_, parameters)
    bound = _reserve_binds(excess_, whole("base_fee", base_fee, unit="wei"), parameters)
    return where(bound, branches.reserve, branches.classic)


@overload
def excess_branches(excess: int, used: int, timestamp: int, schedule: Schedule = ...) -> ExcessBranches[int]: ...
@overload
def excess_branches(
    excess: Numbers[Wholes], used: Numbers[Wholes], timestamp: Numbers[Wholes], schedule: Schedule = ...
) -> ExcessBranches[Wholes]: ...
@formula
def excess_branches(
    excess: ArrayLike, used: ArrayLike, timestamp: ArrayLike, schedule: Schedule = MAINNET
) -> ExcessBranches:
    """Next excess blob gas under each of the two branches of EIP-7918.

    Parameters
    ----------
    excess, used : the parent's excess blob gas and blob gas used [gas].
    timestamp : time of the child block [s]. The rules at the time of the child block apply, even if an upgrade came
        after the parent block.
    schedule : blob rules of the chain.

    All parameters but the schedule broadcast against each other.

    Returns
    -------
    ExcessBranches of ints for scalars, of int64 arrays otherwise [gas].

    Raises
    ------
    InvalidInput : a time before the first row of the schedule, or a value that is negative or not an integer.
    Int64Overflow : a result that does not fit an int64 array.

    With a target of 6 blobs and a maximum of 9, the reserve branch adds (9 − 6) / 9 of the blob gas used:

    >>> excess_branches(3_000_000, 9 * 131_072, 1_764_798_551)
    ExcessBranches(classic=3393216, reserve=3393216)
    >>> excess_branches(3_000_000, 6 * 131_072, 1_764_798_551)
    ExcessBranches(classic=3000000, reserve=3262144)
    """
    excess_, used_ = whole("excess", excess, unit="gas"), whole("used", used, unit="gas")
    return _excess_branches(excess_, used_, schedule.parameters(timestamp))


def _excess_branches(excess: Whole, used: Whole, parameters: BlobParameters) -> ExcessBranches:
    target, highest, _, _ = parameters
    total = add("excess", excess, used)
    reserve = add("excess", excess, multiply_divide("used", used, highest - target, highest))
    return ExcessBranches(maximum(total - target, 0), where(total < target, 0, reserve))


@overload
def reserve_binds(excess: int, base_fee: int, timestamp: int, schedule: Schedule = ...) -> bool: ...
@overload
def reserve_binds(
    excess: Numbers[Truths], base_fee: Numbers[Truths], timestamp: Numbers[Truths], schedule: Schedule = ...
) -> Truths: ...
@formula
def reserve_binds(excess: ArrayLike, base_fee: ArrayLike, timestamp: ArrayLike, schedule: Schedule = MAINNET) -> Truth:
    """Return whether a blob costs less than its reserve price: 8,192 · base_fee > 131,072 · blob_base_fee (EIP-7918).

    Parameters
    ----------
    excess : the parent's excess blob gas [gas].
    base_fee : the parent's base fee [wei / gas].
    timestamp : time of the child block [s]. The rules at the time of the child block apply, even if an upgrade came
        after the parent block.
    schedule : blob rules of the chain.

    All parameters but the schedule broadcast against each other.

    Returns
    -------
    bool for scalars, a bool array otherwise; `False` if the blob rules have no reserve price.

    Raises
    ------
    InvalidInput : a time before the first row of the schedule, an excess above 178 · update fraction, or a value
        that is negative or not an integer.
    Int64Overflow : a blob base fee that does not fit an int64 array.

    At a blob base fee of 1 wei, a blob costs less than its reserve price if the base fee is above 131,072 / 8,192 = 16
    wei:

    >>> reserve_binds(0, 17, 1_764_798_551), reserve_binds(0, 16, 1_764_798_551), reserve_binds(0, 17, 1_764_798_550)
    (True, False, False)
    """
    excess_, fee = whole("excess", excess, unit="gas"), whole("base_fee", base_fee, unit="wei")
    return _reserve_binds(excess_, fee, schedule.parameters(timestamp))


def _reserve_binds(excess: Whole, base_fee: Whole, parameters: BlobParameters) -> Truth:
    _, _, fraction, reserve = parameters
    if isinstance(excess, int) and isinstance(base_fee, int) and isinstance(reserve, bool):
        reserve_price = BLOB_BASE_COST * base_fee
        return reserve and reserve_price > GAS_PER_BLOB * _fake_exponential(MIN_BLOB_BASE_FEE, excess, fraction)
    excesses, fees, fractions, binds = np.broadcast_arrays(excess, base_fee, fraction, reserve)
    # Broadcast the arguments first, so that an error has the index in the broadcast arrays.
    blob_fees = _fake_exponential(MIN_BLOB_BASE_FEE, np.where(binds, excesses, 0), fractions)
    # Both sides of 2**13 · base_fee > 2**17 · blob_base_fee are divided by 2**13, so that the products stay small.
    return binds & (fees > multiply("blob_base_fee", GAS_PER_BLOB // BLOB_BASE_COST, blob_fees))


@overload
def calldata_gas(zero_bytes: int, nonzero_bytes: int) -> int: ...
@overload
def calldata_gas(zero_bytes: Numbers[Wholes], nonzero_bytes: Numbers[Wholes]) -> Wholes: ...
@formula
def calldata_gas(zero_bytes: ArrayLike, nonzero_bytes: ArrayLike) -> Whole:
    """Gas of calldata on L1: 4 for a zero byte, 16 for any other byte (EIP-2028).

    Parameters
    ----------
    zero_bytes, nonzero_bytes : numbers of zero bytes and of other bytes; they broadcast against each other [byte].

    Returns
    -------
    int for scalars, an int64 array otherwise [gas].

    Raises
    ------
    InvalidInput : a value that is negative or not an integer.
    Int64Overflow : a result that does not fit an int64 array.

    The gas is 3 zero bytes · 4 + 2 other bytes · 16 = 44:

    >>> calldata_gas(3, 2)
    44
    """
    zero, nonzero = whole("zero_bytes", zero_bytes, unit="bytes"), whole("nonzero_bytes", nonzero_bytes, unit="bytes")
    return _calldata_gas(zero, nonzero)


def _calldata_gas(zero_bytes: Whole, nonzero_bytes: Whole) -> Whole:
    zero = multiply("zero_bytes", ZERO_BYTE_GAS, zero_bytes)
    return add("calldata_gas", zero, multiply("nonzero_bytes", NONZERO_BYTE_GAS, nonzero_bytes))


@overload
def calldata_floor_gas(zero_bytes: int, nonzero_bytes: int, *, gas_per_token: int = ...) -> int: ...
@overload
def calldata_floor_gas(
    zero_bytes: Numbers[Wholes], nonzero_bytes: Numbers[Wholes], *, gas_per_token: Numbers[Wholes] = ...
) -> Wholes: ...
@formula
def calldata_floor_gas(
    zero_bytes: ArrayLike, nonzero_bytes: ArrayLike, *, gas_per_token: ArrayLike = FLOOR_GAS_PER_TOKEN
) -> Whole:
    """Minimum gas of a transaction with given calldata: 21,000 + gas_per_token · (zero + 4 · nonzero) (EIP-7623).

    Parameters
    ----------
    zero_bytes, nonzero_bytes : numbers of zero and of non-zero bytes in the calldata [byte].
    gas_per_token : gas of one token [gas]; a zero byte is one token, any other byte is four.

    All parameters broadcast against each other.

    Returns
    -------
    int for scalars, an int64 array otherwise [gas].

    Raises
    ------
    InvalidInput : a value that is negative or not an integer.
    Int64Overflow : a result that does not fit an int64 array.

    The minimum is 21,000 + 10 · (50 + 4 · 50) = 23,500 gas:

    >>> calldata_floor_gas(50, 50)
    23500
    """
    zero, nonzero = whole("zero_bytes", zero_bytes, unit="bytes"), whole("nonzero_bytes", nonzero_bytes, unit="bytes")
    return _calldata_floor_gas(zero, nonzero, whole("gas_per_token", gas_per_token, unit="gas"))


def _calldata_floor_gas(zero_bytes: Whole, nonzero_bytes: Whole, gas_per_token: Whole) -> Whole:
    tokens = add("tokens", zero_bytes, multiply("nonzero_bytes", TOKENS_OF_NONZERO_BYTE, nonzero_bytes))
    return add("calldata_floor_gas", TRANSACTION_GAS, multiply("gas_per_token · tokens", gas_per_token, tokens))


def _taylor(factor: int, numerator: int, denominator: int) -> int:
    term, total, i = factor * denominator, 0, 1
    while term:
        total += term
        term = term * numerator // (denominator * i)
        i += 1
    return total // denominator


def _taylor_of_arrays(
    factor: WholeArray, numerator: WholeArray, denominator: WholeArray
) -> tuple[WholeArray, int | None]:
    """Return the values, and the index of the first value that does not fit int64; the index is `None` if all fit."""
    # With x = numerator / denominator, every term and partial sum is at most factor · denominator · e**x. If factor ·
    # denominator · e**x < 2**61, all terms and sums fit int64. Moreover, x < 61 · ln 2, so there are fewer than 2**10
    # terms, and denominator · i stays below `DIVISOR_LIMIT`.
    bound = factor * np.exp(numerator / denominator) * denominator
    small = (bound < 2.0**61) & (denominator < 2**41)
    values = np.empty(numerator.shape, dtype=np.int64)
    term = factor[small] * denominator[small]
    total, i = np.zeros_like(term), 1
    while term.any():
        total += term
        term = divided_product(term, numerator[small], denominator[small] * i)
        i += 1
    values[small] = total // denominator[small]
    known: dict[tuple[int, int, int], int] = {}
    for index in np.flatnonzero(~small):
        arguments = int(factor[index]), int(numerator[index]), int(denominator[index])
        value = known.get(arguments) or known.setdefault(arguments, _taylor(*arguments))
        if value > INT64_MAX:
            return values, int(index)
        values[index] = value
    return values, None
