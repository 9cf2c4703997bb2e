"""Compiled kernels of the fee formulas: one for plain arrays, three for blocks of a parameter sweep.

The arithmetic of a kernel is proven exact for a range of inputs. If an element is outside the proven range, the kernel
does not raise an error but returns `False` or `None`. If a kernel returns `False` or `None`, its caller uses the NumPy
formula, which handles the element or raises an error that names the element.

The inputs of a block of a parameter sweep broadcast to the shape of the result. A term that varies only along some axes
is computed only along these axes, so that only the last step runs over every element.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel._processors import cores
from feemodel.checks import WholeArray, real
from feemodel.linea import extra_data
from feemodel.linea.parameters import COORDINATOR

BLOCK = 1 << 18  # number of elements per task: 2 MiB per array, so that inputs and outputs fit in the cache
SMALL = 8  # a step is computed separately if its inputs have at most 1/8 of the result's elements
RUN = 1 << 14  # number of elements per call of a kernel
PROVEN = 2.0**52  # below 2**52, a double quotient is wrong by at most 1 and truncating a double is exact
PRODUCT_LIMIT = 2.0**62  # if a product in doubles is below 2**62, the exact product fits 64 bits


@cached_njit(inline="always", error_model="numpy")  # a zero divisor makes `proven` false and raises no error
def _before_margin(size, gas, variable_cost, fixed_cost):  # type: ignore[no-untyped-def]
    # Processors have no vector instruction for 64-bit integer division. If the quotient is below 2**52, division in
    # doubles is wrong by at most 1, and the integer remainder corrects the quotient.
    product = variable_cost * size
    quotient = np.int64(np.float64(product) / np.float64(gas))
    remainder = product - quotient * gas
    quotient += np.int64(remainder >= gas) - np.int64(remainder < 0)
    before_margin = quotient + fixed_cost
    proven = (
        (size >= 0)
        & (gas >= 1)
        & (variable_cost >= 0)
        & (np.float64(variable_cost) * np.float64(size) < PRODUCT_LIMIT)
        & (fixed_cost >= 0)
        & (fixed_cost < PROVEN)
        & (before_margin < PROVEN)
    )
    return before_margin, proven


@cached_njit(inline="always", error_model="numpy")
def fee_per_gas(size, gas, variable_cost, fixed_cost, margin):  # type: ignore[no-untyped-def]
    """Return the priority fee of one transaction [wei / gas], and whether the inputs are in the proven range."""
    before_margin, proven = _before_margin(size, gas, variable_cost, fixed_cost)
    fee = margin * np.float64(before_margin)
    return np.int64(fee), proven & (margin >= 0.0) & (fee < PROVEN)


recorded = cached_njit(inline="always")(extra_data.recorded)


@cached_njit(nogil=True, error_model="numpy")
def _fees_of_rows(size, gas, row_of, variable_cost, fixed_cost, margin, out):  # type: ignore[no-untyped-def]
    all_proven = True
    for r in range(out.shape[0]):
        row, cost, fixed, factor = row_of[r], variable_cost[r], fixed_cost[r], margin[r]
        for i in range(out.shape[1]):
            fee, proven = fee_per_gas(size[row, i], gas[row, i], cost, fixed, factor)
            out[r, i] = fee
            all_proven &= proven
    return all_proven


@cached_njit(nogil=True, error_model="numpy")
def _fees_of_points(size, gas, variable_cost, fixed_cost, margin, out):  # type: ignore[no-untyped-def]
    all_proven = True
    for i in range(out.size):
        fee, proven = fee_per_gas(size[i], gas[i], variable_cost[i], fixed_cost[i], margin[i])
        out[i] = fee
        all_proven &= proven
    return all_proven


@cached_njit(nogil=True, error_model="numpy")
def _sums_before_margin(size, gas, variable_cost, fixed_cost, out):  # type: ignore[no-untyped-def]
    all_proven = True
    for i in range(out.size):
        before_margin, proven = _before_margin(size[i], gas[i], variable_cost[i], fixed_cost[i])
        out[i] = before_margin
        all_proven &= proven
    return all_proven


@cached_njit(nogil=True)
def _scaled_rows(rows, row_of, factor, out):  # type: ignore[no-untyped-def]
    for r in range(out.shape[0]):
        row, by = row_of[r], factor[r]
        for i in range(out.shape[1]):
            out[r, i] = np.int64(by * rows[row, i])


@cached_njit(inline="always", error_model="numpy")
def variable_cost(base_fee, tip, blob_base_fee, margin, execution_gas, blob_gas, capacity):  # type: ignore[no-untyped-def]
    """Return the result of `feemodel.linea.coordinator.variable_cost` before it is limited to bounds [wei / byte].

    >>> round(variable_cost(7e7, 1e8, 4e6, 1.0, 65_250.0, 131_072.0, 131_072.0))
    88629059
    """
    return ((base_fee + tip) * execution_gas + blob_base_fee * blob_gas) * margin / capacity


@cached_njit(inline="always", error_model="numpy")
def _recorded_cost(base_fee, tip, blob_base_fee, margin, execution_gas, blob_gas, capacity):  # type: ignore[no-untyped-def]
    cost = variable_cost(base_fee, tip, blob_base_fee, margin, execution_gas, blob_gas, capacity)
    # All comparisons in `proven` are false for NaN. An infinite input makes the cost infinite or NaN.
    proven = (
        (base_fee >= 0.0)
        & (tip >= 0.0)
        & (blob_base_fee >= 0.0)
        & (margin >= 0.0)
        & (execution_gas >= 0.0)
        & (blob_gas >= 0.0)
        & (capacity > 0.0)
        & (capacity < np.inf)
        & (cost < np.inf)
    )
    return recorded(cost), proven


@cached_njit(nogil=True, error_model="numpy")
def _recorded_costs(base_fee, tip, blob_base_fee, margin, execution_gas, blob_gas, capacity, out):  # type: ignore[no-untyped-def]
    all_proven = True
    for i in range(out.size):
        cost, proven = _recorded_cost(
            base_fee[i], tip[i], blob_base_fee[i], margin[i], execution_gas[i], blob_gas[i], capacity[i]
        )
        out[i] = cost
        all_proven &= proven
    return all_proven


def priority_fees(inputs: Mapping[str, Any], out: WholeArray) -> bool:
    """Compute `feemodel.priority_fee`: on all processors for plain arrays of sizes and gas, else as in a sweep.

    Parameters and result are those of `sweep_priority_fee`.

    >>> fees = np.empty(1, dtype=np.int64)
    >>> inputs = {"compressed_size": np.array([128]), "gas": np.array([21_000]), "variable_cost": 1_000_000_000}
    >>> priority_fees({**inputs, "fixed_cost": 30_000_000, "margin": 1.2}, fees), fees.tolist()
    (True, [43314285])
    >>> priority_fees({**inputs, "gas": np.array([0])}, fees)
    False
    """
    arrays = [inputs[name] for name in ("compressed_size", "gas")]
    costs = [inputs["variable_cost"], inputs.get("fixed_cost", 0), inputs.get("margin", 1.0)]
    plain = all(isinstance(array, np.ndarray) and array.shape == out.shape and _is_whole(array) for array in arrays)
    if not (plain and all(map(_is_whole, costs[:2])) and all(map(np.isscalar, costs))):
        return sweep_priority_fee(inputs, out)
    size, gas, fees = (np.ascontiguousarray(array).reshape(1, -1) for array in (*arrays, out))
    row = np.zeros(1, dtype=np.int64)
    of_row = [np.array([cost], dtype) for cost, dtype in zip(costs, (np.int64, np.int64, np.float64), strict=True)]

    def block(start: int) -> bool:
        part = slice(start, start + BLOCK)
        return bool(_fees_of_rows(size[:, part], gas[:, part], row, *of_row, fees[:, part]))

    with ThreadPoolExecutor(max_workers=cores()) as pool:
        return all(pool.map(block, range(0, size.size, BLOCK)))


def sweep_priority_fee(inputs: Mapping[str, Any], out: WholeArray) -> bool:
    """Compute `feemodel.priority_fee` of inputs by name that broadcast to `out`, a contiguous int64 array.

    Return whether all elements were in the proven range; if not, `out` is undefined.

    >>> fees = np.empty((2, 1), dtype=np.int64)
    >>> costs = {"variable_cost": 1_000_000_000, "fixed_cost": 30_000_000, "margin": np.array([[1.0], [1.2]])}
    >>> inputs = {"compressed_size": np.array([128]), "gas": np.array([21_000]), **costs}
    >>> sweep_priority_fee(inputs, fees), fees.tolist()
    (True, [[36095238], [43314285]])
    """
    names = ("compressed_size", "gas", "variable_cost", "fixed_cost")
    whole_inputs = [inputs.get(name, 0) for name in names]
    if not all(_is_whole(value) for value in whole_inputs):
        return False
    if _elements(*whole_inputs) * SMALL <= out.size:
        before = np.empty(np.broadcast_shapes(*map(np.shape, whole_inputs)), dtype=np.int64)
        proven = _in_runs(_sums_before_margin, [np.asarray(value, np.int64) for value in whole_inputs], before)
        return proven and _scaled(before, inputs.get("margin", 1.0), out)
    arrays = [_as_array(value, out.ndim, np.int64) for value in whole_inputs]
    margins = _as_array(inputs.get("margin", 1.0), out.ndim, np.float64)
    if any(costs.shape[-1] > 1 for costs in (*arrays[2:], margins)):
        return _in_runs(_fees_of_points, [*arrays, margins], out)
    return _fees_by_rows(arrays[0], arrays[1], [*arrays[2:], margins], out)


COST_DEFAULTS: Mapping[str, float] = {
    "tip": 0.0, "cost_margin": COORDINATOR.margin,
    **{name: getattr(COORDINATOR, name) for name in ("execution_gas", "blob_gas", "bytes_per_submission")},
}  # fmt: skip
COST_INPUTS = ("base_fee", "tip", "blob_base_fee", "cost_margin", "execution_gas", "blob_gas", "bytes_per_submission")


def sweep_priority_fee_from_l1(inputs: Mapping[str, Any], out: WholeArray) -> bool:
    """Compute `feemodel.priority_fee_from_l1` of inputs that broadcast to `out`, see `sweep_priority_fee`."""
    given = {**COST_DEFAULTS, **inputs}
    costs = [np.asarray(given.pop(name), np.float64) for name in COST_INPUTS]
    cost = np.empty(np.broadcast_shapes(*map(np.shape, costs)), dtype=np.int64)
    return _in_runs(_recorded_costs, costs, cost) and sweep_priority_fee({**given, "variable_cost": cost}, out)


def _fees_by_rows(size: WholeArray, gas: WholeArray, costs: list[NDArray[Any]], out: WholeArray) -> bool:
    """Compute fees of transactions along the last axis, with costs that are constant along the last axis."""
    leading, length = np.broadcast_shapes(size.shape[:-1], gas.shape[:-1]), out.shape[-1]
    rows = [np.ascontiguousarray(np.broadcast_to(array, (*leading, length))) for array in (size, gas)]
    numbers = _row_numbers(leading, out)
    flat = (row.reshape(-1, length) for row in rows)
    return bool(_fees_of_rows(*flat, numbers, *(_by_row(cost, out) for cost in costs), out.reshape(-1, length)))


def _scaled(before_margin: Any, margin: Any, out: WholeArray) -> bool:
    """Write `trunc(margin · before_margin)` to `out`; return whether all values are in the proven range."""
    factors = [_as_array(value, out.ndim, np.float64) for value in (before_margin, real("margin", margin))]
    if not (factors[0].max() < PROVEN and factors[0].max() * factors[1].max() < PROVEN):
        return False
    along, across = sorted(factors, key=lambda factor: -factor.shape[-1])
    if across.shape[-1] > 1 or along.shape[-1] < out.shape[-1]:
        np.multiply(along, across, out=out, casting="unsafe")  # the cast truncates
        return True
    rows = np.ascontiguousarray(along)
    numbers, by_rows = _row_numbers(rows.shape[:-1], out), (-1, out.shape[-1])
    _scaled_rows(rows.reshape(by_rows), numbers, _by_row(across, out), out.reshape(by_rows))
    return True


def _in_runs(kernel: Callable[..., bool], inputs: Sequence[NDArray[Any]], out: WholeArray) -> bool:
    """Run a kernel on blocks of `RUN` elements of inputs that broadcast to `out`.

    Return whether the kernel is proven exact for all elements.
    """
    single = [array.size == 1 for array in inputs]
    lanes = [
        np.full(RUN, array.reshape(-1)[0])
        if array.size == 1
        else np.ascontiguousarray(np.broadcast_to(array, out.shape)).reshape(-1)
        for array in inputs
    ]
    results = out.reshape(-1)
    for start in range(0, results.size, RUN):
        run = results[start : start + RUN]
        parts = (
            lane[: run.size] if one else lane[start : start + RUN] for lane, one in zip(lanes, single, strict=True)
        )
        if not kernel(*parts, run):
            return False
    return True


def _is_whole(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.dtype == np.int64)
    return isinstance(value, int) and abs(value) < PRODUCT_LIMIT


def _elements(*values: Any) -> int:
    return prod(np.broadcast_shapes(*map(np.shape, values)))


def _as_array(value: Any, ndim: int, dtype: Any) -> NDArray[Any]:
    array = np.asarray(value, dtype=dtype)
    return array.reshape((1,) * (ndim - array.ndim) + array.shape)


def _by_row(value: NDArray[Any], out: WholeArray) -> NDArray[Any]:
    """Return one value for each row of `out`, from values that are constant along the last axis."""
    return np.ascontiguousarray(np.broadcast_to(value[..., 0], out.shape[:-1])).reshape(-1)


def _row_numbers(leading: tuple[int, ...], out: WholeArray) -> NDArray[np.int64]:
    """Return, for each row of the result, the index of the input row that is broadcast to this row."""
    numbers = np.arange(prod(leading)).reshape(leading)
    return np.ascontiguousarray(np.broadcast_to(numbers, out.shape[:-1])).reshape(-1)
