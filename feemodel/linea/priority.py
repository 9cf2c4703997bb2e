"""Priority fee per gas that pays for L1, in both published forms, exactly as a node computes it.

Cost-per-byte form, used by nodes since May 2024 (V2 of the sequencer's history):

    fee = trunc( margin · double( (variable_cost · compressed_size) div gas + fixed_cost ) )

Verification-cost form, used by nodes before May 2024 (V1f, the last version before V2):

    fee = max( trunc( (ratio · verification_gas_cost · compressed_size · min_gas_price
                       / (gas · verification_capacity) + adjustment) · margin ),  min_gas_price − base_fee )

`div` is integer division. A node multiplies signed 64-bit integers, and the product may wrap. In this module, a product
that would wrap raises `Int64Overflow`. All operations on doubles are IEEE operations, in the order of the formulas
above.

Source: Consensys/linea-sequencer, TransactionProfitabilityCalculator, commits 4c81fa07 (V0, 2024-01-10),
8c046a76 (V1f, 2024-03-06), 3d56714c (V2, 2024-05-30); Consensys/linea-monorepo at cb180134 (2026-06-12).
"""

from decimal import Decimal, InvalidOperation
from typing import Any, Generic, NamedTuple, TypeAlias, TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

from feemodel._extras import has_numba
from feemodel._records import compared_by_value, printed_as_table
from feemodel.checks import (
    INT64_MAX,
    ArrayLike,
    Numbers,
    Part,
    Reals,
    Truths,
    WholeArray,
    Wholes,
    raise_first,
    real,
    whole,
    whole_scalar,
)
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.formula import compiled, formula
from feemodel.integers import Truth, Whole, add, maximum, multiply, multiply_divide, require
from feemodel.linea.parameters import NODE, VERIFICATION

LARGEST_EXPONENT = 308  # maximum decimal exponent of a multiplier, the same as for doubles
VERSIONS = ("V1e", "V1f")

DOUBLE_EXACT = 2.0**53  # below 2**53, truncating a double and truncating its shortest decimal give the same integer
_SIZE_PRODUCT, _SIZE_SUM = "variable_cost · compressed_size", "size part + fixed_cost"
WOULD_WRAP = "expected at most 2**63 - 1, because larger integers would wrap in a node"
KERNEL_THRESHOLD = 1_000_000  # minimum number of elements for which loading the kernel saves time

Real: TypeAlias = "float | NDArray[np.float64]"


@compared_by_value
@printed_as_table
class Breakdown(NamedTuple, Generic[Part]):
    """The parts of a fee: whole numbers [wei / gas] whose sum is the fee."""

    fixed: Part  #: the fixed cost per gas, which does not depend on the size
    size: Part  #: cost of the compressed bytes
    margin: Part  #: amount that the safety margin adds; negative for a margin below 1
    floor: Part = 0  # type: ignore[assignment]  #: amount that the minimum gas price adds (verification-cost form)

    @property
    def total(self) -> Part:
        """The priority fee per gas [wei / gas]."""
        parts: tuple[Any, ...] = self
        total: Part = sum(parts[1:], parts[0])
        return total


def _priority_fee_kernel() -> Any:
    from feemodel.linea.kernels import sweep_priority_fee

    return sweep_priority_fee


def _verification_kernel() -> Any:
    from feemodel.linea.kernels import sweep_verification_priority_fee

    return sweep_verification_priority_fee


@overload
def priority_fee(
    compressed_size: int, gas: int, *, variable_cost: int, fixed_cost: int = ..., margin: float = ..., out: None = ...
) -> int: ...
@overload
def priority_fee(
    compressed_size: Numbers[Wholes], gas: Numbers[Wholes], *, variable_cost: Numbers[Wholes],
    fixed_cost: Numbers[Wholes] = ..., margin: Numbers[Wholes] = ..., out: WholeArray | None = ...
) -> Wholes: ...  # fmt: skip
@formula
@compiled(_priority_fee_kernel)
def priority_fee(
    compressed_size: ArrayLike,
    gas: ArrayLike,
    *,
    variable_cost: ArrayLike,
    fixed_cost: ArrayLike = 0,
    margin: ArrayLike = 1.0,
    out: WholeArray | None = None,
) -> Whole:
    """Priority fee per gas in the cost-per-byte form.

    Parameters
    ----------
    compressed_size : measured size of the transaction [byte].
    gas : gas over which the fee is spread (estimated, limit or used), at least 1 [gas].
    variable_cost : cost of one compressed byte [wei / byte].
    fixed_cost : cost of every unit of gas [wei / gas].
    margin : safety factor, a double [1].
    out : int64 array with the shape of the result, to which the fees are written; `None` for a new array.

    All parameters broadcast against each other.

    Returns
    -------
    int for scalars, an int64 array otherwise [wei / gas].

    Raises
    ------
    InvalidInput : zero gas, a negative or non-finite value, or a float where an integer is required.
    Int64Overflow : variable_cost · compressed_size would wrap in a node, or the fee does not fit an int64 array.

    A plain transfer on Linea mainnet in January 2026: 1e9 · 128 div 21,000 = 6,095,238, and
    1.2 · (6,095,238 + 30,000,000) = 43,314,285.6:

    >>> priority_fee(128, 21_000, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2)
    43314285
    """
    cost = whole("variable_cost", variable_cost, unit="wei")
    fixed = whole("fixed_cost", fixed_cost, unit="wei")
    factor = real("margin", margin)
    if out is not None:
        _check_out(out, compressed_size, gas, cost, fixed, factor)
    return _priority_fee(compressed_size, gas, cost, fixed, factor, out)


def _priority_fee(
    compressed_size: ArrayLike, gas: ArrayLike, cost: Whole, fixed: Whole, factor: Real, out: WholeArray | None = None
) -> Whole:
    """Return the priority fee. Check the size and the gas; the caller has checked the other arguments."""
    if (
        _many(compressed_size)
        and _many(gas)
        and compressed_size.shape == gas.shape
        and isinstance(cost, int)
        and isinstance(fixed, int)
        and isinstance(factor, float)
        and has_numba()
    ):
        from feemodel.linea import kernels

        # The kernel must not overwrite its inputs, because the formula reads the inputs again if the kernel fails.
        apart = out is not None and not any(np.may_share_memory(out, read) for read in (compressed_size, gas))
        direct = out if apart and out is not None and out.flags.c_contiguous else None
        fees = kernels.priority_fee(compressed_size, gas, cost, fixed, factor, direct)
        if fees is not None:
            return fees if out is None or out is direct else _written(fees, out)
        # An element is outside the kernel's range. The slower formula below computes all fees, or raises an error if an
        # element is not valid.
    size, gas_ = whole("compressed_size", compressed_size, unit="bytes"), whole("gas", gas, minimum=1, unit="gas")
    _, fee = cost_per_byte(size, gas_, cost, fixed, factor)
    return fee if out is None else _written(fee, out)


@overload
def breakdown(
    compressed_size: int, gas: int, *, variable_cost: int, fixed_cost: int = ..., margin: float = ...
) -> Breakdown[int]: ...
@overload
def breakdown(
    compressed_size: Numbers[Wholes], gas: Numbers[Wholes], *, variable_cost: Numbers[Wholes],
    fixed_cost: Numbers[Wholes] = ..., margin: Numbers[Wholes] = ...
) -> Breakdown[Wholes]: ...  # fmt: skip
@formula
def breakdown(
    compressed_size: ArrayLike,
    gas: ArrayLike,
    *,
    variable_cost: ArrayLike,
    fixed_cost: ArrayLike = 0,
    margin: ArrayLike = 1.0,
) -> Breakdown:
    """Parts of the priority fee per gas in the cost-per-byte form.

    Parameters
    ----------
    compressed_size : measured size of the transaction [byte].
    gas : gas over which the fee is spread (estimated, limit or used), at least 1 [gas].
    variable_cost : cost of one compressed byte [wei / byte].
    fixed_cost : cost of every unit of gas [wei / gas].
    margin : safety factor, a double [1].

    All parameters broadcast against each other.

    Returns
    -------
    Breakdown of ints for scalars, of int64 arrays otherwise [wei / gas]; `total` is the fee.

    Raises
    ------
    InvalidInput : zero gas, a negative or non-finite value, or a float where an integer is required.
    Int64Overflow : variable_cost · compressed_size would wrap in a node, or the fee does not fit an int64 array.

    1.2 · (30,000,000 + 6,095,238) is 43,314,285, of which the margin is 7,219,047:

    >>> breakdown(128, 21_000, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2)
    Breakdown(fixed=30000000, size=6095238, margin=7219047, floor=0)
    """
    fixed = whole("fixed_cost", fixed_cost, unit="wei")
    size, gas_ = whole("compressed_size", compressed_size, unit="bytes"), whole("gas", gas, minimum=1, unit="gas")
    cost = whole("variable_cost", variable_cost, unit="wei")
    before_margin, fee = cost_per_byte(size, gas_, cost, fixed, real("margin", margin))
    return Breakdown(fixed=fixed, size=before_margin - fixed, margin=fee - before_margin)


def cost_per_byte(size: Whole, gas: Whole, cost: Whole, fixed: Whole, margin: Real) -> tuple[Whole, Whole]:
    """Return the cost-per-byte fee before and after its margin [wei / gas]; the parameters are not checked.

    Parameters
    ----------
    size : measured size of the transaction, int or int64 array [byte].
    gas : gas over which the fee is spread, int or int64 array [gas].
    cost : cost of one compressed byte, int or int64 array [wei / byte].
    fixed : cost of every unit of gas, int or int64 array [wei / gas].
    margin : safety factor, float or float64 array [1].

    Raises
    ------
    InvalidInput : a fee that is not finite.
    Int64Overflow : a product or sum that would wrap in a node.

    >>> cost_per_byte(128, 21_000, 1_000_000_000, 30_000_000, 1.2)
    (36095238, 43314285)
    """
    if isinstance(size, int) and isinstance(gas, int) and isinstance(cost, int) and isinstance(fixed, int):
        product = cost * size
        if product > INT64_MAX:
            raise Int64Overflow(_SIZE_PRODUCT, WOULD_WRAP, product)
        before_margin: Whole = product // gas + fixed
        if isinstance(before_margin, int) and before_margin > INT64_MAX:
            raise Int64Overflow(_SIZE_SUM, WOULD_WRAP, before_margin)
    else:
        size_part = multiply(_SIZE_PRODUCT, cost, size, reason=WOULD_WRAP) // gas
        before_margin = add(_SIZE_SUM, size_part, fixed, reason=WOULD_WRAP)
    as_double = before_margin.astype(np.float64) if isinstance(before_margin, np.ndarray) else float(before_margin)
    return before_margin, _truncate(margin * as_double)


@overload
def profitable(
    price: int, compressed_size: int, gas: int, *, variable_cost: int, fixed_cost: int = ..., margin: float = ...,
    base_fee: int = ...
) -> bool: ...  # fmt: skip
@overload
def profitable(
    price: Numbers[Truths], compressed_size: Numbers[Truths], gas: Numbers[Truths], *, variable_cost: Numbers[Truths],
    fixed_cost: Numbers[Truths] = ..., margin: Numbers[Truths] = ..., base_fee: Numbers[Truths] = ...
) -> Truths: ...  # fmt: skip
@formula
def profitable(
    price: ArrayLike,
    compressed_size: ArrayLike,
    gas: ArrayLike,
    *,
    variable_cost: ArrayLike,
    fixed_cost: ArrayLike = 0,
    margin: ArrayLike = 1.0,
    base_fee: ArrayLike = NODE.base_fee,
) -> Truth:
    """Return whether a price per gas pays the base fee and the priority fee: `price ≥ base_fee + priority_fee(…)`.

    For the gas, the margin and the price that a node uses in each check, see `feemodel.linea._node`.

    Parameters
    ----------
    price : total price that the transaction offers [wei / gas].
    compressed_size : measured size of the transaction [byte].
    gas : gas over which the fee is spread (estimated, limit or used), at least 1 [gas].
    variable_cost : cost of one compressed byte [wei / byte].
    fixed_cost : cost of every unit of gas [wei / gas].
    margin : safety factor, a double [1].
    base_fee : base fee of the block [wei / gas].

    All parameters broadcast against each other.

    Returns
    -------
    bool for scalars, a bool array otherwise.

    Raises
    ------
    InvalidInput : zero gas, a negative or non-finite value, or a float where an integer is required.
    Int64Overflow : variable_cost · compressed_size would wrap in a node, or the fee does not fit an int64 array.

    >>> profitable(43_314_292, 128, 21_000, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2)
    True
    >>> profitable(43_314_291, 128, 21_000, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2)
    False
    """
    fee = priority_fee(compressed_size, gas, variable_cost=variable_cost, fixed_cost=fixed_cost, margin=margin)
    # The sum of base fee and fee could overflow 64 bits, so the base fee is subtracted from the price.
    return whole("price", price, unit="wei") - whole("base_fee", base_fee, unit="wei") >= fee


@overload
def verification_priority_fee(
    compressed_size: int, gas: int, *, min_gas_price: int, base_fee: int = ..., verification_gas_cost: int = ...,
    verification_capacity: int = ..., gas_price_ratio: float = ..., margin: float = ..., adjustment: int = ...,
    version: str = ...
) -> int: ...  # fmt: skip
@overload
def verification_priority_fee(
    compressed_size: Numbers[Wholes], gas: Numbers[Wholes], *, min_gas_price: Numbers[Wholes],
    base_fee: Numbers[Wholes] = ..., verification_gas_cost: Numbers[Wholes] = ...,
    verification_capacity: Numbers[Wholes] = ..., gas_price_ratio: Numbers[Wholes] = ...,
    margin: Numbers[Wholes] = ..., adjustment: Numbers[Wholes] = ..., version: str = ...
) -> Wholes: ...  # fmt: skip
@formula
@compiled(_verification_kernel)
def verification_priority_fee(
    compressed_size: ArrayLike,
    gas: ArrayLike,
    *,
    min_gas_price: ArrayLike,
    base_fee: ArrayLike = NODE.base_fee,
    verification_gas_cost: ArrayLike = VERIFICATION.gas_cost,
    verification_capacity: ArrayLike = VERIFICATION.capacity,
    gas_price_ratio: ArrayLike = VERIFICATION.gas_price_ratio,
    margin: ArrayLike = 1.0,
    adjustment: ArrayLike = 0,
    version: str = "V1f",
    out: WholeArray | None = None,
) -> Whole:
    """Priority fee per gas in the verification-cost form.

    Parameters
    ----------
    compressed_size : measured size of the transaction [byte].
    gas : gas over which the fee is spread, at least 1 [gas].
    min_gas_price : minimum L2 gas price, at least `base_fee` [wei / gas].
    base_fee : base fee of the L2 block [wei / gas].
    verification_gas_cost : L1 gas for the verification of one submission [gas].
    verification_capacity : bytes that one submission verifies, at least 1 [byte].
    gas_price_ratio : L1 gas price / L2 gas price, a double [1].
    margin : safety factor, a double [1].
    adjustment : amount added before the margin in "V1f", after truncation in "V1e" [wei / gas].
    version : "V1f" (last published) or "V1e". For V0, the first version, see `verification_margin`.
    out : int64 array with the shape of the result, to which the fees are written; `None` for a new array.

    All parameters except `version` broadcast against each other.

    Returns
    -------
    int for scalars, an int64 array otherwise [wei / gas].

    Raises
    ------
    InvalidInput : zero gas or capacity, a negative or non-finite value, a float where an integer is required, an
        unknown version, or `min_gas_price` below `base_fee`.
    Int64Overflow : gas · verification_capacity would wrap in a node, or the fee does not fit an int64 array.

    Without the margin, the fee is 15 · 1,200,000 · 128 · 1e8 / (21,000 · 90,000) = 121,904,761.9. With the margin, the
    fee is 1.2 · 121,904,761.9 = 146,285,714.3:

    >>> verification_priority_fee(128, 21_000, min_gas_price=100_000_000, margin=1.2)
    146285714
    """
    found: Breakdown = verification_breakdown(
        compressed_size,
        gas,
        min_gas_price=min_gas_price,
        base_fee=base_fee,
        verification_gas_cost=verification_gas_cost,
        verification_capacity=verification_capacity,
        gas_price_ratio=gas_price_ratio,
        margin=margin,
        adjustment=adjustment,
        version=version,
    )
    return found.total if out is None else _written(found.total, out)


@overload
def verification_breakdown(
    compressed_size: int, gas: int, *, min_gas_price: int, base_fee: int = ..., verification_gas_cost: int = ...,
    verification_capacity: int = ..., gas_price_ratio: float = ..., margin: float = ..., adjustment: int = ...,
    version: str = ...
) -> Breakdown[int]: ...  # fmt: skip
@overload
def verification_breakdown(
    compressed_size: Numbers[Wholes], gas: Numbers[Wholes], *, min_gas_price: Numbers[Wholes],
    base_fee: Numbers[Wholes] = ..., verification_gas_cost: Numbers[Wholes] = ...,
    verification_capacity: Numbers[Wholes] = ..., gas_price_ratio: Numbers[Wholes] = ...,
    margin: Numbers[Wholes] = ..., adjustment: Numbers[Wholes] = ..., version: str = ...
) -> Breakdown[Wholes]: ...  # fmt: skip
@formula
def verification_breakdown(
    compressed_size: ArrayLike,
    gas: ArrayLike,
    *,
    min_gas_price: ArrayLike,
    base_fee: ArrayLike = NODE.base_fee,
    verification_gas_cost: ArrayLike = VERIFICATION.gas_cost,
    verification_capacity: ArrayLike = VERIFICATION.capacity,
    gas_price_ratio: ArrayLike = VERIFICATION.gas_price_ratio,
    margin: ArrayLike = 1.0,
    adjustment: ArrayLike = 0,
    version: str = "V1f",
) -> Breakdown:
    """Parts of the priority fee per gas in the verification-cost form.

    Parameters
    ----------
    compressed_size : measured size of the transaction [byte].
    gas : gas over which the fee is spread, at least 1 [gas].
    min_gas_price : minimum L2 gas price, at least `base_fee` [wei / gas].
    base_fee : base fee of the L2 block [wei / gas].
    verification_gas_cost : L1 gas for the verification of one submission [gas].
    verification_capacity : bytes that one submission verifies, at least 1 [byte].
    gas_price_ratio : L1 gas price / L2 gas price, a double [1].
    margin : safety factor, a double [1].
    adjustment : amount added before the margin in "V1f", after truncation in "V1e" [wei / gas].
    version : "V1f" (last published) or "V1e". For V0, the first version, see `verification_margin`.

    All parameters except `version` broadcast against each other.

    Returns
    -------
    Breakdown of ints for scalars, of int64 arrays otherwise [wei / gas]; `total` is the fee.

    Raises
    ------
    InvalidInput : zero gas or capacity, a negative or non-finite value, a float where an integer is required, an
        unknown version, or `min_gas_price` below `base_fee`.
    Int64Overflow : gas · verification_capacity would wrap in a node, or the fee does not fit an int64 array.

    15 · 1,200,000 · 128 · 1e8 / (21,000 · 90,000) = 121,904,761.9; the margin adds a fifth:

    >>> verification_breakdown(128, 21_000, min_gas_price=100_000_000, margin=1.2)
    Breakdown(fixed=0, size=121904761, margin=24380953, floor=0)
    """
    if version not in VERSIONS:
        raise InvalidInput("version", f"expected one of {', '.join(VERSIONS)} (V0 is verification_margin)", version)
    size = whole("compressed_size", compressed_size, unit="bytes")
    gas_ = whole("gas", gas, minimum=1, unit="gas")
    min_price = whole("min_gas_price", min_gas_price, unit="wei")
    capacity = whole("verification_capacity", verification_capacity, minimum=1, unit="bytes")
    l1_gas = whole("verification_gas_cost", verification_gas_cost, unit="gas")
    ratio, factor = real("gas_price_ratio", gas_price_ratio), real("margin", margin)
    fixed = whole("adjustment", adjustment, unit="wei")
    floor = _minus_base_fee(min_price, base_fee)

    divisor = _as_double(_product("gas · verification_capacity", gas_, capacity))
    l1_cost = ratio * _as_double(l1_gas)
    size_part = l1_cost * _as_double(size) * _as_double(min_price) / divisor
    if version == "V1f":
        fee = _truncate((size_part + _as_double(fixed)) * factor)
    else:
        before_adjustment = _truncate(l1_cost * factor * _as_double(size) * _as_double(min_price) / divisor)
        fee = _sum("fee + adjustment", before_adjustment, fixed)
    size_whole = _truncate(size_part)
    return Breakdown(
        fixed=fixed,
        size=size_whole,
        margin=fee - add("size part + adjustment", size_whole, fixed),
        floor=maximum(floor - fee, 0),
    )


@overload
def verification_margin(
    price: int, compressed_size: int, gas: int, *, min_gas_price: int, verification_gas_cost: int = ...,
    verification_capacity: int = ..., gas_price_ratio: float = ..., size_adjustment: int = ...
) -> float: ...  # fmt: skip
@overload
def verification_margin(
    price: Numbers[Reals], compressed_size: Numbers[Reals], gas: Numbers[Reals], *, min_gas_price: Numbers[Reals],
    verification_gas_cost: Numbers[Reals] = ..., verification_capacity: Numbers[Reals] = ...,
    gas_price_ratio: Numbers[Reals] = ..., size_adjustment: int = ...
) -> Reals: ...  # fmt: skip
@formula
def verification_margin(
    price: ArrayLike,
    compressed_size: ArrayLike,
    gas: ArrayLike,
    *,
    min_gas_price: ArrayLike,
    verification_gas_cost: ArrayLike = VERIFICATION.gas_cost,
    verification_capacity: ArrayLike = VERIFICATION.capacity,
    gas_price_ratio: ArrayLike = VERIFICATION.gas_price_ratio,
    size_adjustment: int = 0,
) -> Real:
    """Ratio revenue / cost; block selection in the first published version (V0) required a minimum ratio.

        revenue = price · gas;   cost = min_gas_price · ratio · (max(0, size + adjustment) / capacity · gas_cost)

    Parameters
    ----------
    price : effective gas price [wei / gas].
    compressed_size : size of the transaction; V0 used the length of the signed encoding [byte].
    gas : gas used, or the gas limit for the check before execution, at least 1 [gas].
    min_gas_price : minimum L2 gas price, at least 1 [wei / gas].
    verification_gas_cost : L1 gas for the verification of one submission [gas].
    verification_capacity : bytes that one submission verifies, at least 1 [byte].
    gas_price_ratio : L1 gas price / L2 gas price, a double [1].
    size_adjustment : int added to the size, possibly negative [byte]; -45 in the configuration of January 2024.

    All parameters but `size_adjustment` broadcast against each other.

    Returns
    -------
    float for scalars, a float64 array otherwise [1]. As in a node, the ratio is infinite if the adjusted size is 0, and
    NaN if the price is 0 too.

    Raises
    ------
    InvalidInput : zero gas, capacity or minimum price, a negative or non-finite value, or a float where an integer is
        required.
    Int64Overflow : an adjusted size that does not fit an int64 array.

    (price 9.9e9 wei · 21,000 gas) / (minimum price 1e9 wei · 15 · adjusted size (1000 / 90,000 · 1,200,000)):

    >>> verification_margin(9_900_000_000, 1000, 21_000, min_gas_price=1_000_000_000)
    1.0395
    """
    size = whole("compressed_size", compressed_size, unit="bytes")
    adjustment = whole_scalar("size_adjustment", size_adjustment, minimum=-(2**63), unit="bytes")
    larger = add("compressed_size + size_adjustment", size, max(adjustment, 0))
    adjusted = _as_double(maximum(larger + min(adjustment, 0), 0))
    capacity = _as_double(whole("verification_capacity", verification_capacity, minimum=1, unit="bytes"))
    l1_gas = _as_double(whole("verification_gas_cost", verification_gas_cost, unit="gas"))
    gas_price = _as_double(whole("min_gas_price", min_gas_price, minimum=1, unit="wei"))
    revenue = _as_double(whole("price", price, unit="wei")) * _as_double(whole("gas", gas, minimum=1, unit="gas"))
    cost = gas_price * real("gas_price_ratio", gas_price_ratio) * (adjusted / capacity * l1_gas)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        margin = np.divide(revenue, cost)
    return float(margin) if np.ndim(margin) == 0 else margin


@overload
def compatibility_priority_fee(
    min_gas_price: int, *, base_fee: int = ..., multiplier: Decimal | str | float = ...
) -> int: ...
@overload
def compatibility_priority_fee(
    min_gas_price: Numbers[Wholes], *, base_fee: Numbers[Wholes] = ..., multiplier: Decimal | str | float = ...
) -> Wholes: ...
@formula
def compatibility_priority_fee(
    min_gas_price: ArrayLike,
    *,
    base_fee: ArrayLike = NODE.base_fee,
    multiplier: Decimal | str | float = NODE.compatibility_multiplier,
) -> Whole:
    """Priority fee per gas of compatibility mode, which ignores the size.

        ceil( multiplier · (min_gas_price − base_fee) )

    Parameters
    ----------
    min_gas_price : minimum L2 gas price, at least `base_fee` [wei / gas].
    base_fee : base fee of the L2 block [wei / gas].
    multiplier : exact decimal of at least 0, as in a node's configuration; a float is read as its shortest decimal [1].

    Returns
    -------
    int for scalars, an int64 array otherwise [wei / gas].

    Raises
    ------
    InvalidInput : a multiplier that is not a decimal number of at least 0, `min_gas_price` below `base_fee`, or a value
        that is negative or not an integer.
    Int64Overflow : a fee that does not fit an int64 array.

    At a minimum gas price of 1 gwei and a base fee of 7 wei, the fee is 1.2 · (1,000,000,000 − 7) = 1,199,999,991.6
    wei, rounded up:

    >>> compatibility_priority_fee(1_000_000_000)
    1199999992
    """
    try:
        exact = Decimal(str(multiplier))
        if abs(exact.adjusted()) > LARGEST_EXPONENT:
            raise OverflowError  # arithmetic on integers with millions of digits would take minutes
        numerator, denominator = exact.as_integer_ratio()
    except (InvalidOperation, ValueError, OverflowError):
        raise InvalidInput("multiplier", "expected a finite decimal number", multiplier) from None
    if exact < 0:
        raise InvalidInput("multiplier", "expected a decimal number of at least 0", multiplier)
    room = _minus_base_fee(whole("min_gas_price", min_gas_price, unit="wei"), base_fee)
    if isinstance(room, int) or max(numerator, denominator) <= INT64_MAX:
        return multiply_divide("multiplier · (min_gas_price − base_fee)", room, numerator, denominator, denominator - 1)
    fees = [-(-numerator * each // denominator) for each in room.reshape(-1).tolist()]
    return whole("fee", np.array(fees, dtype=object).reshape(room.shape))


def _many(value: Any) -> TypeGuard[WholeArray]:
    # `whole` checks all other subclasses of `ndarray` than `memmap`, such as masked arrays.
    plain = type(value) is np.ndarray or type(value) is np.memmap
    return plain and value.dtype == np.int64 and value.size >= KERNEL_THRESHOLD


def _check_out(out: Any, *inputs: Any) -> None:
    shape = np.broadcast_shapes(*map(np.shape, inputs))
    if not isinstance(out, np.ndarray) or out.dtype != np.int64 or out.shape != shape:
        described = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InvalidInput("out", f"expected an int64 array of shape {shape}", described)
    if not out.flags.writeable:
        raise InvalidInput("out", "expected a writable array", "a read-only array")


def _written(fees: Whole, out: WholeArray) -> WholeArray:
    out[...] = fees
    return out


def _as_double(value: Whole) -> Real:
    return value.astype(np.float64) if isinstance(value, np.ndarray) else float(value)


def _truncate(value: Real) -> Whole:
    """Truncate doubles as a node does: to the integer part of the shortest decimal that converts back to the double."""
    if not isinstance(value, np.ndarray):
        try:
            return int(value) if abs(value) < DOUBLE_EXACT else int(Decimal(repr(float(value))))
        except (ValueError, OverflowError):
            raise InvalidInput("fee", "expected a finite result", value) from None
    if value.size and not value.max() < 2.0**63:
        raise_first("fee", "expected at most 2**63 - 1 wei in an array", value, ~(value < 2.0**63), Int64Overflow)
    result: WholeArray = value.astype(np.int64)
    for index in zip(*np.nonzero(value >= DOUBLE_EXACT), strict=True):
        result[index] = int(Decimal(repr(float(value[index]))))
    return result


def _product(name: str, left: Whole, right: Whole) -> Whole:
    if isinstance(left, int) and isinstance(right, int):
        return _in_a_long(name, left * right)
    return multiply(name, left, right, reason=WOULD_WRAP)


def _sum(name: str, left: Whole, right: Whole) -> Whole:
    if isinstance(left, int) and isinstance(right, int):
        return _in_a_long(name, left + right)
    return add(name, left, right, reason=WOULD_WRAP)


def _in_a_long(name: str, value: int) -> int:
    if value > INT64_MAX:
        raise Int64Overflow(name, WOULD_WRAP, value)
    return value


def _minus_base_fee(min_gas_price: Whole, base_fee: Any) -> Whole:
    base = whole("base_fee", base_fee, unit="wei")
    require("min_gas_price", "expected at least the base fee", min_gas_price, min_gas_price >= base)
    return min_gas_price - base
