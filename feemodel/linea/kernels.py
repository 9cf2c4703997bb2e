"""Compiled forms of the fee formulas, for large arrays and for parameter sweeps.

The arithmetic of a kernel is proven exact for a range of inputs. If an element is outside the proven range, the kernel
does not raise an error but returns `False`. If a kernel returns `False`, its caller uses the NumPy formula, which
handles the element or raises an error that names the element.

The inputs broadcast to the shape of the result. A term that varies only along some axes is computed only along these
axes, so that only the last step runs over every element.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.checks import WholeArray
from feemodel.ethereum._quantities import WEI_PER_KWEI
from feemodel.linea.extra_data import HIGHEST_COST
from feemodel.linea.parameters import COORDINATOR
from feemodel.progress import cores
from feemodel.quantities import REAL

BLOCK = 1 << 18  # number of elements per task: 2 MiB per array, so that inputs and outputs fit in the cache
SMALL = 8  # a step is computed separately if its inputs have at most 1/8 of the result's elements
RUN = 1 << 14  # number of elements per call of a kernel
PROVEN = 2.0**52  # below 2**52, a double quotient is wrong by at most 1 and truncating a double is exact
PRODUCT_LIMIT = 2.0**62  # if a product in doubles is below 2**62, the exact product fits 64 bits


@cached_njit(inline="always", error_model="numpy")  # a zero divisor makes `proven` false and raises no error
def fee_per_gas(size, gas, variable_cost, fixed_cost, margin):  # type: ignore[no-untyped-def]
    """Return the priority fee of one transaction [wei / gas], and whether the inputs are in the proven range."""
    # Processors have no vector instruction for 64-bit integer division. If the quotient is below 2**52, division in
    # doubles is wrong by at most 1, and the integer remainder corrects the quotient.
    product = variable_cost * size
    quotient = np.int64(np.float64(product) / np.float64(gas))
    remainder = product - quotient * gas
    quotient += np.int64(remainder >= gas) - np.int64(remainder < 0)
    before_margin = quotient + fixed_cost
    fee = margin * np.float64(before_margin)
    proven = (
        (size >= 0)
        & (gas >= 1)
        & (variable_cost >= 0)
        & (np.float64(variable_cost) * np.float64(size) < PRODUCT_LIMIT)
        & (fixed_cost >= 0)
        & (fixed_cost < PROVEN)
        & (before_margin < PROVEN)
        & (margin >= 0.0)
        & (fee < PROVEN)
    )
    return np.int64(fee), proven


@cached_njit(inline="always")
def recorded(cost):  # type: ignore[no-untyped-def]
    """Return `feemodel.linea.recorded_cost` of one number.

    >>> recorded(999.9), recorded(1_000)
    (0, 1000)
    """
    return int(min(cost, HIGHEST_COST) / WEI_PER_KWEI) * WEI_PER_KWEI


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


@cached_njit(nogil=True, error_model="numpy")
def _recorded_costs(base_fee, tip, blob_base_fee, margin, execution_gas, blob_gas, capacity, out):  # type: ignore[no-untyped-def]
    all_proven = True
    for i in range(out.size):
        cost = variable_cost(
            base_fee[i], tip[i], blob_base_fee[i], margin[i], execution_gas[i], blob_gas[i], capacity[i]
        )
        # All comparisons are false for NaN. An infinite input makes the cost infinite or NaN.
        all_proven &= (
            (base_fee[i] >= 0.0)
            & (tip[i] >= 0.0)
            & (blob_base_fee[i] >= 0.0)
            & (margin[i] >= 0.0)
            & (execution_gas[i] >= 0.0)
            & (blob_gas[i] >= 0.0)
            & (capacity[i] > 0.0)
            & (capacity[i] < np.inf)
            & (cost < np.inf)
        )
        out[i] = recorded(cost)
    return all_proven


def priority_fees(inputs: Mapping[str, Any], out: WholeArray) -> bool:
    """Compute `feemodel.priority_fee` of inputs by name that broadcast to `out`, a contiguous int64 array.

    Return whether all elements were in the proven range; if not, `out` is undefined.

    >>> fees = np.empty((2, 1), dtype=np.int64)
    >>> costs = {"variable_cost": 1_000_000_000, "fixed_cost": 30_000_000, "margin": np.array([[1.0], [1.2]])}
    >>> priority_fees({"compressed_size": np.array([128]), "gas": np.array([21_000]), **costs}, fees), fees.tolist()
    (True, [[36095238], [43314285]])
    >>> priority_fees({"compressed_size": np.array([128]), "gas": np.array([0]), **costs}, fees)
    False
    """
    whole_inputs = [inputs.get(name, 0) for name in ("compressed_size", "gas", "variable_cost", "fixed_cost")]
    if not all(map(_is_whole, whole_inputs)):
        return False
    margin, arrays = inputs.get("margin", 1.0), [_as_array(value, out.ndim, np.int64) for value in whole_inputs]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    if prod(shape) * SMALL <= out.size:
        before_margin = np.empty(shape, dtype=np.int64)  # the fee at a margin of 1
        proven = _in_runs(_fees_of_points, [*arrays, np.ones(1)], before_margin)
        return proven and _scaled(before_margin, margin, out)
    size, gas, *costs = *arrays, _as_array(margin, out.ndim, np.float64)
    if any(cost.shape[-1] > 1 for cost in costs):
        return _in_runs(_fees_of_points, [size, gas, *costs], out)
    return _fees_by_rows(size, gas, costs, out)


COST_INPUTS = ("base_fee", "tip", "blob_base_fee", "cost_margin", "execution_gas", "blob_gas", "bytes_per_submission")


def priority_fees_from_l1(inputs: Mapping[str, Any], out: WholeArray) -> bool:
    """Compute `feemodel.priority_fee_from_l1` of inputs that broadcast to `out`, see `priority_fees`."""
    submission = {name: getattr(COORDINATOR, name) for name in ("execution_gas", "blob_gas", "bytes_per_submission")}
    given = {"tip": 0.0, "cost_margin": COORDINATOR.margin, **submission, **inputs}
    costs = [np.asarray(given.pop(name), np.float64) for name in COST_INPUTS]
    cost = np.empty(np.broadcast_shapes(*map(np.shape, costs)), dtype=np.int64)
    return _in_runs(_recorded_costs, costs, cost) and priority_fees({**given, "variable_cost": cost}, out)


def _fees_by_rows(size: WholeArray, gas: WholeArray, costs: list[NDArray[Any]], out: WholeArray) -> bool:
    """Compute fees of transactions along the last axis, with costs that are constant along the last axis."""
    leading = np.broadcast_shapes(size.shape[:-1], gas.shape[:-1])
    one_row = all(cost.size == 1 for cost in costs) and leading == out.shape[:-1]
    length = out.size if one_row else out.shape[-1]
    sizes, gases = (
        np.ascontiguousarray(np.broadcast_to(array, (*leading, out.shape[-1]))).reshape(-1, length)
        for array in (size, gas)
    )
    row_of, of_rows, fees = _row_numbers(leading, out), [_by_row(cost, out) for cost in costs], out.reshape(-1, length)

    def block(start: int) -> bool:
        part = slice(start, start + step)
        return bool(_fees_of_rows(sizes[:, part], gases[:, part], row_of, *of_rows, fees[:, part]))

    step = min(BLOCK, length) if one_row else length
    if step == length:
        return block(0)
    with ThreadPoolExecutor(max_workers=cores()) as pool:
        return all(pool.map(block, range(0, length, step)))


def _scaled(before_margin: Any, margin: Any, out: WholeArray) -> bool:
    """Write `trunc(margin · before_margin)` to `out`; return whether all values are in the proven range."""
    factors = [_as_array(value, out.ndim, np.float64) for value in (before_margin, REAL.check("margin", margin))]
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
    results = out.reshape(-1)
    lanes = [
        np.full(RUN, array.item())
        if array.size == 1
        else np.ascontiguousarray(np.broadcast_to(array, out.shape)).reshape(-1)
        for array in inputs
    ]
    for start in range(0, results.size, RUN):
        parts = (lane[start if array.size > 1 else 0 :][:RUN] for lane, array in zip(lanes, inputs, strict=True))
        if not kernel(*parts, results[start : start + RUN]):
            return False
    return True


def _is_whole(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.dtype == np.int64)
    return isinstance(value, int) and abs(value) < PRODUCT_LIMIT


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
