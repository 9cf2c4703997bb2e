"""Which gains oscillate and which run away: closed forms met by the simulator from both sides, on flat L1 fees.

With x the price's error and a delay of d steps, x ← x − K · x(d steps ago) oscillates from K = d^d / (d+1)^(d+1) and
runs away from 2 · sin(π / (2 · (2d + 1))). One blob leaves every step, so that nothing but the rule moves the price.
"""

import numpy as np
import pytest

from feemodel.rollups.arbitrum_l2_pricing import GasConstraint
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies.arbitrum import ArbitrumPricing
from feemodel.simulation.policies.arbitrum_execution import ArbitrumExecution
from feemodel.simulation.policies.eip1559 import Eip1559
from feemodel.simulation.policies.vault import VaultPricing
from feemodel.simulation.policies.vault_eip1559 import VaultEip1559
from feemodel.simulation.posting import Posting
from feemodel.simulation.scenarios import replay

BLOB = 130_048  # bytes
STEP = 16.0  # seconds: a power of two, so that the bytes of a step are exact
COST = ((7e7 + 1e8) * 65_250 + 4e6 * 131_072) / BLOB  # of a byte in a full blob [wei]
A_BLOB_A_STEP = Demand(rate=BLOB / STEP, bytes_per_transaction=1.0)
UNITS = 16 * BLOB  # of a batch of one blob, as Arbitrum counts them
DAYS_BETWEEN_POSTINGS = 1 / 115
TARGET_DAYS = 10.0


def recorded(pricing, steps, demand=A_BLOB_A_STEP, posting=None, step=STEP):
    times = np.array([0.0, steps * step / 2, steps * step])
    flat = replay({"timestamp": times, "base_fee": [7e7] * 3, "blob_base_fee": [4e6] * 3}, source="flat")
    return simulate(flat, pricing, posting or Posting(), demand, step=step, record=1)


def price_error(pricing, steps, **options):
    return recorded(pricing, steps, **options)["price"].values[0] / COST - 1.0


def crossings(error, noise):
    signs = np.sign(error[np.abs(error) > noise])
    return np.flatnonzero(np.diff(signs) != 0)


def last_tenth(error):
    return np.abs(error[-len(error) // 10 :]).max()


def proportional(gain, delay, steps):
    """A P controller whose price starts a thousandth too high."""
    target = 1e6 * BLOB * COST
    return price_error(
        VaultPricing(kp=gain * target / BLOB, target_balance=target, level=1.001, l1_lag=0, balance_lag=delay), steps
    )


def arbitrum(ratio, delay, steps, start):
    return price_error(
        ArbitrumPricing(price=COST * (1 + start), equilibration_units=UNITS / ratio, report_delay=delay), steps
    )


@pytest.mark.parametrize("delay", [0, 1, 2, 5, 10])
def test_a_vaults_p_controller_oscillates_and_runs_away_where_the_closed_form_says(delay):
    oscillates = delay**delay / (delay + 1) ** (delay + 1)
    runs_away = 2 * np.sin(np.pi / (2 * (2 * delay + 1)))
    steps = 200 * (delay + 1)

    assert crossings(proportional(0.97 * oscillates, delay, 2_000), 1e-10).size == 0
    assert crossings(proportional(1.03 * oscillates, delay, 2_000), 1e-10).size >= 1
    assert last_tenth(proportional(0.97 * runs_away, delay, steps)) < 0.1 * 1e-3
    assert last_tenth(proportional(1.03 * runs_away, delay, steps)) > 10 * 1e-3


@pytest.mark.parametrize(
    ("delay", "oscillates", "runs_away"),
    [(0, 0.3675, 2.183), (1, 0.147, 0.271), (2, 0.0707, 0.107), (5, 0.0263, 0.0343), (10, 0.0127, 0.0159)],
)
def test_arbitrums_controller_oscillates_and_runs_away_where_the_closed_form_says(delay, oscillates, runs_away):
    """r, units of a batch over the equilibration units, against a report that comes so many batches late.

    With a delay a fast mode always oscillates; from the threshold on it is the one that lasts.
    """

    def lasts(ratio):
        error = arbitrum(ratio, delay, 4_000, 0.05)
        end = np.flatnonzero(np.abs(error) > 1e-11)[-1]
        crossed = crossings(error[:end], 0.0)
        return crossed.size > 1 if delay == 0 else bool(crossed[crossed > end / 2].size)

    steps = int(180 / min(runs_away, 1.0) * (1 + delay))

    assert not lasts(0.9 * oscillates)
    assert lasts(1.1 * oscillates)
    assert last_tenth(arbitrum(0.97 * runs_away, delay, steps, 1e-4)) < 0.1 * 1e-4
    assert last_tenth(arbitrum(1.03 * runs_away, delay, steps, 1e-4)) > 10 * 1e-4


def test_one_blob_batches_at_arbitrums_own_setting_are_far_inside_unless_reported_ten_late():
    """r = 0.0130 at 160 million units: calm without delay, oscillating ten late; at 16 million two are too many."""
    own, tenth = UNITS / 160e6, UNITS / 16e6

    assert round(own, 4) == 0.0130
    assert crossings(arbitrum(own, 0, 1_000, 0.05), 1e-9).size == 1
    assert 0.0127 < own < 0.0159
    assert last_tenth(arbitrum(own, 10, 40_000, 1e-4)) < 1e-5
    assert last_tenth(arbitrum(tenth, 2, 3_000, 1e-4)) > 1e-3


@pytest.mark.parametrize(("denominator", "period"), [(8.0, 5.2), (64.0, 14.8)])
def test_multiplying_the_price_never_settles(denominator, period):
    """The vault's EIP-1559 swings for ever with a period of 2π·√(T·D·δ) days, and runs away if it sees a step late."""
    step = 86_400 * DAYS_BETWEEN_POSTINGS
    demand = Demand(rate=BLOB / step, bytes_per_transaction=1.0)
    target = TARGET_DAYS / DAYS_BETWEEN_POSTINGS * BLOB * COST
    steps = int(60 / DAYS_BETWEEN_POSTINGS)

    def error(lag):
        rule = VaultEip1559(price=1.001 * COST, target_balance=target, denominator=denominator, balance_lag=lag)
        return price_error(rule, steps, demand=demand, step=step)

    seen, late = error(0), error(1)
    rises = np.flatnonzero((seen[:-1] < 0) & (seen[1:] >= 0))

    assert round(np.diff(rises).mean() * DAYS_BETWEEN_POSTINGS, 1) == period
    quarter = steps // 4
    assert last_tenth(seen) == pytest.approx(np.abs(seen[:quarter]).max(), rel=1e-3)
    assert np.abs(late[-quarter:]).max() > 1.01 * np.abs(late[:quarter]).max()


@pytest.mark.parametrize(
    ("denominator", "lag", "elasticity"), [(8, 0, 16.0), (8, 1, 8.0), (8, 5, 2.28), (250, 60, 6.5), (250, 150, 2.6)]
)
def test_eip1559_runs_away_from_the_elasticity_of_the_closed_form(denominator, lag, elasticity):
    """K = ε / denominator, users answering so many blocks late."""

    def swing(at):
        base_fee, target, count = 10**12, 20_000_000, 2_000
        demand = Demand(
            rate=count / 2.0, bytes_per_transaction=1.0, gas_per_transaction=target / count, elasticity=at,
            reference_fee=target / count * base_fee, responds_to="total", lag=lag, choke=2.0,
        )  # fmt: skip
        rule = Eip1559(base_fee=int(1.0001 * base_fee), denominator=denominator, gas_limit=2 * target)
        found = recorded(rule, 400 * (lag + 1), demand=demand, step=2.0)
        return last_tenth(found["transactions_in_step"].values[0] / count - 1.0)

    assert swing(0.97 * elasticity) < 1e-5
    assert swing(1.03 * elasticity) > 1e-2


@pytest.mark.parametrize("lag", [0, 1, 5])
def test_arbitrums_shortest_constraint_has_the_same_threshold(lag):
    """K = ε · seconds / window. A block's gas shows in the header after the next: one more step of delay."""

    def swing(elasticity):
        floor, target, count = 10**9, 10_000_000, 1_000
        demand = Demand(
            rate=float(count), bytes_per_transaction=1.0, gas_per_transaction=target / count, elasticity=elasticity,
            reference_fee=1.5 * floor * target / count, responds_to="total", lag=lag, choke=2.0,
        )  # fmt: skip
        rule = ArbitrumExecution(min_base_fee=floor, constraints=(GasConstraint(target, 9),))
        found = recorded(rule, 3_000, demand=demand, step=1.0)
        return last_tenth(found["transactions_in_step"].values[0] / count - 1.0)

    threshold = 9 * 2 * np.sin(np.pi / (2 * (2 * (lag + 1) + 1)))

    assert swing(0.9 * threshold) < 0.02
    assert swing(1.1 * threshold) > 0.1


@pytest.mark.parametrize(
    ("posting", "elasticity", "settles"),
    [(Posting(), 0.5, True), (Posting(), 2.0, True), (Posting(deadline=4 * STEP), 0.5, True),
     (Posting(deadline=4 * STEP), 2.0, False)],
    ids=["a byte costs, 0.5", "a byte costs, 2", "the clock costs, 0.5", "the clock costs, 2"],
)  # fmt: skip
def test_a_controller_on_the_balance_runs_away_where_a_higher_price_earns_less(posting, elasticity, settles):
    """Where costs do not shrink with bytes and demand is elastic, dS/dp = λs · (1 − ε) turns the controller's sign."""
    by_clock = posting.deadline is not None
    size = 0.1 * BLOB if by_clock else BLOB  # of a step
    submitted = 5.0 * size if by_clock else BLOB  # what has waited four steps leaves with what came since
    cost = COST * BLOB / submitted
    demand = Demand(rate=size / STEP, bytes_per_transaction=1.0, elasticity=elasticity, reference_fee=cost)
    target = 1_000 * size * cost
    rule = VaultPricing(
        gas_per_byte=65_250 / submitted, blob_gas_per_byte=131_072 / submitted, kp=0.02 * target / size,
        target_balance=target, l1_lag=0, balance_lag=0, level=0.99,
    )  # fmt: skip
    error = recorded(rule, 3_000, demand=demand, posting=posting)["price"].values[0] / cost - 1.0

    assert bool(np.abs(error).max() < 0.2) is settles
    assert bool(abs(error[-300:].mean()) < 0.02) is settles
