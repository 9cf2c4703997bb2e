"""Parameters in another unit than theirs are refused with a hint at the unit."""

import numpy as np
import pandas as pd
import pytest

from feemodel.errors import InvalidInput
from feemodel.simulation import samples
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.backtest import backtest
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.paths import Bootstrap
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies.arbitrum import ArbitrumPricing
from feemodel.simulation.policies.eip1559 import Eip1559
from feemodel.simulation.policies.fixed import Fixed
from feemodel.simulation.policies.linea import LineaPricing
from feemodel.simulation.posting import Costs, Posting, PriceCap
from feemodel.simulation.scenarios import bootstrap, replay
from feemodel.simulation.surfaces import Submission, Workload

SECONDS = 12 * np.arange(1_000)
FEES = replay({"timestamp": SECONDS, "base_fee": np.full(1_000, 7e7), "blob_base_fee": np.full(1_000, 4e6)})
TRANSFERS = Workload("transfers", np.array([128]), np.array([21_000]))

SLIPS = {
    "hours of a target delay": (lambda: PriceCap(target_delay=16.0), "target_delay: .*in seconds; 16 h = 57,600"),
    "days of a window": (lambda: PriceCap(window=7.0), "window: .*in seconds; 7 days = 604,800"),
    "per cent of the caps": (lambda: PriceCap(coefficient=90.0), "coefficient: .*a factor; 52 % = 0.52"),
    "gwei of a cap": (lambda: PriceCap(tip_cap=0.1), "tip_cap: .*in wei; 0.1 gwei = 100,000,000"),
    "gwei of a submission": (lambda: Submission(tip=0.1), "tip: .*in wei"),
    "per cent of the stream": (lambda: Posting(stream_ratio=52.0), "stream_ratio: .*a factor; 52 % = 0.52"),
    "ETH of another layer": (lambda: Posting(layer_cost_per_mib=1e-5), "layer_cost_per_mib: .*in wei"),
    "per cent of a margin": (lambda: PricingRule(margin=120.0), "^margin: .*a factor; 20 % more = 1.2"),
    "per cent of an estimate": (lambda: PricingRule(estimate_margin=120.0), "estimate_margin: .*a factor"),
    "gwei of a tip": (lambda: PricingRule(tip=0.1), "tip: .*in wei"),
    "gwei of a bound": (lambda: PricingRule(lower_bound=0.09), "lower_bound: .*in wei"),
    "hours of a block": (lambda: bootstrap(FEES, paths=1, block_seconds=24.0, rng=1), "block_seconds: .*in seconds"),
    "hours of a path": (
        lambda: bootstrap(FEES, paths=1, block_seconds=600.0, horizon=72.0, rng=1),
        "horizon: .*in sec",
    ),
    "hours of a drawn block": (
        lambda: simulate(FEES, Fixed(price=1e8), bootstrap=Bootstrap(paths=2, block_seconds=24.0)),
        "block_seconds: .*in seconds; 24 h = 86,400",
    ),
    "days of a drawn path": (lambda: Bootstrap(paths=2, horizon=30.0), "horizon: .*in seconds"),
    "hours of a finalization": (lambda: Costs(finalization_gas=1.0, finalize_seconds=6.0), "finalize_seconds: .*in s"),
    "ETH of overhead": (lambda: Costs(overhead_per_month=30.0), "overhead_per_month: .*in wei; 1 ETH are"),
    "gwei of a fee": (lambda: Demand(elasticity=1.0, reference_fee=300.0), "reference_fee: .*300 gwei = 3e11"),
    "hours of a deadline": (lambda: Posting(deadline=16.0), "deadline: .*in seconds; 16 h = 57,600"),
    "gwei of a fixed price": (lambda: Fixed(price=0.1), "price: .*in wei; 0.1 gwei = 100,000,000"),
    "gwei of a first price": (lambda: ArbitrumPricing(price=0.1), "price: .*in wei"),
    "ETH of Linea's balance": (lambda: simulate(FEES, LineaPricing(target_balance=10.0)), "target_balance: .*1 ETH"),
    "gwei of a gas's proof": (lambda: Costs(proving_per_gas=0.05), "proving_per_gas: .*in wei"),
    "milliseconds of a block": (lambda: Eip1559(block_time=2_000.0), "block_time: .*in seconds; 250 ms = 0.25"),
    "millions of a gas limit": (lambda: Eip1559(gas_limit=40), "gas_limit: .*in gas; 30 Mgas ="),
    "transactions of a day": (lambda: Demand(rate=125_280.0), "rate: .*per second; 125,280 per day = 1.45"),
    "thousands of gas": (lambda: Demand(gas_per_transaction=165.0), "gas_per_transaction: .*165 kgas ="),
    "minutes of a window": (lambda: PricingRule(window=10.0), "window: .*in seconds"),
    "gwei of a fixed cost": (lambda: PricingRule(fixed_cost=30), "fixed_cost: .*in wei"),
    "transactions of a day in a backtest": (
        lambda: backtest(TRANSFERS, FEES, arrival_rate=125_280.0, rng=1),
        "rate: .*per second; 125,280 per day = 1.45",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_parameter_in_another_unit_is_refused_with_the_unit(slip):
    make, message = SLIPS[slip]

    with pytest.raises(InvalidInput, match=message):
        make()


def test_rows_drawn_one_by_one_are_blocks_of_a_step():
    assert bootstrap(FEES, paths=1, block_seconds=12.0, rng=1).sizes["step"] == 1_000


@pytest.mark.parametrize("values", [[1.0, 1.2, 1.0], np.array([3, 1, 3])])
def test_a_value_that_an_axis_has_twice_is_refused(values):
    with pytest.raises(InvalidInput, match=r"margin\[2\]: expected unique values on an axis"):
        samples.grid(margin=values)
    assert samples.rows(margin=values)["margin"].size == 3


def test_the_stream_ratio_has_one_meaning():
    """It turns sizes taken one by one into those of the stream; demand in a loop is counted in the stream already."""
    half = Posting(stream_ratio=0.5)
    with pytest.raises(
        InvalidInput, match=r"posting.stream_ratio: expected 1, because bytes_per_transaction of the demand"
    ):
        simulate(FEES, Fixed(price=1e8), half)

    less = backtest(TRANSFERS, FEES, posting=half, arrival_rate=5.0, rng=1)
    assert '"stream_ratio": 0.5' in less.attrs["posting"]


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
        (pd.Series([1, 2]), pd.Series([1, 2], [1, 0]), "compressed_size, gas: expected Series with equal indexes"),
    ],
)
def test_a_workload_is_checked_when_it_is_made(sizes, gas, named):
    with pytest.raises(InvalidInput, match=named):
        Workload("wrong", sizes, gas)
