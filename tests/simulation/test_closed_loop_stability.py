"""Which gains oscillate and which run away: closed forms met by the simulator from both sides, on flat L1 fees.

With x the price's error and a delay of d steps, x ← x − K · x(d steps ago) oscillates from K = d^d / (d+1)^(d+1) and
runs away from 2 · sin(π / (2 · (2d + 1))). One blob leaves every step, so that nothing but the rule moves the price.
"""

import numpy as np
import pytest

from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies.arbitrum import ArbitrumPricing
from feemodel.simulation.policies.eip1559 import Eip1559
from feemodel.simulation.posting import Posting
from feemodel.simulation.scenarios import replay

BLOB = 130_048  # bytes
STEP = 16.0  # seconds: a power of two, so that the bytes of a step are exact
COST = ((7e7 + 1e8) * 65_250 + 4e6 * 131_072) / BLOB  # of a byte in a full blob [wei]
A_BLOB_A_STEP = Demand(rate=BLOB / STEP, bytes_per_transaction=1.0)
UNITS = 16 * BLOB  # of a batch of one blob, as Arbitrum counts them


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


def arbitrum(ratio, delay, steps, start):
    return price_error(
        ArbitrumPricing(price=COST * (1 + start), equilibration_units=UNITS / ratio, report_delay=delay), steps
    )


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
