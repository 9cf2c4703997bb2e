"""Every pricing policy of the closed loop follows the package's exact formula, or its source's rule, step by step."""

import numpy as np
import pytest

from feemodel.errors import InvalidInput
from feemodel.linea.coordinator import calldata_variable_cost, variable_cost
from feemodel.linea.extra_data import recorded_cost
from feemodel.rollups import arbitrum_l1_pricing, optimism
from feemodel.simulation.announced import CalldataPressure
from feemodel.simulation.closed_loop import observations as at
from feemodel.simulation.closed_loop._pricing import checked_pricing
from feemodel.simulation.policies.arbitrum import ArbitrumPricing
from feemodel.simulation.policies.eip1559 import Eip1559
from feemodel.simulation.policies.fixed import Fixed
from feemodel.simulation.policies.linea import LineaPricing
from feemodel.simulation.policies.op_stack import OpStackPricing

SETTING = at.Setting(12.0, 119.42, 165_000.0, 0.0, False)
RNG = np.random.default_rng(7)
FEES = RNG.integers(30_000_000, 40_000_000_000, 300).astype(float)
BLOB_FEES = RNG.integers(1, 300_000_000, 300).astype(float)
TIP = 100_000_000.0


def driven(pricing, steps, *, base_fee=FEES, blob_base_fee=BLOB_FEES, setting=SETTING, seen=(), settled=()):
    """The three prices of each step; `seen` and `settled` are further columns by the name of their field."""
    policy = checked_pricing(pricing)
    state = policy.start(setting)
    look, price, prices = np.recarray(steps, at.SEEN), at.empty_record(at.PRICE), np.empty((steps, 3))
    look.step, look.base_fee, look.blob_base_fee, look.tip = range(steps), base_fee[:steps], blob_base_fee[:steps], TIP
    look.gas_used_ratio = look.blob_gas_used_ratio = 1.0
    look.time = look.balance = look.calldata = 0.0
    after = np.recarray(steps, at.SETTLED)
    after[:] = np.zeros(1, at.SETTLED)
    for rows, columns in ((look, seen), (after, settled)):
        for name, values in dict(columns).items():
            rows[name] = values[:steps]
    for k in range(steps):
        policy.announce(state, look[k], price)
        prices[k] = price.tolist()
        policy.settle(state, after[k])
    return prices


def test_linea_charges_gas_for_its_base_fee_and_its_fixed_cost():
    assert driven(LineaPricing(base_fee=7, fixed_cost=30_000_000, estimate_margin=1.2), 1)[0, 1] == 7 + 1.2 * 30_000_000


def test_linea_announces_the_record_of_its_average_exactly():
    rule = LineaPricing(estimate_margin=1.0, window=600.0, bytes_per_submission=130_048, upper_bound=1e10)
    found = driven(rule, 300)[:, 0]

    for k in range(300):
        window = slice(max(0, k - 49), k + 1)
        cost = variable_cost(
            FEES[window].mean(), TIP, BLOB_FEES[window].mean(), execution_gas=65_250, blob_gas=131_072,
            bytes_per_submission=130_048, margin=1.0, lower_bound=90_000_001.0, upper_bound=1e10,
        )  # fmt: skip
        assert recorded_cost(cost) == found[k]
    assert np.unique(found).size > 100  # and not only the bound


def test_linea_weighs_blocks_by_their_usage():
    ratios = RNG.random(300)
    rule = LineaPricing(estimate_margin=1.0, window=600.0, lower_bound=None, upper_bound=None)
    found = driven(rule, 300, seen={"gas_used_ratio": ratios, "blob_gas_used_ratio": ratios[::-1]})[:, 0]
    last = slice(250, 300)
    base, blob = np.average(FEES[last], weights=ratios[last]), np.average(BLOB_FEES[last], weights=ratios[::-1][last])
    cost = variable_cost(base, TIP, blob, execution_gas=65_250, blob_gas=131_072, bytes_per_submission=131_072,
                         margin=1.0)  # fmt: skip

    assert recorded_cost(cost) == pytest.approx(found[-1], abs=1_000)


def test_calldata_pressure_raises_what_linea_announces_exactly():
    pressure = CalldataPressure()
    rule = LineaPricing(estimate_margin=1.0, window=12.0, update_interval=12.0, pressure=pressure, lower_bound=None,
                        upper_bound=None)  # fmt: skip
    calldata = RNG.integers(0, 1_000_000, 300).astype(float)
    flat = np.full(300, 7e7)
    found = driven(rule, 300, base_fee=flat, blob_base_fee=flat, seen={"calldata": calldata})[:, 0]
    plain = variable_cost(7e7, TIP, 7e7, execution_gas=65_250, blob_gas=131_072, bytes_per_submission=131_072,
                          margin=1.0)  # fmt: skip
    latest = 0.0
    for k in range(300):
        seen = calldata[k] * 5 * 2.0 / 12.0
        latest = float(recorded_cost(calldata_variable_cost(plain, latest, seen)))
        assert latest == found[k]


def test_the_op_stack_reads_its_origin_without_tip_or_average():
    found = driven(OpStackPricing(), 300)[:, 0]
    for k in range(300):
        scalars = {"base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213}
        price = optimism.scaled_price(l1_base_fee=int(FEES[k]), blob_base_fee=int(BLOB_FEES[k]), **scalars)
        assert price / 1e6 == pytest.approx(found[k], rel=1e-14)


def test_small_transactions_pay_for_100_bytes_on_the_op_stack():
    setting = SETTING._replace(bytes_per_transaction=50.0)

    assert driven(OpStackPricing(), 1, setting=setting)[0, 0] == 2.0 * driven(OpStackPricing(), 1)[0, 0]


def test_the_op_stack_moves_its_base_fee_block_by_block_exactly():
    rule = Eip1559(base_fee=1_000_000, denominator=50, elasticity=3, gas_limit=30_000_000, min_base_fee=900_000,
                   operator_fee_scalar=3, operator_fee_multiplier=100.0, operator_fee_constant=11.0)  # fmt: skip
    gas = RNG.integers(0, 6 * 30_000_000, 300).astype(float)
    found = driven(rule, 300, settled={"gas_used": gas})
    fee = 1_000_000
    for k in range(300):
        assert (fee + 300, 11.0) == (found[k, 1], found[k, 2])
        for _ in range(6):
            fee = optimism.next_base_fee(fee, int(gas[k] / 6), 30_000_000, upgrade="jovian", elasticity=3,
                                         denominator=50, min_base_fee=900_000)  # fmt: skip


def test_arbitrum_reports_move_the_price_as_the_node_does():
    posted = 130_048.0
    fees = RNG.integers(5_000, 30_000, 300) * 10**9 * 16
    spent = RNG.integers(5_000, 30_000, 300) * 10**9 * 16
    rule = ArbitrumPricing(price=16.0 * 10_000_000, equilibration_units=16_000_000.0, reward=10.0)
    found = driven(rule, 300, settled={
        "posted_bytes": np.full(300, posted), "posted_cost": spent, "data_fees": fees,
    })[:, 0]  # fmt: skip
    state = arbitrum_l1_pricing.L1Pricing(price_per_unit=10_000_000)
    for k in range(300):
        # The node rounds down three times a report, each by less than 1 wei.
        assert state.price_per_unit == pytest.approx(found[k] / 16, abs=3.0 * k + 1e-6)
        state = arbitrum_l1_pricing.charged(state, int(posted) * 16, int(fees[k]))
        state = arbitrum_l1_pricing.reported(
            state, update_time=k + 1, current_time=k + 1, wei_spent=int(spent[k]), equilibration_units=16_000_000
        ).state


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Fixed(price=-1.0), "price"),
        (lambda: Fixed(price=1e8, l1_lag=-1), "l1_lag"),
        (lambda: LineaPricing(level=float("nan")), "level"),
        (lambda: LineaPricing(window=3.0).start(SETTING), "window"),
        (lambda: OpStackPricing(base_fee_scalar=1.5), "base_fee_scalar"),
        (lambda: ArbitrumPricing(price=1e8, inertia=0.0), "inertia"),
        (lambda: Eip1559(block_time=5.0).start(SETTING), "step"),
        (lambda: Eip1559(base_fee=1, min_base_fee=2), "base_fee"),
        (lambda: Eip1559(gas_limit=3_000_000_001), "gas_limit"),  # whose products pass 64 bits
        (lambda: Eip1559(gas_limit=30_000_000, elasticity=2_000), "elasticity"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named(make, name):
    with pytest.raises(InvalidInput) as caught:
        make()

    assert name == caught.value.name
