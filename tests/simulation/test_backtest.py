"""The backtest: announced costs, posting, and what users pay against what their bytes cost."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import feemodel
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.io import read_shipped_l1_fees, read_shipped_transactions
from feemodel.linea.coordinator import calldata_variable_cost, variable_cost, weighted_average
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.priority import breakdown
from feemodel.simulation._backtest import Traffic, backtest, draw_traffic, posted_bytes, sums_by_tick
from feemodel.simulation.announced import CalldataPressure, PricingRule, announced_variable_cost, under_pressure
from feemodel.simulation.posting import Posted, Posting, post
from feemodel.simulation.scenarios import beginning, bootstrap, duration, replay, step_starts
from feemodel.simulation.surfaces import Submission, Workload

ONE_KIND = Workload("one kind", np.array([130]), np.array([21_000]))
GWEI = 10**9
HOUR, DAY = 3_600, 86_400  # seconds


def l1(base_fees, blob_base_fees, step=600, **ratios):
    table = {"timestamp": np.arange(len(base_fees)) * step, "base_fee": base_fees, "blob_base_fee": blob_base_fees}
    return replay(table | ratios, source="made by hand")


FLAT = l1([GWEI] * 144, [GWEI // 16] * 144)  # a day


@pytest.fixture(scope="module")
def month():
    return replay(read_shipped_l1_fees(), source="the shipped month")


@pytest.fixture(scope="module")
def real():
    table = read_shipped_transactions().dropna(subset=["gas_used"])
    return Workload("real", table["zstd"].to_numpy(np.int64), table["gas_used"].to_numpy(np.int64))


# Announced costs


def test_a_flat_l1_announces_the_formula_through_the_record():
    rule = PricingRule(upper_bound=None, margin=1.5)
    cost = variable_cost(
        GWEI, rule.tip, GWEI // 16, execution_gas=65_250, blob_gas=131_072, bytes_per_submission=131_072, margin=1.5
    )
    announced = announced_variable_cost(FLAT, rule, ticks=7_200)

    assert set(announced.tolist()) == {PricingRecord.from_bytes(PricingRecord(0, cost, 0).to_bytes()).variable_cost}


def test_the_window_averages_what_has_passed():
    """At each update, the mean of the fees of the last window: by hand over whole steps, weighted by usage ratios."""
    rng = np.random.default_rng(1)
    fees, blob_fees = rng.integers(10**7, 10**9, (2, 12))
    ratios, blob_ratios = rng.random((2, 12))
    series = l1(fees, blob_fees, step=12, gas_used_ratio=ratios, blob_gas_used_ratio=blob_ratios)
    rule = PricingRule(window=48.0, lower_bound=None, upper_bound=None)
    announced = announced_variable_cost(series, rule, ticks=12)

    for tick in range(4, 12):
        past = slice(tick - 4, tick)
        expected = variable_cost(
            weighted_average(fees[past].tolist(), ratios[past].tolist()), rule.tip,
            weighted_average(blob_fees[past].tolist(), blob_ratios[past].tolist()),
            execution_gas=65_250, blob_gas=131_072, bytes_per_submission=131_072, margin=1.0,
        )  # fmt: skip
        assert announced[tick] == pytest.approx(expected, abs=1_000)
    assert announced[0] == announced[1]  # nothing has passed: the first fee


def test_usage_that_leans_to_dear_blocks_announces_more():
    series = l1([10**7, 10**9] * 72, [10**6] * 144)
    rules = [PricingRule(usage_exponent=k, lower_bound=None, upper_bound=None) for k in (-1.0, 0.0, 1.0)]
    low, even, high = (announced_variable_cost(series, rule, ticks=7_200)[-1] for rule in rules)

    assert low < even < high


def test_blocks_without_any_gas_count_alike():
    series = l1([10**9, 3 * 10**9], [10**6] * 2, step=12, gas_used_ratio=[0.0, 0.0], blob_gas_used_ratio=[1.0, 1.0])
    rule = PricingRule(window=24.0, lower_bound=None, upper_bound=None, tip=0.0)
    announced = announced_variable_cost(series, rule, ticks=3)

    assert announced[2] == pytest.approx((2e9 * 65_250 + 1e6 * 131_072) / 131_072, abs=1_000)


def test_announced_costs_hold_until_the_next_update(month):
    rule = PricingRule(update_interval=600.0)
    announced = announced_variable_cost(month, rule, ticks=100).reshape(10, 10)

    assert rule.tick == 60.0
    assert (announced == announced[:, :1]).all()
    assert len(set(announced[:, 0].tolist())) > 1


def test_bounds_hold(month):
    rule = PricingRule(lower_bound=2e8, upper_bound=3e8)
    announced = announced_variable_cost(month, rule, ticks=200_000)

    assert (announced.min(), announced.max()) == (200_000_000, 300_000_000)


def test_pressure_follows_the_formula_update_by_update():
    rng = np.random.default_rng(2)
    calldata = rng.integers(0, 600_000, 400)
    rule = PricingRule(pressure=CalldataPressure(), upper_bound=None, update_interval=10.0)  # 5 blocks of 2 s
    announced = announced_variable_cost(FLAT, rule, ticks=400, calldata=calldata)
    cost = float(announced_variable_cost(FLAT, PricingRule(upper_bound=None), ticks=1)[0])
    latest, expected = 0.0, []
    for seen in [0, *calldata[:-1].tolist()]:
        latest = calldata_variable_cost(cost, latest, seen) // 1_000 * 1_000
        expected.append(int(latest))

    assert max(expected) > cost
    assert announced.tolist() == expected


def test_pressure_is_held_at_what_a_record_can_carry():
    announced = under_pressure(np.full(400, 1e9), np.full(400, 1 + 1 / 32))

    assert announced[-1] == (2**32 - 1) * 1_000
    assert announced[0] == 10**9


def test_pressure_without_calldata_is_refused():
    rule = PricingRule(pressure=CalldataPressure())
    with pytest.raises(InvalidInput, match="calldata: expected the calldata of each tick"):
        backtest(ONE_KIND, FLAT, rule, arrival_rate=1.0, rng=1)


@pytest.mark.parametrize(
    ("field", "value"), [("update_interval", 0.0), ("window", -1.0), ("margin", math.nan), ("fixed_cost", 1.5)]
)
def test_a_rule_that_cannot_be_is_refused(field, value):
    with pytest.raises(InvalidInput, match=field):
        PricingRule(**{field: value})


# Posting


def test_filled_blobs_leave_when_they_are_full():
    stream = np.arange(1, 101) * 10.0  # ten bytes a tick of 6 s
    posting = Posting(submission=Submission(capacity=250))
    posted = post(stream, 6.0, posting, FLAT)

    assert posted.time.tolist() == [150.0, 300.0, 450.0, 600.0]
    assert posted.end.tolist() == [250.0, 500.0, 750.0, 1000.0]
    assert set(posted.cost.tolist()) == {(GWEI + 10**8) * 65_250 + GWEI // 16 * 131_072}


def test_a_deadline_posts_what_there_is():
    stream = np.array([100.0, 100.0, 100.0, 100.0, 200.0, 200.0])  # in the first tick of 100 s and in the fifth
    posting = Posting(submission=Submission(capacity=1_000), deadline=150.0)
    posted = post(stream, 100.0, posting, FLAT)

    assert posted.time.tolist() == [150.0, 550.0]
    assert posted.end.tolist() == [100.0, 200.0]


def test_fees_are_those_of_the_moment_of_posting():
    stream = np.arange(1, 121) * 10.0  # over 1,200 s: two steps of L1 fees
    posting = Posting(submission=Submission(capacity=600))
    costs = post(stream, 10.0, posting, l1([GWEI, GWEI, 2 * GWEI], [1, 1, 1])).cost

    assert costs.tolist() == [1.1 * GWEI * 65_250 + 131_072, 2.1 * GWEI * 65_250 + 131_072]


@given(
    arrivals=st.lists(st.integers(0, 400), min_size=1, max_size=60).filter(any),
    capacity=st.integers(1, 1_000),
    deadline=st.none() | st.integers(60, 300),
)
def test_every_byte_is_posted_once_and_in_time(arrivals, capacity, deadline):
    stream, edges = np.cumsum(np.array(arrivals, dtype=float)), np.arange(len(arrivals) + 1) * 10.0
    posting = Posting(submission=Submission(capacity=capacity), deadline=deadline)
    posted = post(stream, 10.0, posting, FLAT)
    sizes = np.diff(posted.end, prepend=0.0)

    assert posted.end[-1] == stream[-1]
    assert (sizes > 0).all()
    assert (sizes <= capacity * (1 + 1e-9)).all()
    assert (np.diff(posted.time) >= 0).all()
    assert posted.time[-1] <= edges[-1]
    there = np.interp(posted.time, edges, np.append(0.0, stream))
    assert (posted.end <= there * (1 + 1e-9) + 1e-6).all()  # nothing is posted before it came
    if deadline is not None:
        overdue = np.interp(posted.time - deadline, edges, np.append(0.0, stream))
        assert (overdue <= np.append(0.0, posted.end[:-1]) * (1 + 1e-9) + 1e-6).all()


def test_cost_is_spread_over_the_bytes_of_a_submission():
    posted = Posted(np.array([1.0, 2.0]), np.array([100.0, 150.0]), np.array([5.0, 10.0]))

    assert posted.cost_up_to(np.array([0.0, 50.0, 100.0, 110.0, 150.0])).tolist() == [0.0, 2.5, 5.0, 7.0, 15.0]


@pytest.mark.parametrize(
    ("change", "message"), [({"deadline": 0.0}, "deadline"), ({"stream_ratio": -1.0}, "stream_ratio")]
)
def test_a_policy_that_cannot_be_is_refused(change, message):
    with pytest.raises(InvalidInput, match=message):
        Posting(**change)


def test_a_deadline_finer_than_arrivals_is_refused():
    with pytest.raises(InvalidInput, match="deadline: expected at least one tick, 100 s, got 60"):
        post(np.array([100.0, 200.0]), 100.0, Posting(deadline=60.0), FLAT)


# The whole


def test_one_kind_on_a_flat_l1_is_arithmetic():
    """Every figure by hand: users pay the fee formula, posting costs whole blobs."""
    rule = PricingRule(upper_bound=None)
    found = backtest(ONE_KIND, FLAT, rule, arrival_rate=2.0, rng=1).isel(path=0)
    count = int(found["transactions"].sum())
    announced = int(announced_variable_cost(FLAT, rule, ticks=1)[0])
    parts = breakdown(130, 21_000, variable_cost=announced, fixed_cost=rule.fixed_cost, margin=1.2)
    paid = (7 + int(parts.total)) * 21_000
    blobs = math.ceil(count * 130 / 130_048)
    blob_cost = 1.1 * GWEI * 65_250 + GWEI // 16 * 131_072

    assert count == pytest.approx(2 * DAY, rel=0.01)
    assert float(found["total_revenue"]) == pytest.approx(count * paid, rel=1e-12)
    assert float(found["total_size_revenue"]) == pytest.approx(count * (int(parts.total) - 36_000_000) * 21_000)
    assert float(found["submissions"]) == blobs
    assert float(found["total_cost"]) == pytest.approx(blobs * blob_cost, rel=1e-12)
    assert float(found["fill"]) == pytest.approx(count * 130 / (blobs * 130_048))
    assert found["variable_cost"].values.tolist() == [announced] * 24


def test_the_parts_add_up(real, month):
    found = backtest(real, month, arrival_rate=0.5, rng=1)

    assert found["attributed_cost"].values.sum() == pytest.approx(found["total_cost"].item(), rel=1e-9)
    assert found["cost"].values.sum() == pytest.approx(found["total_cost"].item(), rel=1e-12)
    assert found["revenue"].values.sum() == pytest.approx(found["total_revenue"].item(), rel=1e-12)
    assert found["charged"].sum() == found["transactions"].sum()
    below = found["ratio_high"] <= 1.0  # one is an edge of the bins
    assert found["charged"].sel(ratio_bin=below).sum() == found["unprofitable"].sum()
    assert found["recovery"].item() == found["total_revenue"].item() / found["total_cost"].item()


def test_totals_are_the_sum_of_exact_fees(real, month):
    """Hour by hour sums in doubles against Python ints, transaction by transaction."""
    day = month.isel(step=slice(0, 144))
    rule, rng = PricingRule(), 7
    found = backtest(real, day, rule, arrival_rate=0.05, rng=rng)
    traffic = draw_traffic(len(real), 0.05 * rule.tick, 7_200, np.random.default_rng(rng).spawn(1)[0])
    announced = announced_variable_cost(day, rule, ticks=7_200).tolist()
    total, first = 0, 0
    for tick, last in enumerate(traffic.ends.tolist()):
        for kind in traffic.kind[first:last].tolist():
            gas = int(real.gas[kind])
            before_margin = int(real.compressed_size[kind]) * announced[tick] // gas + rule.fixed_cost
            total += gas * (7 + int(1.2 * before_margin))
        first = last

    assert found["total_revenue"].item() == pytest.approx(total, rel=1e-12)


def test_a_rise_of_l1_that_prices_do_not_follow_is_a_drawdown():
    """Bounds hold the announced cost at a tenth: after the rise each hour loses, the loss of the hours adds up."""
    series = l1([GWEI] * 72 + [100 * GWEI] * 72, [GWEI // 16] * 144)
    rule = PricingRule(fixed_cost=0, base_fee=0, lower_bound=None, upper_bound=2e9)
    found = backtest(ONE_KIND, series, rule, arrival_rate=20.0, rng=1).isel(path=0)
    balance = (found["revenue"] - found["cost"]).values

    assert (balance[:12] > 0).all()
    assert (balance[13:] < 0).all()
    fall = -np.cumsum(balance)[-1] + np.cumsum(balance).max()
    assert found["max_drawdown"].item() == pytest.approx(fall, rel=1e-9)
    assert found["unprofitable"].values[14:].sum() == found["transactions"].values[14:].sum()


def test_a_profit_throughout_has_no_drawdown():
    rule = PricingRule(fixed_cost=GWEI)
    found = backtest(ONE_KIND, FLAT, rule, arrival_rate=20.0, rng=1)

    assert found["max_drawdown"].item() == 0.0
    assert found["unprofitable_share"].item() == 0.0


def test_traffic_does_not_depend_on_the_rule_and_more_margin_pays_more(real, month):
    week = bootstrap(month, paths=2, block_seconds=DAY, horizon=2 * DAY, rng=1)
    low, high = (backtest(real, week, PricingRule(estimate_margin=m), arrival_rate=0.5, rng=1) for m in (1.0, 1.3))

    assert low["transactions"].equals(high["transactions"])
    assert low["cost"].equals(high["cost"])
    assert high["size_revenue"].values == pytest.approx(
        1.3 * low["size_revenue"].values, rel=1e-5
    )  # fees are truncated
    assert (high["unprofitable"].values <= low["unprofitable"].values).all()


@pytest.mark.parametrize("interval", [0.7, 11.0, 60.0, 3_600.0, 100_000.0])
def test_any_update_interval_gives_whole_hours(interval):
    """Ticks that do not divide an hour: every transaction and every submission still falls into one."""
    found = backtest(ONE_KIND, FLAT, PricingRule(update_interval=interval), arrival_rate=0.5, rng=1).isel(path=0)
    lasts = int(found["transactions"].sum()) / 0.5 / HOUR

    assert found.sizes["hour"] == pytest.approx(lasts, abs=1.2)
    assert found["cost"].values.sum() == pytest.approx(found["attributed_cost"].values.sum(), rel=1e-9)


def test_a_part_of_a_scenario_begins_with_its_first_step(month):
    part = month.isel(step=slice(1_000, 1_300))
    again = part.assign_coords(elapsed=part["elapsed"] - part["elapsed"][0])
    posted = [post(np.cumsum(np.full(500, 1e4)), 360.0, Posting(), fees) for fees in (part, again)]

    assert (duration(part), step_starts(part)[0], beginning(part, HOUR).sizes["step"]) == (300 * 600.0, 0.0, 6)
    assert posted[0].cost.tolist() == posted[1].cost.tolist()
    assert backtest(ONE_KIND, part, arrival_rate=0.1, rng=1).identical(
        backtest(ONE_KIND, again, arrival_rate=0.1, rng=1)
    )


def test_a_deadline_costs_more_than_filling(real, month):
    week = month.isel(step=slice(0, 1_000))
    fill = backtest(real, week, arrival_rate=0.5, rng=1)
    dated = backtest(real, week, posting=Posting(deadline=300.0), arrival_rate=0.5, rng=1)

    assert dated["submissions"].item() > 2 * fill["submissions"].item()
    assert dated["fill"].item() < 0.5 < 0.99 < fill["fill"].item()
    assert dated["total_cost"].item() > 1.5 * fill["total_cost"].item()


def test_a_shared_stream_costs_in_proportion(real, month):
    day = month.isel(step=slice(0, 144))
    whole, shared = (
        backtest(real, day, posting=Posting(stream_ratio=ratio), arrival_rate=20.0, rng=1) for ratio in (1.0, 0.5)
    )

    assert shared["submissions"].item() == math.ceil(whole["submissions"].item() * whole["fill"].item() / 2)


def test_every_result_says_what_was_assumed(real, month):
    found = backtest(real, month.isel(step=slice(0, 20)), arrival_rate=0.5, rng=1)

    assert found.attrs["resampling"] == (
        "transactions are drawn with replacement at 0.5 a second; their own times are not used"
    )
    assert found.attrs["tips"] == "assumed: 0.1 gwei / gas in the pricing, 0.1 gwei / gas paid"
    assert found.attrs["usage_ratios"] == "assumed: all blocks have equal weights"
    assert json.loads(found.attrs["rule"])["estimate_margin"] == 1.2
    assert json.loads(found.attrs["posting"])["submission"]["capacity"] == 130_048
    assert all("units" in found[name].attrs for name in found.data_vars)


def test_progress_is_told_of_every_path(real, month):
    told = []
    days = bootstrap(month, paths=3, block_seconds=DAY, horizon=DAY, rng=1)
    backtest(real, days, arrival_rate=0.1, rng=1, progress=told.append)

    assert told == [1, 1, 1]


@pytest.mark.parametrize(
    ("sizes", "gas", "message"),
    [
        ([], [], "workload: expected at least one transaction, got 'wrong'"),
        ([0], [21_000], "compressed_size"),
        ([100], [0], "gas"),
    ],
)
def test_a_workload_that_has_no_price_is_refused(sizes, gas, message):
    with pytest.raises(InvalidInput, match=message):
        backtest(Workload("wrong", sizes, gas), FLAT, arrival_rate=1.0, rng=1)


def test_settings_may_be_numbers_of_numpy():
    rule, submission = (
        PricingRule(fixed_cost=60_000, base_fee=200),
        Submission(execution_gas=200, capacity=200, tip=60_000),
    )
    narrow = {name: np.uint8(200) for name in ("execution_gas", "capacity")} | {"tip": np.uint16(60_000)}
    expected = backtest(ONE_KIND, FLAT, rule, Posting(submission=submission), arrival_rate=1.0, rng=1)
    found = backtest(
        ONE_KIND, FLAT, PricingRule(fixed_cost=np.uint16(60_000), base_fee=np.int64(200)),
        Posting(submission=Submission(**narrow)), arrival_rate=np.uint8(1), rng=np.int64(1),
    )  # fmt: skip
    assert found.identical(expected)


def test_columns_of_a_workload_go_by_the_same_labels():
    with pytest.raises(InvalidInput, match="compressed_size, gas: expected Series with equal indexes"):
        Workload("wrong", pd.Series([1, 2]), pd.Series([1, 2], [1, 0]))


def test_a_path_without_a_transaction_is_refused():
    with pytest.raises(InvalidInput, match="arrival_rate: expected a rate at which at least one transaction arrives"):
        backtest(ONE_KIND, FLAT, arrival_rate=0.0, rng=1)


def test_a_scenario_shorter_than_a_tick_is_refused():
    with pytest.raises(InvalidInput, match="l1_fees: expected a scenario of at least one tick"):
        backtest(ONE_KIND, l1([10**6, 10**6], [1, 1], step=5), arrival_rate=1.0, rng=1)


def test_sums_that_64_bits_do_not_hold_are_refused():
    traffic = Traffic(np.array([0, 0, 0, 0]), np.array([4]))
    with pytest.raises(Int64Overflow, match=r"compressed_size: expected 4 values whose sum is below 2\*\*63"):
        posted_bytes(Workload("large", [2**62], [1]), traffic, Posting())
    with pytest.raises(Int64Overflow, match=r"values: expected 4 values whose sum is below 2\*\*63"):
        sums_by_tick(np.full(4, 2**62), traffic)
    assert sums_by_tick(np.full(4, 2**61 - 1), traffic).tolist() == [2**63 - 4]


def test_a_result_has_dates_units_meanings_seed_and_versions():
    dates = np.datetime64("2026-01-07T00:00", "ns") + np.arange(30) * np.timedelta64(10, "m")
    table = {"time": dates, "base_fee": [7e7] * 30, "blob_base_fee": [4e6] * 30}
    fees = replay(table, source="by hand")
    workload = Workload("one kind", np.array([100]), np.array([21_000]))
    found = backtest(workload, fees, arrival_rate=1.0, rng=5)

    assert found["time"].to_numpy()[1] == np.datetime64("2026-01-07T01:00")
    assert [name for name, one in found.variables.items() if not one.attrs.get("long_name")] == []
    assert [name for name, one in found.data_vars.items() if not one.attrs.get("units")] == []
    assert (found.attrs["seed"], found.attrs["feemodel"]) == ("5", feemodel.__version__)


def test_reversed_bounds_are_refused_when_the_rule_is_made():
    with pytest.raises(InvalidInput, match="upper_bound: expected at least the lower bound, 2,000,000,000"):
        PricingRule(lower_bound=2e9, upper_bound=1e9)
