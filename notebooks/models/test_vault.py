"""Controllers of a fee vault: their published formulas, and where they oscillate or run away."""

import numpy as np
import pytest

from feemodel.errors import InvalidInput
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.posting import Posting
from models.vault import VaultEip1559, VaultPricing
from tests.simulation.test_closed_loop_policies import BLOB_FEES, FEES, RNG, TIP, driven
from tests.simulation.test_closed_loop_stability import (
    BLOB,
    COST,
    STEP,
    crossings,
    last_tenth,
    price_error,
    recorded,
)

DAYS_BETWEEN_POSTINGS = 1 / 115
TARGET_DAYS = 10.0


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
        (lambda: VaultPricing(kp=1.0), "target_balance"),
        (lambda: VaultPricing(min_price=2e6, max_price=1e6), "max_price"),
        (lambda: VaultPricing(max_price=3.0), "max_price"),  # in gwei
        (lambda: VaultEip1559(price=1e8), "target_balance"),
        (lambda: VaultEip1559(price=0.1, target_balance=1e18), "price"),  # in gwei
    ],
)
def test_a_wrong_parameter_is_named(make, name):
    with pytest.raises(InvalidInput) as caught:
        make()

    assert name == caught.value.name


def proportional(gain, delay, steps):
    """A P controller whose price starts a thousandth too high."""
    target = 1e6 * BLOB * COST
    return price_error(
        VaultPricing(kp=gain * target / BLOB, target_balance=target, level=1.001, l1_lag=0, balance_lag=delay), steps
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
