"""The priority fee in both forms: limits, and what the kernel leaves to the formula.

`tests/test_formulas.py` shows that scalars and arrays are one function, `tests/test_vectors.py` the published fees.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel._extras import has_numba
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.formula import KERNEL_SIZE_UNLOADED as KERNEL_THRESHOLD
from feemodel.linea.pricing_forms import VerificationCost
from feemodel.linea.priority import breakdown, priority_fee, verification_margin, verification_priority_fee
from tests.helpers.optional import optional

kernels = optional("feemodel.linea.kernels")
BLOCK = kernels.BLOCK if has_numba() else 1 << 18

sizes = st.integers(0, 262_144)
gases = st.integers(1, 30_000_000)
variable_costs = st.integers(0, 10**13)
fixed_costs = st.integers(0, 10**12)
margins = st.floats(0, 10, allow_subnormal=False)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [("gas", 0, r"gas\[700000\].*got 0"), ("size", -1, r"compressed_size\[700000\].*got -1")],
)
def test_large_arrays_name_the_element_that_is_out_of_range(place, value, message):
    size, gas = np.full(KERNEL_THRESHOLD, 128), np.full(KERNEL_THRESHOLD, 21_000)
    {"gas": gas, "size": size}[place][700_000] = value

    with pytest.raises(InvalidInput, match=message):
        priority_fee(size, gas, variable_cost=10**9)


# Sizes on both sides of every place where a large array is treated differently: where the compiled kernel takes over,
# and where its blocks end.
PATH_SIZES = [1, 2, BLOCK, BLOCK + 1, KERNEL_THRESHOLD - 1, KERNEL_THRESHOLD, 4 * BLOCK + 1]
OVERFLOWS = [  # size, gas, costs, and what the error names
    (1, 1, {"variable_cost": 2**63 - 2048, "fixed_cost": 4096}, r"size part \+ fixed_cost"),
    (1, 1, {"variable_cost": 2**63 - 1, "fixed_cost": 1}, r"size part \+ fixed_cost"),
    (1, 1, {"variable_cost": 1, "fixed_cost": 2**63 - 1, "margin": 0.5}, r"size part \+ fixed_cost"),
    (2, 21_000, {"variable_cost": 2**62}, "variable_cost · compressed_size"),
    (2**62, 1, {"variable_cost": 1, "margin": 2.0}, "fee"),
]


@pytest.mark.parametrize(("size", "gas", "costs", "name"), OVERFLOWS)
@pytest.mark.parametrize("count", PATH_SIZES)
def test_an_overflow_is_named_at_every_array_size(count, size, gas, costs, name):
    for place in {0, count // 2, count - 1}:
        sizes, gases = np.zeros(count, dtype=np.int64), np.full(count, 2**40)
        sizes[place], gases[place] = size, gas

        with pytest.raises(Int64Overflow, match=rf"{name}\[{place}\]"):
            priority_fee(sizes, gases, **costs)


def test_fees_from_2_to_the_53_truncate_the_shortest_decimal():
    # 1.1 · 2**62 is the double 5072854620270127104, whose shortest decimal reads 5.072854620270127e+18
    assert priority_fee(2**31, 1, variable_cost=2**31, margin=1.1) == 5_072_854_620_270_127_000
    assert priority_fee([2**31], 1, variable_cost=2**31, margin=1.1).tolist() == [5_072_854_620_270_127_000]


@given(sizes, gases, variable_costs, fixed_costs, margins)
def test_parts_of_the_fee_add_up_to_it(size, gas, variable_cost, fixed_cost, margin):
    costs = {"variable_cost": variable_cost, "fixed_cost": fixed_cost, "margin": margin}
    parts = breakdown(size, gas, **costs)

    assert parts.total == priority_fee(size, gas, **costs)
    assert (parts.fixed, parts.size) == (fixed_cost, variable_cost * size // gas)


def test_a_fee_that_passes_an_int64_array_is_refused_in_arrays_only():
    assert priority_fee(2**31, 1, variable_cost=2**31, margin=3.0) == 13_835_058_055_282_164_000
    with pytest.raises(Int64Overflow, match=r"fee\[0\]"):
        priority_fee([2**31], 1, variable_cost=2**31, margin=3.0)


def test_verification_form_never_falls_below_the_minimum_gas_price():
    assert verification_priority_fee(128, 30_000_000, min_gas_price=10**8) == 10**8 - 7
    assert VerificationCost(min_gas_price=10**8).parts(128, 30_000_000, 1.0) == (0, 85_333, 0, 10**8 - 7 - 85_333)


@given(sizes, gases, st.integers(7, 10**12), margins, st.integers(0, 10**12))
def test_parts_of_the_verification_form_add_up_to_it(size, gas, min_gas_price, margin, adjustment):
    form = VerificationCost(min_gas_price=min_gas_price, adjustment=adjustment)
    parts = form.parts(size, gas, margin)
    costs = {"min_gas_price": min_gas_price, "adjustment": adjustment, "margin": margin}

    assert parts.total == form.fee(size, gas, margin) == verification_priority_fee(size, gas, **costs)
    assert parts.floor >= 0
    assert parts.floor == 0 or parts.total == min_gas_price - 7


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"gas": 0}, "gas: .* got 0"),
        ({"verification_capacity": 0}, "verification_capacity: .* got 0"),
        ({"min_gas_price": 6}, "min_gas_price: expected at least the base fee, got 6"),
        ({"gas_price_ratio": float("inf")}, "gas_price_ratio: .* got inf"),
        ({"gas": 2**60, "verification_capacity": 2**4}, r"gas · verification_capacity.*18446744073709551616"),
    ],
)
def test_verification_form_names_bad_input(wrong, message):
    arguments = {"compressed_size": 128, "gas": 21_000, "min_gas_price": 10**8} | wrong

    with pytest.raises(InvalidInput, match=message):
        verification_priority_fee(arguments.pop("compressed_size"), arguments.pop("gas"), **arguments)


def test_the_size_adjustment_of_the_first_version_is_a_signed_64_bit_integer():
    for size in (45, np.array([45])):
        assert np.all(verification_margin(1, size, 1, min_gas_price=1, size_adjustment=-(2**63)) == np.inf)
        with pytest.raises(InvalidInput, match=f"size_adjustment: .* got {-(2**63) - 1}"):
            verification_margin(1, size, 1, min_gas_price=1, size_adjustment=-(2**63) - 1)


@pytest.mark.parametrize("missing", ["compressed_size", "gas", "variable_cost"])
def test_an_argument_that_is_missing_is_not_read_as_0(missing):
    sizes, gas = np.full((2, KERNEL_THRESHOLD), [[128], [21_000]])
    arguments = {"compressed_size": sizes, "gas": gas, "variable_cost": 10**9}
    with pytest.raises(TypeError, match=rf"priority_fee\(\) missing 1 required .* '{missing}'"):
        priority_fee(**{name: value for name, value in arguments.items() if name != missing})
