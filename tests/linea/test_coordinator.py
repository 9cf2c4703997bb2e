"""From L1 fees to announced prices, as in Consensys/linea-monorepo at cb180134.

`tests/test_vectors.py` runs its published numbers.
"""

import pytest

from feemodel.errors import InvalidInput
from feemodel.linea import coordinator, from_l1

RISING = [100, 110, 120, 130, 140]
RATIOS = [0.25, 0.5, 0.75, 0.9]


def average(fees, ratios):
    return coordinator.average_fees(fees, [0.0] * len(ratios), ratios, [], []).base_fee


@pytest.mark.parametrize(("fees", "ratios"), [(RISING, [0.5]), ([100], [0.5, 0.5]), (RISING, RATIOS[:3]), ([1, 2], [])])
def test_fees_without_a_ratio_are_not_left_out(fees, ratios):
    """But for one: the next block's, which a fee history ends with."""
    reason = rf"fees: expected {len(ratios)} values, one for each ratio, or {len(ratios) + 1}, got {len(fees)}"
    with pytest.raises(InvalidInput, match=reason):
        average(fees, ratios)
    with pytest.raises(InvalidInput, match="priority_fees"):
        coordinator.average_fees([1], [1, 2, 3], [0.5], [1], [0.5])
    with pytest.raises(InvalidInput, match="priority_fees"):
        coordinator.weighted_moving_average_fee(
            [1], [1, 2, 3], [0.5], base_fee_coefficient=1.0, priority_fee_coefficient=1.0
        )


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"lower_bound": 10_000.0, "upper_bound": 1000.0}, r"upper_bound: expected at least the lower.* got 1000\.0"),
        ({"lower_bound": [0.0, 2.0], "upper_bound": 1.0}, r"upper_bound\[1\]: expected at least the lower.* got 1\.0"),
        ({"lower_bound": -10_000.0}, r"lower_bound: .* got -10000\.0"),
        ({"fee_margin": float("nan")}, r"fee_margin: .* got nan"),
    ],
)
def test_bounds_that_hold_nothing_are_refused(bounds, message):
    with pytest.raises(InvalidInput, match=message):
        coordinator.bounded(1.0, **bounds)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average([1.0, -2.0], [1, 1]), r"fees\[1\]: .* got -2\.0"),
        (lambda: average(["x"], [1]), "fees"),
        (lambda: coordinator.sample_gas_price(1.0, fixed_cost=1, gas=0), "gas: expected a number above 0, got 0"),
        (lambda: coordinator.calldata_sum([540.5] * 5), r"block_sizes\[0\]: .* got 540\.5"),
    ],
)
def test_bad_input_is_named_with_its_value(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_without_a_tip_or_a_fixed_cost_there_is_none():
    """(7e7 · 65,250 + 4e6 · 131,072) / 131,072 = 38,847,259.5, and 38,847,000 · 128 div 21,000 = 236,781."""
    assert from_l1.recorded_variable_cost(70_000_000, 4_000_000) == 38_847_000
    assert from_l1.priority_fee_from_l1(128, 21_000, base_fee=70_000_000, blob_base_fee=4_000_000) == 236_781


def test_the_operations_are_in_the_coordinators_order():
    """WMAFeesCalculator and GasUsageRatioWeightedAverageFeesCalculator multiply sums before they divide."""
    fee = coordinator.weighted_moving_average_fee(
        [53_544_977_194, 15_145_071_185], [7_668_790_245], [0.48551203472487536],
        base_fee_coefficient=0.1, priority_fee_coefficient=1.2,
    )  # fmt: skip
    assert fee == 10_717_055_412.499998
    ratio, blob_fee = 0.48551203472487536, 7_668_790_245.0
    price = coordinator.usage_weighted_gas_price(
        [0.0], [0.0], [1.0], [blob_fee], [ratio], execution_gas=120_000, blob_gas=131_000
    )
    assert price == blob_fee * ratio * 0.1 * 131_000 / (ratio * 120_000)


@pytest.mark.parametrize(("elapsed", "target"), [(1e200, 1.0), (1e308, 1e-308), (1.0, 5e-324)])
def test_a_price_cap_that_no_double_holds_is_refused_by_name(elapsed, target):
    with pytest.raises(InvalidInput, match="elapsed: expected a finite result"):
        coordinator.dynamic_gas_price_cap(10**9, elapsed=elapsed, target=target)
