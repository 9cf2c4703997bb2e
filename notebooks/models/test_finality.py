"""Submissions that wait: the cheapest step ahead, the tips that are paid, and arguments in another unit."""

import numpy as np
import pytest

from feemodel.errors import InvalidInput
from feemodel.io import read_shipped_l1_fees
from feemodel.simulation.posting import Posting, PriceCap
from feemodel.simulation.scenarios import replay
from models.finality import Clairvoyant, cheapest_step, price_of_finality

CAP, TIP, MORE = Posting(kind="price-cap"), 100_000_000, 1_000_000_000


def random(tip=None):
    rng, steps = np.random.default_rng(3), 4_000
    columns = {
        "timestamp": 1_767_795_167 + 12 * np.arange(steps), "base_fee": rng.integers(10**7, 10**9, steps),
        "blob_base_fee": rng.integers(10**6, 10**8, steps),
    }  # fmt: skip
    return replay(columns if tip is None else columns | {"tip": np.full(steps, tip)}, source="random")


def test_the_cheapest_step_ahead_is_found():
    costs = np.random.default_rng(1).integers(0, 20, 300).astype(float)
    found = cheapest_step(costs, 25)

    for k in range(300):
        ahead = costs[k : k + 26]
        assert k + len(ahead) - 1 - int(np.argmin(ahead[::-1])) == found[k]
    assert (np.diff(found) >= 0).all()


def test_the_tip_that_is_really_paid_grows_with_waiting():
    history = replay(read_shipped_l1_fees(), source="the shipped month")

    def saved(hours, tip):
        cap = PriceCap(target_delay=hours * 3_600.0, tip=tip)
        return float(price_of_finality(history, Posting(kind="price-cap", cap=cap))["saving"])

    saving = {tip: [saved(hours, tip) for hours in (0.5, 16.0)] for tip in ("paid", "constant")}
    bound = float(price_of_finality(history, Clairvoyant(deadline=57_600.0))["saving"])

    assert saving["paid"][0] < 0.0 < saving["constant"][0] < saving["constant"][1] < bound


def test_the_tips_of_the_series_are_paid():
    posting, due = Clairvoyant(deadline=3_600.0), {"interval": 600.0, "first_due": 7_200.0}
    without, same, more = (price_of_finality(random(tip), posting, **due) for tip in (None, TIP, TIP + MORE))

    assert same.equals(without)
    gas = posting.submission.execution_gas
    assert (more["cost_when_due"] - without["cost_when_due"]).to_numpy() == pytest.approx(gas * MORE, rel=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"interval": 1.0}, "interval: .*in seconds"),
        ({"first_due": 7.0}, "first_due: .*7 days = 604,800"),
        ({}, "l1_fees: expected more than 604,800 s"),
    ],
)
def test_a_wrong_argument_is_named(given, message):
    with pytest.raises(InvalidInput, match=message):
        price_of_finality(random(), CAP, **given)
