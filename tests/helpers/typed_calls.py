"""Ten formulas as a user's type checker sees them: numbers in, a number out; arrays in, an array out."""

from typing import assert_type

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

import feemodel
from feemodel.ethereum import fee_market
from feemodel.rollups import optimism, scroll

sizes = np.array([128, 640])
table = pd.DataFrame({"size": [128, 640], "gas": [21_000, 180_000]})
labelled = xr.DataArray([128, 640], dims="size")
costs = [[1.0], [1.2]]

assert_type(feemodel.priority_fee(100, 21_000, variable_cost=10**9, fixed_cost=10**6, margin=1.2), int)
assert_type(feemodel.priority_fee(sizes, 21_000, variable_cost=10**9), NDArray[np.int64])
assert_type(feemodel.priority_fee([128, 640], (21_000, 1), variable_cost=10**9), NDArray[np.int64])
assert_type(feemodel.priority_fee(128, 21_000, variable_cost=10**9, margin=costs), NDArray[np.int64])
assert_type(feemodel.priority_fee(labelled, 21_000, variable_cost=10**9), xr.DataArray)
series: "pd.Series[int]" = feemodel.priority_fee(table["size"], table["gas"], variable_cost=10**9)

assert_type(feemodel.breakdown(128, 21_000, variable_cost=10**9).size, int)
assert_type(feemodel.breakdown(128, 21_000, variable_cost=10**9).total, int)
assert_type(feemodel.breakdown(sizes, 21_000, variable_cost=10**9).total, NDArray[np.int64])

assert_type(feemodel.profitable(10**9, 128, 21_000, variable_cost=10**9), bool)
assert_type(feemodel.profitable(10**9, sizes, 21_000, variable_cost=10**9), NDArray[np.bool_])

assert_type(feemodel.verification_priority_fee(128, 21_000, min_gas_price=10**8), int)
assert_type(feemodel.verification_priority_fee(sizes, 21_000, min_gas_price=10**8), NDArray[np.int64])
assert_type(feemodel.verification_breakdown(128, 21_000, min_gas_price=10**8).floor, int)
assert_type(feemodel.verification_margin(10**9, 1_000, 21_000, min_gas_price=10**9), float)
assert_type(feemodel.verification_margin(10**9, sizes, 21_000, min_gas_price=10**9), NDArray[np.float64])

assert_type(feemodel.compatibility_priority_fee(10**9), int)
assert_type(feemodel.compatibility_priority_fee(sizes * 10**9), NDArray[np.int64])

assert_type(
    feemodel.variable_cost(
        10**9, 10**8, 1, execution_gas=65_250, blob_gas=131_072, bytes_per_submission=131_072, margin=1.2
    ),
    float,
)
assert_type(feemodel.priority_fee_from_l1(128, 21_000, base_fee=10**9, blob_base_fee=1), int)
assert_type(feemodel.priority_fee_from_l1(sizes, 21_000, base_fee=10**9, blob_base_fee=1), NDArray[np.int64])

assert_type(fee_market.next_base_fee(10**9, 36_000_000, 36_000_000), int)
assert_type(fee_market.next_base_fee(sizes, 36_000_000, 36_000_000), NDArray[np.int64])
assert_type(fee_market.excess_branches(0, 0, 1_764_800_000).classic, int)
l1_fees = {"l1_base_fee": 10**9, "blob_base_fee": 1, "base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213}
assert_type(optimism.fjord_l1_fee(235, **l1_fees), int)
assert_type(optimism.fjord_l1_fee(sizes, **l1_fees), NDArray[np.int64])
assert_type(scroll.compression_ratio(235, 128), int)


def refused() -> None:
    """A comment that no error needs is itself an error, so both checkers do refuse these."""
    feemodel.priority_fee(128, 21_000, cost=10**9)  # type: ignore[call-overload]  # pyright: ignore
    feemodel.priority_fee(None, 21_000, variable_cost=1)  # type: ignore[call-overload]  # pyright: ignore
