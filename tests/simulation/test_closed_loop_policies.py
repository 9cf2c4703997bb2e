"""Every pricing policy of the closed loop follows the package's exact formula, or its source's rule, step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_market_kernels import next_base_fee
from feemodel.linea import kernels
from feemodel.linea.coordinator import calldata_variable_cost, variable_cost
from feemodel.linea.extra_data import recorded_cost
from feemodel.rollups import arbitrum_l1_pricing, arbitrum_l2_pricing, optimism, taiko
from feemodel.rollups.arbitrum_l2_pricing import GasConstraint
from feemodel.simulation.announced import CalldataPressure
from feemodel.simulation.closed_loop import observations as at
from feemodel.simulation.closed_loop._pricing import checked_pricing
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.loop import announce_execution
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies import arbitrum_execution, eip1559
from feemodel.simulation.policies.arbitrum import ArbitrumPricing
from feemodel.simulation.policies.arbitrum_execution import ArbitrumExecution
from feemodel.simulation.policies.eip1559 import Eip1559
from feemodel.simulation.policies.execution import FixedExecution
from feemodel.simulation.policies.fixed import Fixed
from feemodel.simulation.policies.linea import LineaPricing
from feemodel.simulation.policies.op_stack import OpStackPricing
from feemodel.simulation.policies.taiko import TaikoPricing
from feemodel.simulation.policies.vault import VaultPricing
from feemodel.simulation.policies.vault_eip1559 import VaultEip1559
from feemodel.simulation.scenarios import replay

SETTING = at.Setting(12.0, 119.42, 165_000.0, 0.0, False)
RNG = np.random.default_rng(7)
FEES = RNG.integers(30_000_000, 40_000_000_000, 300).astype(float)
BLOB_FEES = RNG.integers(1, 300_000_000, 300).astype(float)
TIP = 100_000_000.0
MOVES = {Eip1559: eip1559.settle, TaikoPricing: eip1559.settle, ArbitrumExecution: arbitrum_execution.settle}


def driven(pricing, steps, *, base_fee=FEES, blob_base_fee=BLOB_FEES, setting=SETTING, seen=(), settled=()):
    """The three prices of each step; `seen` and `settled` are further columns by the name of their field."""
    policy = checked_pricing(pricing)
    state, execution = policy.start(setting), (policy.execution or FixedExecution()).start(setting)
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
        announce_execution(execution, price)
        prices[k] = price.tolist()
        policy.settle(state, after[k])
        MOVES.get(type(policy.execution), lambda *_: None)(execution, after[k])
    return prices


def test_a_fixed_price_stays():
    execution = FixedExecution(per_gas=30.0, per_transaction=5.0)

    assert driven(Fixed(price=7e6, execution=execution), 3).tolist() == [[7e6, 30.0, 5.0]] * 3


def test_linea_announces_the_record_of_its_average_exactly():
    found = driven(LineaPricing(estimate_margin=1.0, window=600.0, bytes_per_submission=130_048), 300)[:, 0]

    for k in range(300):
        window = slice(max(0, k - 49), k + 1)
        cost = variable_cost(
            FEES[window].mean(), TIP, BLOB_FEES[window].mean(), execution_gas=65_250, blob_gas=131_072,
            bytes_per_submission=130_048, margin=1.0, lower_bound=90_000_001.0, upper_bound=1_000_000_001.0,
        )  # fmt: skip
        assert recorded_cost(cost) == found[k]


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
    found = driven(OpStackPricing(execution=rule), 300, settled={"gas_used": gas})
    fee = 1_000_000
    for k in range(300):
        assert (fee + 300, 11.0) == (found[k, 1], found[k, 2])
        for _ in range(6):
            fee = optimism.next_base_fee(fee, int(gas[k] / 6), 30_000_000, upgrade="jovian", elasticity=3,
                                         denominator=50, min_base_fee=900_000)  # fmt: skip


def test_taiko_moves_its_base_fee_block_by_block_exactly():
    gas = RNG.integers(0, 3 * 240_000_000, 300).astype(float)
    found = driven(TaikoPricing(block_time=4), 300, settled={"gas_used": gas})
    fee = 25_000_000
    for k in range(300):
        assert (0.0, fee) == (found[k, 0], found[k, 1])
        for _ in range(3):
            fee = taiko.next_base_fee(fee, int(gas[k] / 3), 240_000_000, 4)


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


def test_arbitrum_l2_backlogs_price_gas_second_by_second_exactly():
    gas = RNG.integers(0, 12 * 120_000_000, 300)
    found = driven(ArbitrumPricing(price=1e8, execution=ArbitrumExecution()), 300,
                   settled={"gas_used": gas.astype(float)})[:, 1]  # fmt: skip
    seconds = np.repeat((gas / 12).astype(np.int64), 12)
    expected = arbitrum_l2_pricing.base_fees(seconds, np.arange(1, len(seconds) + 1), parent_timestamp=0).base_fees

    assert expected[::12].tolist() == found.tolist()


def test_an_arbitrum_base_fee_beyond_64_bits_is_refused():
    execution = ArbitrumExecution(constraints=(GasConstraint(7_000_000, 102),))
    rule, demand = ArbitrumPricing(price=1e8, execution=execution), Demand(rate=1e5)
    rows = {"timestamp": 12 * np.arange(300), "base_fee": FEES, "blob_base_fee": BLOB_FEES}
    history = replay(rows, source="random")
    with pytest.raises(InvalidInput) as caught:
        simulate(history, rule, demand=demand)

    assert caught.value.name == "pricing"
    assert np.inf in caught.value.value


def test_the_vault_follows_its_published_controller():
    target, balances = 1e18, 1e18 * RNG.normal(1.0, 0.4, 300)
    rule = VaultPricing(kp=0.3, ki=0.01, kd=0.2, target_balance=target, max_price=2e9, min_price=1e6,
                        min_proportional=0.0, gas_per_byte=0.5, blob_gas_per_byte=1.0)  # fmt: skip
    found = driven(rule, 300, seen={"balance": balances})[:, 0]
    integral = filtered = before = 0.0
    for k in range(300):
        error = (target - balances[k]) / target
        integral = min(max(integral + error, 0.0), 10.0)
        filtered = 0.8 * filtered + 0.2 * (error - before if k else 0.0)
        before = error
        span = 2e9 - 1e6
        feedback = max(0.3 * error * span, 0.0) + 0.01 * integral * span + 0.2 * filtered * span
        fee = 0.5 * (FEES[k] + TIP) + BLOB_FEES[k] + feedback
        assert min(max(fee, 1e6), 2e9) == pytest.approx(found[k], rel=1e-12)


def test_the_vault_multiplies_its_price_at_each_posting():
    balances = 1e18 * RNG.normal(1.0, 3.0, 100)
    posted = (np.arange(100) % 3 == 0).astype(float)
    found = driven(VaultEip1559(price=1e8, target_balance=1e18, max_price=1e10), 100,
                   settled={"seen_balance": balances, "posted_bytes": posted})[:, 0]  # fmt: skip
    fee = 1e8
    for k in range(100):
        assert fee == pytest.approx(found[k], rel=1e-12)
        if posted[k]:
            fee = min(fee * (1.0 + min(max((1e18 - balances[k]) / 1e18, -8.0), 1.0) / 8.0), 1e10)
            fee = max(fee, 0.0)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Fixed(price=-1.0), "price"),
        (lambda: Fixed(price=1e8, l1_lag=-1), "l1_lag"),
        (lambda: Fixed(price=1e8, execution=3), "execution"),
        (lambda: LineaPricing(level=float("nan")), "level"),
        (lambda: LineaPricing(window=3.0).start(SETTING), "window"),
        (lambda: OpStackPricing(base_fee_scalar=1.5), "base_fee_scalar"),
        (lambda: ArbitrumPricing(price=1e8, inertia=0.0), "inertia"),
        (lambda: VaultPricing(kp=1.0), "target_balance"),
        (lambda: VaultPricing(min_price=2e6, max_price=1e6), "max_price"),
        (lambda: VaultEip1559(price=1e8), "target_balance"),
        (lambda: Eip1559(block_time=5.0).start(SETTING), "step"),
        (lambda: TaikoPricing(base_fee=1), "base_fee"),
        (lambda: ArbitrumExecution(constraints=(1,)), "constraints"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named(make, name):
    with pytest.raises(InvalidInput) as caught:
        make()

    assert name == caught.value.name


REAL = st.floats(0.0, 1e13)


@given(REAL, REAL, REAL, st.floats(0.0, 10.0), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**7))
def test_the_compiled_variable_cost_is_the_coordinators(base_fee, tip, blob_base_fee, margin, gas, blob_gas, size):
    expected = variable_cost(
        base_fee, tip, blob_base_fee, execution_gas=gas, blob_gas=blob_gas, bytes_per_submission=size, margin=margin
    )

    compiled = kernels.variable_cost(base_fee, tip, blob_base_fee, margin, float(gas), float(blob_gas), float(size))
    assert expected == pytest.approx(compiled, rel=1e-15)


LIMITS = st.integers(taiko.ELASTICITY, eip1559.MAX_GAS_LIMIT)


@given(st.integers(1, 2**53), LIMITS, st.floats(0.0, 1.0), st.integers(1, 60))
def test_the_compiled_step_of_eip_4396_is_taikos(base_fee, gas_limit, share, block_time):
    used, bounds = int(gas_limit * share), {"min_base_fee": 0, "max_base_fee": 2**62}
    target = taiko.adjusted_target(gas_limit, block_time)
    found = next_base_fee(base_fee, used, gas_limit // taiko.ELASTICITY, target, taiko.BASE_FEE_CHANGE_DENOMINATOR)

    assert taiko.next_base_fee(base_fee, used, gas_limit, block_time, **bounds) == max(found, 0)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Eip1559(gas_limit=3_000_000_001), "gas_limit"),  # whose products pass 64 bits
        (lambda: TaikoPricing(gas_limit=2**40), "gas_limit"),
        (lambda: Eip1559(gas_limit=30_000_000, elasticity=2_000), "elasticity"),
        (lambda: ArbitrumExecution(min_base_fee=2**60), "min_base_fee"),
        (lambda: ArbitrumExecution(constraints=(GasConstraint(2**40, 2**40),)), "constraints"),
    ],
)
def test_a_price_of_execution_that_integers_of_64_bits_cannot_hold_is_refused(make, name):
    with pytest.raises(InvalidInput) as caught:
        make()

    assert name == caught.value.name
