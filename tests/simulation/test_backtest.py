"""The backtest: what real transactions pay for their own size and gas, against the cost of posting them."""

import json
import math

import numpy as np
import pytest

import feemodel
from feemodel import Posting, PricingRule, backtest, simulate
from feemodel.errors import InvalidInput
from feemodel.linea.coordinator import variable_cost
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.priority import breakdown
from feemodel.simulation import Demand, Fixed, OpStackPricing, break_even
from feemodel.simulation.announced import CalldataPressure
from feemodel.simulation.draws import seed_sequence, stream_of
from feemodel.simulation.scenarios import replay
from feemodel.simulation.surfaces import Submission, Workload

ONE_KIND = Workload("one kind", np.array([130]), np.array([21_000]))
GWEI = 10**9
DAY = 86_400  # seconds


#: A day of constant fees.
FLAT = replay({"timestamp": np.arange(144) * 600, "base_fee": [GWEI] * 144, "blob_base_fee": [GWEI // 16] * 144})


def test_one_kind_on_a_flat_l1_is_arithmetic():
    """Every figure by hand: users pay the fee formula, posting costs whole blobs."""
    rule = PricingRule(upper_bound=None, margin=1.5)
    found = backtest(ONE_KIND, FLAT, rule, arrival_rate=2.0, rng=1).isel(path=0)
    count = int(found["transactions"].sum())
    cost = variable_cost(
        GWEI, rule.tip, GWEI // 16, execution_gas=65_250, blob_gas=131_072, bytes_per_submission=131_072, margin=1.5
    )
    announced = PricingRecord.from_bytes(PricingRecord(0, cost, 0).to_bytes()).variable_cost
    parts = breakdown(130, 21_000, variable_cost=announced, fixed_cost=rule.fixed_cost, margin=1.2)
    blobs = math.ceil(count * 130 / 130_048)
    blob_cost = 1.1 * GWEI * 65_250 + GWEI // 16 * 131_072

    assert count == pytest.approx(2 * DAY, rel=0.01)
    assert found["total_fees"].item() == pytest.approx(count * (7 + int(parts.total)) * 21_000, rel=1e-12)
    assert found["data_fees"].sum().item() == pytest.approx(count * (int(parts.total) - 36_000_000) * 21_000, rel=1e-12)
    assert found["submissions"].sum().item() == blobs
    assert found["data_cost"].item() == pytest.approx(blobs * blob_cost, rel=1e-12)
    assert set(found["price"].values[0].round().tolist()) == {announced * 1.2}


def test_totals_are_the_sum_of_exact_fees(real, month):
    """Sums in doubles against Python ints, transaction by transaction."""
    day, rule = month.isel(step=slice(0, 144)), PricingRule()
    found = backtest(real, day, rule, arrival_rate=0.05, rng=7)
    drawn = Demand(rate=0.05, workload=real).arrivals(np.ones(1), 7_200, 12.0, stream_of(seed_sequence(7), 0, 1))
    announced = (found["price"].to_numpy()[0] / 1.2).round().astype(int).tolist()
    total, first = 0, 0
    for step, last in enumerate(drawn.ends.tolist()):
        for kind in drawn.kind[first:last].tolist():
            gas = int(real.gas[kind])
            before_margin = int(real.compressed_size[kind]) * announced[step] // gas + rule.fixed_cost
            total += gas * (7 + int(1.2 * before_margin))
        first = last

    assert found["total_fees"].item() == pytest.approx(total, rel=1e-12)
    assert found["transactions"].sum().item() == drawn.ends[-1]


@pytest.mark.parametrize("ratio", [1.0, 0.52])
def test_the_recovery_at_the_price_of_break_even_is_one(real, month, ratio):
    week, posting = month.isel(step=slice(0, 1_008)), Posting(stream_ratio=ratio)
    even = break_even(week, posting, Demand(workload=real))
    found = backtest(real, week, Fixed(price=even.price), posting, arrival_rate=1.45, rng=1)

    assert found["recovery"].item() == pytest.approx(1.0, abs=1e-9)
    assert found["break_even_level"].item() == pytest.approx(1.0, abs=1e-9)


def test_a_backtest_is_a_simulation(real, month):
    day, rule = month.isel(step=slice(0, 144)), PricingRule(estimate_margin=1.3)
    expected = simulate(day, rule, demand=Demand(rate=0.5, workload=real), record=1, rng=3)

    assert backtest(real, day, rule, arrival_rate=0.5, rng=3).identical(expected)
    assert json.loads(expected.attrs["pricing"])["estimate_margin"] == 1.3
    assert (expected.attrs["workload"], "workload" in expected.attrs["demand"]) == ("real", True)
    assert expected.attrs["resampling"].startswith("transactions are drawn with replacement at 0.5 a second")
    assert [name for name, one in expected.data_vars.items() if not one.attrs.get("units")] == []


def test_another_chains_rule_charges_sizes_without_rounding():
    found = backtest(ONE_KIND, FLAT, OpStackPricing(), arrival_rate=1.0, rng=1)

    assert found["data_fees"].sum().item() == pytest.approx(
        found["price"].values[0, 0] * 130 * found["transactions"].sum().item(), rel=1e-12
    )


def test_calldata_pressure_needs_the_calldata_and_raises_the_price():
    rule = PricingRule(pressure=CalldataPressure(), update_interval=12.0, upper_bound=None)
    with pytest.raises(InvalidInput, match=r"workload\.calldata: expected the calldata of each transaction"):
        backtest(ONE_KIND, FLAT, rule, arrival_rate=1.0, rng=1)
    full = Workload("full", ONE_KIND.compressed_size, ONE_KIND.gas, calldata=np.array([100_000]))

    assert (
        backtest(full, FLAT, rule, arrival_rate=2.0, rng=1)["peak_price"].item()
        > 10 * backtest(full, FLAT, PricingRule(upper_bound=None), arrival_rate=2.0, rng=1)["peak_price"].item()
    )


@pytest.mark.parametrize(("size", "gas", "named"), [(0, 21_000, "compressed_size"), (100, 0, "gas")])
def test_a_workload_that_has_no_price_is_refused(size, gas, named):
    with pytest.raises(InvalidInput, match=named):
        backtest(Workload("wrong", [size], [gas]), FLAT, arrival_rate=1.0, rng=1)


@pytest.mark.parametrize(
    "change", [{"elasticity": 0.5, "reference_fee": 1e12}, {"bytes_per_transaction": 90.0}, {"workload": "real"}]
)
def test_a_demand_of_real_transactions_has_their_sizes_and_does_not_respond(change):
    with pytest.raises(InvalidInput, match=next(iter(change))):
        Demand(**{"workload": ONE_KIND} | change)


def test_settings_may_be_numbers_of_numpy():
    rule = PricingRule(fixed_cost=60_000, base_fee=200)
    submission = Submission(execution_gas=200, capacity=200, tip=60_000)
    narrow = {name: np.uint8(200) for name in ("execution_gas", "capacity")} | {"tip": np.uint16(60_000)}
    expected = backtest(ONE_KIND, FLAT, rule, Posting(submission=submission), arrival_rate=1.0, rng=1)
    found = backtest(
        ONE_KIND, FLAT, PricingRule(fixed_cost=np.uint16(60_000), base_fee=np.int64(200)),
        Posting(submission=Submission(**narrow)), arrival_rate=np.uint8(1), rng=np.int64(1),
    )  # fmt: skip
    assert found.equals(expected)


@pytest.mark.parametrize(
    ("field", "value"), [("update_interval", 0.0), ("window", -1.0), ("margin", math.nan), ("fixed_cost", 1.5)]
)
def test_a_rule_that_cannot_be_is_refused(field, value):
    with pytest.raises(InvalidInput, match=field):
        PricingRule(**{field: value})


def test_reversed_bounds_are_refused_when_the_rule_is_made():
    with pytest.raises(InvalidInput, match="upper_bound: expected at least the lower bound, 2,000,000,000"):
        PricingRule(lower_bound=2e9, upper_bound=1e9)


def test_a_result_has_dates_seed_and_versions(month):
    found = backtest(ONE_KIND, month.isel(step=slice(0, 300)), arrival_rate=1.0, rng=5)

    assert found["date"].to_numpy()[1] - found["date"].to_numpy()[0] == np.timedelta64(1, "D")
    assert found["covered"].values.tolist() == pytest.approx([1.0, 1.0, 300 / 144 - 2])  # the last row lasts too
    assert (found.attrs["seed"], found.attrs["feemodel"]) == ("5", feemodel.__version__)
