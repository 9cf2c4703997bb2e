"""Posting by forecast over the month that ships: what it saves."""

import pytest

from feemodel.simulation.closed_loop.finality import price_of_finality
from feemodel.simulation.posting import Posting, PriceCap
from tests.simulation.test_stopping import SLA, month


def at_mean_delay(kind, mean_delay):
    """The posting of a kind whose mean delay is nearest to one, by bisection of the cost of waiting."""
    low, high = 0.05, 1.5
    for _ in range(9):
        middle = (low * high) ** 0.5
        found = price_of_finality(month(), Posting(kind=kind, deadline=SLA, delay_cost=middle))
        low, high = (middle, high) if float(found["mean_delay"]) > mean_delay else (low, middle)
    return found


def test_a_forecast_saves_more_than_the_cap_at_the_same_mean_delay_and_most_of_what_can_be_saved():
    cap = {
        tip: price_of_finality(month(), Posting(kind="price-cap", cap=PriceCap(tip=tip)))
        for tip in ("paid", "constant")
    }
    mean_delay = float(cap["paid"]["mean_delay"])
    forecast, bound = (at_mean_delay(kind, mean_delay) for kind in ("forecast", "clairvoyant"))
    saving = {name: float(found["saving"]) for name, found in (cap | {"forecast": forecast, "bound": bound}).items()}

    assert float(forecast["mean_delay"]) == pytest.approx(mean_delay, rel=0.05)
    assert float(bound["mean_delay"]) == pytest.approx(mean_delay, rel=0.05)
    assert saving["constant"] < saving["paid"] < saving["forecast"] < saving["bound"]
    assert saving["forecast"] > 0.9 * saving["bound"]
    assert saving["constant"] < 0.85 * saving["bound"]
    assert float(forecast["delay"].max()) <= SLA + 12.0
