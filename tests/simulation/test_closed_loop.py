"""The closed loop: accounts balance, costs follow bytes, demand answers, and nothing depends on who computes a path."""

from dataclasses import replace

import numpy as np
import pytest

import feemodel
from feemodel import simulation
from feemodel.errors import InvalidInput
from feemodel.simulation.closed_loop._accounts import DATA_LINES
from feemodel.simulation.closed_loop._l1_steps import rolling_quantile
from feemodel.simulation.closed_loop.baseline import BreakEven, baseline_pricing, break_even, fitted
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.paths import Bootstrap
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies.fixed import Fixed
from feemodel.simulation.policies.linea import LineaPricing
from feemodel.simulation.posting import Costs, Posting, PriceCap
from feemodel.simulation.scenarios import bootstrap, replay
from feemodel.simulation.surfaces import Submission

STEPS = 15_000
RNG = np.random.default_rng(3)
COLUMNS = {
    "timestamp": 1_767_795_167 + 12 * np.arange(STEPS),
    "base_fee": np.exp(RNG.normal(18.0, 1.0, STEPS)).round(),
    "blob_base_fee": np.exp(RNG.normal(15.0, 1.0, STEPS)).round(),
}
HISTORY = replay(COLUMNS, source="random")
FLAT = replay(COLUMNS | {"base_fee": np.full(STEPS, 7e7), "blob_base_fee": np.full(STEPS, 4e6)}, source="flat")
MONTH = "data/l1_fees_every10_24183321_24399311.csv.gz"


def of_path(found, name):
    return float(found[name][0])


@pytest.mark.parametrize("posting", [
    Posting(), Posting(blobs=3, further_blob_gas=5_000.0), Posting(deadline=300.0), Posting(kind="price-cap"),
    Posting(kind="blob-or-calldata"), Posting(kind="alternative-layer", layer_cost_per_mib=1e13),
], ids=lambda posting: posting.kind)  # fmt: skip
def test_every_byte_is_posted_once_and_carries_its_cost(posting):
    costs = Costs(finalization_gas=66_500.0, finalize_blobs=2)
    found = simulate(HISTORY, Fixed(price=1e8), posting, costs=costs)
    data_cost = sum(float(found[line].sum()) for line in DATA_LINES)
    finalization = float((found["finalization_base_fee"] + found["finalization_tip"]).sum())

    assert float(found["bytes"].sum()) == pytest.approx(STEPS * 12.0 * 1.45 * 119.42, rel=1e-12)
    assert float(found["accrued_data_cost"].sum()) == pytest.approx(data_cost, rel=1e-9)
    assert float(found["accrued_finalization_cost"].sum()) == pytest.approx(finalization, rel=1e-9)
    assert of_path(found, "total_cost") == pytest.approx(data_cost + finalization, rel=1e-12)
    overcharge, undercharge = of_path(found, "overcharge"), of_path(found, "undercharge")
    assert overcharge - undercharge == pytest.approx(of_path(found, "recovery") - 1.0, abs=1e-9)


def test_demand_answers_the_price_up_to_the_choke():
    still = float(simulate(FLAT, Fixed(price=1e6))["transactions"].sum())
    demand = Demand(elasticity=0.5, reference_fee=119.42 * 0.25e6)
    halved = simulate(FLAT, Fixed(price=1e6), demand=demand)
    free = simulate(FLAT, Fixed(price=0.0), demand=demand)

    assert float(halved["transactions"].sum()) == pytest.approx(still / 2.0)
    assert of_path(halved, "lost_demand") == pytest.approx(0.5)
    assert float(free["transactions"].sum()) == pytest.approx(10.0 * still)


def test_a_cycle_and_congestion_move_demand():
    hours = tuple(float(hour % 2) for hour in range(24))
    found = simulate(HISTORY, Fixed(price=1e8), demand=Demand(cycle=hours, l1_correlation=0.4), record=1)
    number = found["transactions_in_step"].to_numpy()[0]
    odd = (COLUMNS["timestamp"] // 3_600) % 2 == 1
    expected = 17.4 * (COLUMNS["base_fee"] / np.median(COLUMNS["base_fee"])) ** 0.4

    np.testing.assert_allclose(number, np.where(odd, expected, 0.0))


def test_finalization_by_the_clock_pays_each_time():
    found = simulate(FLAT, Fixed(price=1e8), costs=Costs(finalization_gas=1e6, finalize_seconds=3_600.0))

    assert float(found["finalizations"].sum()) == 50.0
    assert pytest.approx(float(found["finalization_base_fee"].sum())) == 50 * 1e6 * 7e7


def test_days_from_midnight_begin_in_the_middle_of_one():
    found = simulate(FLAT, Fixed(price=1e8), days="utc")

    assert str(found["date"].to_numpy()[0])[:19] == "2026-01-07T00:00:00"
    assert round((1.0 - float(found["covered"][0])) * 7_200) == 1_767_795_167 % 86_400 // 12


def test_paths_are_the_same_whoever_computes_them_and_however_many():
    terms = {"demand": Demand(poisson=True), "step": 12.0, "rng": 9}
    few, many, side_by_side = (
        simulate(HISTORY, LineaPricing(), bootstrap=Bootstrap(paths=n, block_seconds=3_600.0), workers=workers, **terms)
        for n, workers in ((2, None), (5, 1), (5, 4))
    )

    assert many.identical(side_by_side)
    assert few.drop_attrs().equals(many.isel(path=slice(2)).drop_attrs())


def test_a_bootstrap_draws_the_rows_that_the_scenario_of_that_name_draws():
    lazily = simulate(HISTORY, LineaPricing(), bootstrap=Bootstrap(paths=2, block_seconds=3_600.0), rng=9)
    at_once = simulate(bootstrap(HISTORY, paths=2, block_seconds=3_600.0, rng=9), LineaPricing(), rng=9)

    for name in ("data_cost", "data_fees", "volatility"):
        assert lazily[name].to_numpy().tolist() == at_once[name].to_numpy().tolist()


def test_the_break_even_price_breaks_even_and_levels_fit():
    even = break_even(HISTORY, Posting(), Demand())

    assert pytest.approx(of_path(simulate(HISTORY, Fixed(price=even.price)), "recovery"), abs=1e-12) == 1.0
    for kind in ("linea-unbounded", "op-stack", "arbitrum"):
        pricing = fitted(HISTORY, baseline_pricing(kind, even), Posting(), Demand())
        assert pytest.approx(of_path(simulate(HISTORY, pricing), "recovery"), abs=1e-8) == 1.0


def test_a_rolling_quantile_is_numpy_s():
    values = RNG.integers(0, 40, 500).astype(float)
    found = rolling_quantile(values, 60, 0.1)

    assert [np.quantile(values[max(0, k - 59) : k + 1], 0.1) for k in range(500)] == pytest.approx(found.tolist())


def test_the_baseline_month_has_its_steps_and_its_break_even_price(shared):
    history = replay(feemodel.io.read_l1_fees(shared / MONTH), source="real")
    even = break_even(history, Posting(), Demand())
    found = simulate(history, Fixed(price=even.price))

    assert round(float(found["covered"].sum()) * 7_200) == 217_014
    assert of_path(found, "whole_days") == 30.0
    assert float(found["submissions"].sum()) == 3_468.0
    assert round(even.price) == 230_717_101


def test_a_simulation_is_a_function_that_sweeps_and_sensitivity_indices_take():
    run = simulation.Experiment(
        l1_fees=FLAT.isel(step=slice(500)), pricing=LineaPricing(), outputs=("recovery", "volatility"),
        demand=Demand(reference_fee=1e10),
    )  # fmt: skip
    swept = feemodel.sweep(run, feemodel.grid(pricing_margin=[1.0, 2.0], demand_elasticity=[0.0, 1.0]))
    direct = simulate(FLAT.isel(step=slice(500)), LineaPricing(margin=2.0),
                      demand=Demand(elasticity=1.0, reference_fee=1e10))  # fmt: skip

    assert swept["recovery"].dims == ("pricing_margin", "demand_elasticity")
    assert float(swept["recovery"][1, 1]) == of_path(direct, "recovery")
    alone = replace(run, outputs=("recovery",))
    found = feemodel.sobol_indices(alone, 16, rng=1, pricing_margin=(1.0, 2.0), demand_choke=(1.0, 9.0))
    explained = found["total_order"]
    assert float(explained.sel(input="pricing_margin")) > float(explained.sel(input="demand_choke"))


WRONG = [
    (lambda: simulate(1, Fixed(price=1e8)), "l1_fees"),
    (lambda: simulate(FLAT, 7), "pricing"),
    (lambda: simulate(FLAT, Fixed), "pricing"),
    (lambda: simulate(FLAT, Fixed(price=1e8), Demand()), "posting"),
    (lambda: simulate(FLAT, Fixed(price=1e8), None, Costs()), "demand"),
    (lambda: simulate(FLAT, Fixed(price=1e8), costs=Demand()), "costs"),
    (lambda: simulate(FLAT, Fixed(price=1e8), step=0.0), "step"),
    (lambda: simulate(FLAT, Fixed(price=1e8), step=7.0), "step"),
    (lambda: simulate(FLAT, Fixed(price=1e8), record=2), "record"),
    (lambda: simulate(FLAT, Fixed(price=1e8), days="week"), "days"),
    (lambda: simulate(FLAT, Fixed(price=1e8), rng=-1), "rng"),
    (lambda: simulate(FLAT, Fixed(price=1e8), bootstrap=3), "bootstrap"),
    (lambda: simulation.Experiment(l1_fees=FLAT, pricing=Fixed(price=1e8), outputs=("profit",)), "outputs"),
    (lambda: simulation.Experiment(l1_fees=FLAT, pricing=Fixed(price=1e8))(demand_rates=np.ones(1)), "inputs"),
    (lambda: Demand(elasticity=1.0), "reference_fee"),
    (lambda: Demand(rate=-1.0), "rate"),
    (lambda: Demand(cycle=(1.0,) * 23), "cycle"),
    (lambda: Costs(finalization_gas=1.0), "finalize_blobs"),
    (lambda: Costs(finalize_seconds=0.0), "finalize_seconds"),
    (lambda: Posting(kind="fast"), "kind"),
    (lambda: Posting(kind="deadline"), "deadline"),
    (lambda: Posting(blobs=3, submission=Submission(blob_gas=3 * 131_072)), "blobs"),
    (lambda: PriceCap(tip="none"), "tip"),
    (lambda: Bootstrap(paths=0), "paths"),
    (lambda: baseline_pricing("lineal", BreakEven(1.0, 1.0, 1.0)), "kind"),
    (lambda: Submission(capacity=0), "capacity"),
]


@pytest.mark.parametrize(("call", "name"), WRONG, ids=[f"{name}-{i}" for i, (_, name) in enumerate(WRONG)])
def test_a_wrong_argument_is_named(call, name):
    with pytest.raises(InvalidInput) as caught:
        call()

    assert name == caught.value.name
