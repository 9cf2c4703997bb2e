"""Tips of a series enter every cost of a submission: exactly the tip of its time, times its gas."""

from dataclasses import replace

import numpy as np
import pytest

from feemodel import forecast, simulate
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.backtest import backtest
from feemodel.simulation.calibrate import calibrate
from feemodel.simulation.forecast.recommend import SUBMISSIONS, recommend
from feemodel.simulation.policies.fixed import Fixed
from feemodel.simulation.posting import Posting
from feemodel.simulation.scenarios import bootstrap, replay
from feemodel.simulation.surfaces import Submission, Workload

STEPS = 4_000
SUBMISSION = Submission()
GAS, TIP = SUBMISSION.execution_gas, SUBMISSION.tip
MORE = 1_000_000_000  # wei / gas
TRANSFERS = Workload("transfers", np.array([128]), np.array([21_000]))
COLUMNS = {
    "timestamp": 1_767_795_167 + 12 * np.arange(STEPS),
    "base_fee": np.random.default_rng(1).integers(10**7, 10**9, STEPS),
    "blob_base_fee": np.random.default_rng(2).integers(10**6, 10**8, STEPS),
}


def fees(tip: object = None):
    return replay(COLUMNS if tip is None else COLUMNS | {"tip": tip}, source="random")


def constant(tip: int):
    return fees(np.full(STEPS, tip))


def test_a_backtest_pays_the_tips_of_the_series():
    rule = PricingRule(upper_bound=None)
    without, same, more = (
        backtest(TRANSFERS, one, rule, arrival_rate=10.0, rng=1)
        for one in (fees(), constant(TIP), constant(TIP + MORE))
    )

    assert same["data_cost"].equals(without["data_cost"])
    added = (more["data_cost"] - without["data_cost"]).item()
    assert added == pytest.approx(without["submissions"].sum().item() * GAS * MORE, rel=1e-9)
    assert (more["mean_price"] > without["mean_price"]).all()
    assert (without.attrs["tips"][:8], more.attrs["tips"]) == ("assumed:", "of the series")


def test_a_calibrated_margin_pays_for_the_tips_of_the_series():
    """With costs announced 1,000 s late, and of which no tip is known, tips take a higher margin."""
    rule = PricingRule(lower_bound=None, upper_bound=None)

    def margin(one, chosen=rule):
        drawn = bootstrap(one, paths=40, block_seconds=3_600, rng=5)
        return calibrate(TRANSFERS, drawn, chosen, loss_probability=0.1, arrival_rate=10.0, rng=1).margin

    assert margin(constant(TIP)) == margin(fees())
    spiked = np.full(STEPS, TIP)
    spiked[::7] = 50 * MORE
    assert margin(fees(spiked)) > margin(fees())


@pytest.mark.parametrize("kind", ["fill", "price-cap"])
def test_the_closed_loop_pays_the_tips_of_the_series(kind):
    posting = Posting(kind=kind)
    without, same, more = (simulate(one, Fixed(price=1e8), posting) for one in (
        fees(), constant(TIP), constant(TIP + MORE)
    ))  # fmt: skip

    for name in without.data_vars:
        assert same[name].equals(without[name]), name
    if kind != "price-cap":  # which offers a tip of its own
        gas = float((without["data_tip"].sum() / TIP).item())
        added = float((more["data_tip"].sum() - without["data_tip"].sum()).item())
        assert added == pytest.approx(gas * MORE, rel=1e-9)


def test_a_forecast_pays_the_median_tip_of_the_newest_day():
    times = np.arange(0, 8 * 86_400, 600) + 1_770_000_000
    wave = 1e8 * np.exp(np.sin(2 * np.pi * times / 86_400))
    l1 = {"timestamp": times, "base_fee": wave, "blob_base_fee": wave / 16}
    tips = np.where(times > times[-1] - 86_400, MORE, 7 * MORE)
    arguments = {"horizons": ["1h"], "paths": 5, "rng": 1}
    without, same = (forecast(one, **arguments) for one in (l1, l1 | {"tip": np.full(len(times), TIP)}))
    known = forecast(l1 | {"tip": tips}, **arguments)
    offered = forecast(l1, submission=Submission(tip=MORE), **arguments)

    assert same["cost"].equals(without["cost"])
    assert known["cost"].equals(offered["cost"])
    assert (known["cost"] - without["cost"]).to_numpy() == pytest.approx((MORE - TIP) * GAS, rel=1e-9)
    parameters = {"family": "op-stack", "paths": 20, "hold": 7_200.0, "rng": 1}
    recommended = recommend(l1 | {"tip": tips}, **parameters)
    told = recommend(l1, submission=replace(SUBMISSIONS["op-stack"], tip=MORE), **parameters)
    assert recommended == replace(told, submission=recommended.submission)
