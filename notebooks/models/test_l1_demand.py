"""Paths of L1 fees on which the real rules follow simulated demand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.special import ndtri

from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market
from feemodel.ethereum.fee_market import GAS_PER_BLOB, MAINNET, BlobRules, next_base_fee, next_excess_blob_gas
from feemodel.io import read_shipped_l1_fees
from feemodel.simulation.scenarios import bootstrap, replay
from models import l1_demand
from models.l1_demand import autocorrelation, drive

JANUARY_2026 = 1_767_795_000  # seconds; BPO2 rules
HOUR, DAY = 3_600, 86_400  # seconds


@pytest.fixture(scope="module")
def history():
    return replay(read_shipped_l1_fees(), source="the shipped month")


@pytest.fixture(scope="module")
def model(history):
    return l1_demand.fit(history)


def test_more_paths_leave_the_first_ones_as_they_are(model):
    few, many = (l1_demand.simulate(model, paths=n, horizon=HOUR, timestamp=JANUARY_2026, rng=5) for n in (1, 2))

    assert few["blob_base_fee"].equals(many["blob_base_fee"].isel(path=[0]))


def test_a_horizon_in_another_unit_is_refused_with_the_unit(model):
    with pytest.raises(InvalidInput, match=r"horizon: .*in seconds; 24 h = 86,400"):
        l1_demand.simulate(model, paths=1, horizon=24.0, timestamp=JANUARY_2026, rng=1)


def test_gaps_of_the_history_are_said(history):
    gap = history.assign_attrs(gaps="1 of more than 1,500 s")

    assert l1_demand.fit(gap).source == "the shipped month (rows 600 s apart, also over gaps: 1 of more than 1,500 s)"
    assert l1_demand.fit(history).source == "the shipped month"


@pytest.mark.parametrize("rules", MAINNET.rows, ids=lambda rules: rules.name)
@pytest.mark.parametrize("start", [7, 70_000_000, 45_000_000_000])
def test_driven_paths_follow_the_rules_of_l1_exactly(rules, start):
    """Each block of the kernel, against the formulas in whole numbers."""
    rng, count, limit = np.random.default_rng(3), 20_000, 60_000_000
    demand = start * np.exp(rng.standard_normal(count).cumsum() * 0.05 + rng.standard_normal(count))
    blobs = np.minimum(rng.negative_binomial(1.56, 0.3, count), rules.maximum)
    target, most = rules.target * GAS_PER_BLOB, rules.maximum * GAS_PER_BLOB
    excess = round(rules.update_fraction * np.log(max(1, start / 16)))
    base_fees, excesses, used = drive(
        demand, blobs, start, excess, limit, target, most, rules.update_fraction, rules.reserve
    )

    assert used.max() <= limit
    assert next_base_fee(base_fees[:-1], used[:-1], limit).tolist() == base_fees[1:].tolist()
    following = next_excess_blob_gas(excesses[:-1], blobs[:-1] * GAS_PER_BLOB, base_fees[:-1], rules.timestamp)
    assert following.tolist() == excesses[1:].tolist()


def test_the_base_fee_comes_to_the_demand_price():
    """At a steady demand the fee settles where half the gas is used, which is what the demand price means."""
    base_fees, _, used = drive(np.full(500, 3e9), np.zeros(500, np.int64), 10**6, 0, 60_000_000, 1, 2, 3, False)

    assert base_fees[-1] == pytest.approx(3e9, rel=1e-6)
    assert used[-1] == pytest.approx(30_000_000, rel=1e-6)


def test_scarce_blobs_cost_the_reserve():
    """Far fewer blobs than the target, a steady base fee: the blob base fee hovers about a sixteenth of it."""
    row, rng = MAINNET.rows[-1], np.random.default_rng(1)
    blobs = np.minimum(rng.negative_binomial(1.56, 1.56 / (1.56 + 4.81), 40_000), row.maximum)
    rules = (row.target * GAS_PER_BLOB, row.maximum * GAS_PER_BLOB, row.update_fraction, row.reserve)
    base_fees, excesses, _ = drive(np.full(40_000, 8e8), blobs, 800_000_000, 0, 60_000_000, *rules)
    reserve_bound = base_fees[30_000:] > 16 * np.exp(excesses[30_000:] / row.update_fraction)

    # The excess must not drift: p · u / 3 = (1 − p) · (14 − u) at u = 4.81 blobs
    assert reserve_bound.mean() == pytest.approx((14 - 4.81) / (14 - 4.81 + 4.81 / 3), abs=0.01)
    assert np.median(np.exp(excesses[30_000:] / row.update_fraction)) == pytest.approx(8e8 / 16, rel=0.1)


def test_the_fitted_demand_is_the_observed_distribution(history, model):
    levels = np.array([0.05, 0.5, 0.95])
    observed = np.quantile(history["base_fee"].to_numpy(), levels)

    assert model.price(ndtri(levels)) == pytest.approx(observed, rel=0.02)
    assert model.cycle.index(max(model.cycle)) == 15  # UTC: the American morning
    assert model.price(np.array([5.0, 6.0]))[1] > model.price(np.array([5.0, 6.0]))[0] > observed[-1]  # the tail


def test_demand_for_more_blobs_than_the_target_is_refused_once_it_has_no_price(model):
    with pytest.raises(InvalidInput, match="numerator"):
        l1_demand.simulate(
            replace(model, blobs_per_block=60.0), paths=1, horizon=10 * DAY, timestamp=JANUARY_2026, rng=1
        )


def test_a_demand_model_needs_days_of_history(history):
    with pytest.raises(InvalidInput, match="expected at least 8 days"):
        l1_demand.fit(history.isel(step=slice(0, 500)))
    with pytest.raises(InvalidInput, match="expected one path with datetimes"):
        l1_demand.fit(bootstrap(history, paths=1, block_seconds=DAY, rng=1))


def test_autocorrelation_is_that_of_a_known_process():
    values = lfilter([1.0], [1.0, -0.8], np.random.default_rng(1).standard_normal((1, 200_000)), axis=1)

    assert autocorrelation(values, 3)[0] == pytest.approx(0.8**3, abs=0.01)
    assert np.isnan(autocorrelation(values[:, :10], 10)[0])


@pytest.mark.parametrize("rules", MAINNET.rows[2:], ids=lambda rules: rules.name)
def test_the_kernel_decides_the_reserve_as_the_exact_rule_does(rules):
    random = np.random.default_rng(1)
    for _ in range(2_000):
        excess = int(random.uniform(0, 25) * rules.update_fraction)  # below 100 gwei the kernel is exact
        price = fee_market.blob_base_fee(excess, rules.timestamp)
        near = random.random() < 0.7
        base_fee = 16 * price + int(random.integers(-2, 3)) if near else int(price * random.uniform(8, 24))
        base_fee = max(base_fee, 0)
        expected = fee_market.reserve_binds(excess, base_fee, rules.timestamp)

        assert expected == bool(l1_demand.reserve_binds(excess, base_fee, rules.update_fraction))
        assert fee_market.next_excess_blob_gas(excess, 9 * GAS_PER_BLOB, base_fee, rules.timestamp) == int(
            l1_demand.next_excess_blob_gas(
                excess, 9 * GAS_PER_BLOB, base_fee, rules.target * GAS_PER_BLOB, rules.maximum * GAS_PER_BLOB,
                rules.update_fraction, True,
            )
        )  # fmt: skip


ROWS = st.sampled_from(MAINNET.rows)


@given(ROWS, st.floats(0, 26))
def test_the_compiled_blob_base_fee_is_exact_while_64_bits_hold_it(row: BlobRules, exponent: float) -> None:
    excess = int(row.update_fraction * exponent)

    assert l1_demand.compiled_blob_base_fee(excess, row.update_fraction) == fee_market.blob_base_fee(
        excess, row.timestamp
    )


@given(ROWS, st.floats(26, 42))
def test_the_compiled_blob_base_fee_is_close_beyond(row: BlobRules, exponent: float) -> None:
    excess = int(row.update_fraction * exponent)

    compiled = l1_demand.compiled_blob_base_fee(excess, row.update_fraction)
    assert compiled == pytest.approx(fee_market.blob_base_fee(excess, row.timestamp), rel=1e-9)


@given(ROWS, st.integers(0, 26 * 10**6), st.integers(0, 21), st.integers(1, 10**12))
def test_the_compiled_excess_is_the_formula(row: BlobRules, excess: int, blobs: int, base_fee: int) -> None:
    used, target, most = (count * GAS_PER_BLOB for count in (blobs, row.target, row.maximum))
    compiled = l1_demand.next_excess_blob_gas(excess, used, base_fee, target, most, row.update_fraction, row.reserve)

    assert compiled == fee_market.next_excess_blob_gas(excess, used, base_fee, row.timestamp)
