"""Priority fee from L1 fees in one step: base fee and blob base fee → variable cost → pricing record → fee."""

from typing import Any, overload

from feemodel.checks import ArrayLike, Numbers, WholeArray, Wholes, real, whole
from feemodel.formula import compiled, formula
from feemodel.integers import Whole
from feemodel.linea.coordinator import _above_zero, _variable_cost
from feemodel.linea.extra_data import _recorded_cost
from feemodel.linea.parameters import COORDINATOR
from feemodel.linea.priority import _priority_fee


@overload
def recorded_variable_cost(
    base_fee: float, blob_base_fee: float, *, tip: float = ..., execution_gas: float = ..., blob_gas: float = ...,
    bytes_per_submission: float = ..., cost_margin: float = ...
) -> int: ...  # fmt: skip
@overload
def recorded_variable_cost(
    base_fee: Numbers[Wholes], blob_base_fee: Numbers[Wholes], *, tip: Numbers[Wholes] = ...,
    execution_gas: Numbers[Wholes] = ..., blob_gas: Numbers[Wholes] = ..., bytes_per_submission: Numbers[Wholes] = ...,
    cost_margin: Numbers[Wholes] = ...
) -> Wholes: ...  # fmt: skip
@formula
def recorded_variable_cost(
    base_fee: ArrayLike,
    blob_base_fee: ArrayLike,
    *,
    tip: ArrayLike = 0,
    execution_gas: ArrayLike = COORDINATOR.execution_gas,
    blob_gas: ArrayLike = COORDINATOR.blob_gas,
    bytes_per_submission: ArrayLike = COORDINATOR.bytes_per_submission,
    cost_margin: ArrayLike = COORDINATOR.margin,
) -> Whole:
    """Variable cost in a block's pricing record at given L1 fees: whole kwei, at most 2**32 − 1 kwei.

    Parameters
    ----------
    base_fee, tip, blob_base_fee : fees of L1 [wei / gas].
    execution_gas, blob_gas : L1 gas and blob gas of a submission [gas].
    bytes_per_submission : divisor of the cost of a submission, above 0 [byte]. The coordinator uses 131,072 bytes,
        although a blob carries at most 130,048 bytes.
    cost_margin : the coordinator's safety factor, separate from the margin of the fee [1].

    All parameters broadcast against each other.

    Returns
    -------
    int for scalars, an int64 array otherwise: the variable cost [wei / byte].

    Raises
    ------
    InvalidInput : a negative or non-finite value, or zero `bytes_per_submission`.

    The variable cost is ((7e7 + 1e8) · 65,250 + 4e6 · 131,072) / 131,072 = 88,629,058.8 wei per byte, truncated to
    whole kwei:

    >>> recorded_variable_cost(70_000_000, 4_000_000, tip=100_000_000)
    88629000
    """
    priority_fee, margin = real("tip", tip, unit="wei"), real("cost_margin", cost_margin)
    fees = real("base_fee", base_fee, unit="wei"), priority_fee
    gas = real("execution_gas", execution_gas, unit="gas")
    blob = real("blob_base_fee", blob_base_fee, unit="wei"), real("blob_gas", blob_gas, unit="gas")
    divisor = _above_zero("bytes_per_submission", bytes_per_submission)
    return _recorded_cost(real("fee", _variable_cost(*fees, *blob, gas, margin, divisor)))


def _kernel() -> Any:
    from feemodel.linea.kernels import sweep_priority_fee_from_l1

    return sweep_priority_fee_from_l1


@overload
def priority_fee_from_l1(
    compressed_size: int, gas: int, *, base_fee: float, blob_base_fee: float, tip: float = ...,
    execution_gas: float = ..., blob_gas: float = ..., bytes_per_submission: float = ..., cost_margin: float = ...,
    fixed_cost: int = ..., margin: float = ..., out: None = ...
) -> int: ...  # fmt: skip
@overload
def priority_fee_from_l1(
    compressed_size: Numbers[Wholes], gas: Numbers[Wholes], *, base_fee: Numbers[Wholes],
    blob_base_fee: Numbers[Wholes], tip: Numbers[Wholes] = ..., execution_gas: Numbers[Wholes] = ...,
    blob_gas: Numbers[Wholes] = ..., bytes_per_submission: Numbers[Wholes] = ..., cost_margin: Numbers[Wholes] = ...,
    fixed_cost: Numbers[Wholes] = ..., margin: Numbers[Wholes] = ..., out: WholeArray | None = ...
) -> Wholes: ...  # fmt: skip
@formula
@compiled(_kernel)
def priority_fee_from_l1(
    compressed_size: ArrayLike,
    gas: ArrayLike,
    *,
    base_fee: ArrayLike,
    blob_base_fee: ArrayLike,
    tip: ArrayLike = 0,
    execution_gas: ArrayLike = COORDINATOR.execution_gas,
    blob_gas: ArrayLike = COORDINATOR.blob_gas,
    bytes_per_submission: ArrayLike = COORDINATOR.bytes_per_submission,
    cost_margin: ArrayLike = COORDINATOR.margin,
    fixed_cost: ArrayLike = 0,
    margin: ArrayLike = 1.0,
    out: WholeArray | None = None,
) -> Whole:
    """Priority fee per gas in the cost-per-byte form, with the variable cost computed from L1 fees.

    Parameters
    ----------
    compressed_size : measured size of the transaction [byte].
    gas : gas over which the fee is spread, at least 1 [gas].
    base_fee, tip, blob_base_fee : fees of L1 [wei / gas].
    execution_gas, blob_gas : L1 gas and blob gas of a submission [gas].
    bytes_per_submission : divisor of the cost of a submission, above 0 [byte].
    cost_margin : the coordinator's safety factor on the variable cost [1].
    fixed_cost : cost of every unit of gas [wei / gas].
    margin : safety factor by which the fee is multiplied [1].
    out : int64 array with the shape of the result, to which the fees are written; `None` for a new array.

    All parameters broadcast against each other.

    Returns
    -------
    int for scalars, an int64 array otherwise [wei / gas].

    Raises
    ------
    InvalidInput : a negative or non-finite value, a zero divisor, or a float where an integer is required.
    Int64Overflow : a product that would wrap in a node, or a fee that does not fit an int64 array.

    The fee is 88,629,000 · 128 div 21,000 + 30,000,000 = 540,214 + 30,000,000:

    >>> priority_fee_from_l1(
    ...     128, 21_000, base_fee=70_000_000, blob_base_fee=4_000_000, tip=100_000_000, fixed_cost=30_000_000
    ... )
    30540214
    """
    cost = recorded_variable_cost(
        base_fee,
        blob_base_fee,
        tip=tip,
        execution_gas=execution_gas,
        blob_gas=blob_gas,
        bytes_per_submission=bytes_per_submission,
        cost_margin=cost_margin,
    )
    fixed = whole("fixed_cost", fixed_cost, unit="wei")
    return _priority_fee(compressed_size, gas, cost, fixed, real("margin", margin), out)
