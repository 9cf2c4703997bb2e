"""Equality of values that hold arrays: by value, whatever they hold; a hash where nobody can change them."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import ExcessBranches
from feemodel.linea.priority import Breakdown
from feemodel.rollups.arbitrum import PosterCharge
from feemodel.rollups.factors import Fees
from feemodel.rollups.zksync import BaseFee, Fee, FeeInput
from feemodel.simulation.surfaces import Workload


def test_workloads_are_equal_by_value_and_have_no_hash():
    one, same = (Workload("one", np.array([128, 200]), np.array([21_000, 46_000])) for _ in range(2))

    assert one == same
    assert one != Workload("another", one.compressed_size, one.gas)
    assert one != Workload("one", one.compressed_size, one.gas + 1)
    assert one != Workload("one", one.compressed_size[:1], one.gas[:1])
    assert one != "one"
    with pytest.raises(TypeError, match="unhashable type: 'Workload'"):
        hash(one)


@pytest.mark.parametrize(
    ("sizes", "gas", "named"),
    [
        ([128, 200], [21_000], "gas: expected one value for each of 2 sizes, got 1"),
        ([], [], "workload: expected at least one transaction, got 'wrong'"),
        ([[128]], [[21_000]], "compressed_size: expected a one-dimensional array"),
        (128, 21_000, "compressed_size: expected a one-dimensional array"),
        ([10.5], [21_000], r"compressed_size\[0\]: expected whole bytes.*, got 10.5"),
        ([128], [-1], r"gas\[0\]: expected whole gas of at least 0, got -1"),
        ([128], ["a"], "gas"),
    ],
)
def test_a_workload_is_checked_when_it_is_made(sizes, gas, named):
    with pytest.raises(InvalidInput, match=named):
        Workload("wrong", sizes, gas)


ARRAY_TUPLES = [
    Breakdown, Fees, PosterCharge, FeeInput, BaseFee, Fee, ExcessBranches,
]  # fmt: skip


@pytest.mark.parametrize("cls", ARRAY_TUPLES, ids=lambda cls: cls.__name__)
def test_a_named_tuple_of_arrays_equals_one_of_equal_arrays(cls):
    values = [np.array([1, 2 + place]) for place in range(len(cls._fields))]
    one = cls(*values)

    assert one == cls(*map(np.copy, values))
    assert one == tuple(values)
    assert tuple(values) == one
    assert one != cls(*values[:-1], np.array([1, 0]))
    assert one != tuple(values[:-1])
    assert not one != cls(*values)  # noqa: SIM202  # the other operator
    assert cls(*range(len(values))) == tuple(range(len(values)))
    assert hash(cls(*range(len(values)))) == hash(tuple(range(len(values))))


def test_fees_of_series_and_data_arrays_are_compared_by_value():
    for kind, other in ((pd.Series, xr.DataArray), (xr.DataArray, pd.Series)):
        fee = Breakdown(kind([1, 2]), kind([3, 4]), kind([5, 6]))

        assert fee == Breakdown(kind([1, 2]), kind([3, 4]), kind([5, 6]))
        assert fee != Breakdown(kind([1, 2]), kind([3, 4]), kind([5, 7]))
        assert fee != Breakdown(other([1, 2]), other([3, 4]), other([5, 6]))
        assert fee != Breakdown(1, 2, 3)
