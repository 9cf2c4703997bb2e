"""Samples: grids, Sobol points, Monte Carlo draws, rows and transactions, as DataArrays."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.linea.kernels import priority_fees
from feemodel.simulation.draws import columns_at
from feemodel.simulation.samples import DRAW_BLOCK, grid, joined, monte_carlo, rows, sobol
from feemodel.simulation.sensitivity import sobol_indices
from feemodel.simulation.surfaces import Workload
from feemodel.simulation.sweep import sweep

WORKLOAD = Workload("three", np.array([128, 200, 300]), np.array([21_000, 46_000, 90_000]))


def test_a_grid_has_a_dimension_for_each_list_and_numbers_stay_numbers():
    samples = grid(margin=[1.0, 1.2], variable_cost=range(3), gas=21_000, version="V1f")

    expected = xr.DataArray([1.0, 1.2], dims="margin", coords={"margin": [1.0, 1.2]}, name="margin")
    assert samples["margin"].identical(expected)
    assert samples["variable_cost"].values.tolist() == [0, 1, 2]
    assert (samples["gas"], samples["version"]) == (21_000, "V1f")


def test_transactions_vary_together_and_come_last():
    samples = grid(transactions=WORKLOAD, margin=[1.0, 1.2])

    assert [*samples] == ["margin", "compressed_size", "gas"]
    assert samples["compressed_size"].dims == samples["gas"].dims == ("transaction",)
    assert samples["gas"].values.tolist() == [21_000, 46_000, 90_000]
    assert samples["gas"].attrs == {"from": "3 three"}


def test_a_draw_depends_on_its_seed_and_its_place_alone():
    """Not on the number of draws, beyond the block of draws that has one random stream."""
    counts = DRAW_BLOCK, 2 * DRAW_BLOCK + 5
    some, more = (monte_carlo(count, rng=5, x=stats.norm(), gas=[1, 2, 3]) for count in counts)

    for name in ("x", "gas"):
        np.testing.assert_array_equal(some[name], more[name][:DRAW_BLOCK])


def test_more_draws_than_fit_in_memory_are_refused():
    with pytest.raises(LimitExceeded, match="10,000,000,000 draws are more than"):
        monte_carlo(10**10, x=stats.norm())


def test_an_unbounded_distribution_is_finite_at_the_point_0():
    """Of the unscrambled sequence the first point is 0; a scrambled one can have it anywhere."""

    def at(within, *points):
        return columns_at("x", within, np.array(points))["x"]

    assert at(stats.norm(), 0.0)[0] == pytest.approx(stats.norm.ppf(2.0**-31))
    assert at(stats.poisson(3.0), 0.0)[0] == 0
    assert at(stats.randint(1, 5), 0.0)[0] == 1
    assert np.isfinite(at(stats.cauchy(), 0.0, 1 - 2.0**-30)).all()


class Diverging:
    """A distribution whose numbers are infinite from the hundredth on."""

    def rvs(self, size, random_state):
        return np.where(np.arange(size) < 99, 1.0, np.inf)

    def ppf(self, values):
        return np.where(values < 0.9, values, np.nan)


@pytest.mark.parametrize(("make", "found"), [(monte_carlo, "inf"), (sobol, "nan")])
def test_every_number_of_a_distribution_is_checked(make, found):
    with pytest.raises(InvalidInput, match=rf"base_fee\[\d+\]: expected a distribution of finite .*, got {found}"):
        make(1_024, rng=1, base_fee=Diverging(), gas=21_000)
    with pytest.raises(InvalidInput, match=r"base_fee\[\d+\]: expected a distribution of finite numbers"):
        sobol_indices(lambda base_fee, gas: base_fee * gas, 1_024, rng=1, base_fee=Diverging(), gas=21_000)


def test_draws_follow_their_distribution():
    drawn = monte_carlo(200_000, rng=1, x=stats.lognorm(s=0.5, scale=3.0), size=[10, 20])

    assert stats.kstest(drawn["x"], stats.lognorm(s=0.5, scale=3.0).cdf).pvalue > 0.001
    assert abs(np.mean(drawn["size"]) - 15.0) < 5 * 5.0 / np.sqrt(200_000)
    assert drawn["size"].dtype == np.int64


def test_sobol_points_are_balanced_in_every_interval():
    points = sobol(1_024, rng=2, x=(0.0, 1.0), gas=(1, 4), y=stats.norm())

    assert np.histogram(points["x"], 16, (0.0, 1.0))[0].tolist() == [64] * 16
    assert np.bincount(points["gas"]).tolist() == [0, 256, 256, 256, 256]
    assert abs(np.median(points["y"])) < 0.01


def test_a_seed_gives_the_same_draws_and_another_seed_or_call_others():
    def first(rng):
        return monte_carlo(1, rng=rng, x=stats.uniform())["x"].item()

    generator = np.random.default_rng(7)

    assert first(0) == first(0) == first(np.random.SeedSequence(0))
    assert len({first(0), first(1), first(None), first(None), first(generator), first(generator)}) == 6


@given(st.floats(0.0, 1.0, exclude_max=True), st.integers(-(2**40), 2**40), st.integers(0, 2**40))
def test_a_whole_range_is_met_from_low_to_high(unit, low, width):
    assert low <= columns_at("x", (low, low + width), np.array([unit]))["x"][0] <= low + width


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: grid(), "grid: expected at least one axis"),
        (lambda: grid(margin=[]), "margin: expected at least one value"),
        (lambda: grid(margin=[1.0, np.inf]), r"margin\[1\]: expected a finite number, got inf"),
        (lambda: grid(margin=[[1.0], [2.0]]), r"margin: .* got 'an array of shape \(2, 1\)'"),
        (lambda: grid(margin=stats.uniform()), "margin: expected numbers in a list"),
        (lambda: grid(t=WORKLOAD, gas=[1]), "samples: expected each input only once, got .*gas"),
        (lambda: joined(grid(gas=1), grid(gas=[1, 2])), "samples: expected each input only once, got .*gas"),
        (lambda: sobol(1_000, x=(0.0, 1.0)), "count: expected a power of two .* such as 1,024, got 1000"),
        (lambda: sobol(8), "sobol: expected at least one range"),
        (lambda: sobol(8, x=(0.0, np.inf)), "x: expected a finite number"),
        (lambda: sobol(8, x=(1.0, 1.0)), r"x: expected a range \(low, high\) with low below high"),
        (lambda: sobol(8, x=(1, 2, 3)), "x: expected a range"),
        (lambda: sobol(8, x=(1, 2), y=[1, "a"]), "y"),
        (lambda: monte_carlo(0, x=stats.norm()), "count: expected an integer of at least 1, got 0"),
        (lambda: monte_carlo(8, x=1.0), "monte_carlo: expected at least one distribution"),
        (lambda: monte_carlo(8, x=[]), "x: expected at least one value"),
        (lambda: monte_carlo(8, x={}), "x: expected numbers, or a result of rows"),
        (lambda: monte_carlo(8, rng=-1, x=stats.norm()), "rng"),
        (lambda: monte_carlo(8, x=stats.norm(scale=-1)), r"x: expected a distribution .* got 'norm\(scale=-1\)'"),
        (lambda: monte_carlo(8, x=stats.norm([0.0, 1.0])), "x: expected a distribution"),
        (lambda: sobol(8, x=stats.norm(scale=-1)), r"x\[0\]: expected a distribution of finite numbers, not norm"),
        (lambda: sobol(8, x=(-(2**62), 2**62)), "x: expected a range of 64-bit integers"),
        (lambda: sobol(8, x=(-1e308, 1e308)), "x: expected a range whose width is finite"),
        (lambda: rows(), "rows: expected at least one column"),
        (lambda: rows(x=[1.0], y=[1.0, 2.0]), "rows: expected columns of equal length"),
        (lambda: rows(x=pd.Series([1, 2]), y=pd.Series([1, 2], [1, 0])), "x, y: expected Series with equal indexes"),
        (lambda: rows(x=[1, True]), r"x\[1\]: expected an integer, got True"),
        (lambda: rows(x=[2**63, 1]), r"x\[0\]: expected an integer that fits 64 bits in an array"),
        (lambda: monte_carlo(9, l1=rows(x=[1.0]), x=[1.0, 2.0]), "expected each input only once"),
    ],
)
def test_what_is_no_sample_is_named(make, named):
    with pytest.raises(InvalidInput, match=named):
        make()


JOINT = rows(x=np.arange(50.0), y=np.arange(50.0) ** 2)


@pytest.mark.parametrize("chunk", [1_000, None])
@pytest.mark.parametrize(
    "samples",
    [monte_carlo(200_000, rng=1, j=JOINT, z=stats.norm()), sobol(4_096, rng=1, j=JOINT, z=(1.0, 2.0)), grid(j=JOINT)],
    ids=["monte_carlo", "sobol", "grid"],
)
def test_rows_stay_together_however_they_are_met(samples, chunk):
    found = sweep(lambda x, y, z=0.0: y - x**2 + 0.0 * z, samples, chunk=chunk)

    assert not found.result.any()
    assert set(found.x.values) == set(range(50))


def test_rows_name_the_axis_and_say_what_was_drawn_from_them():
    drawn = monte_carlo(100, rng=1, j=JOINT)

    assert drawn["x"].attrs["drawn_from"] == drawn["y"].attrs["drawn_from"] == "one of 50 rows of x, y"
    assert grid(j=JOINT)["x"].dims == grid(j=JOINT)["y"].dims == ("j",)


@pytest.mark.parametrize(
    "sizes",
    [stats.poisson(120), stats.randint(30, 4_000), stats.nbinom(5, 0.05)],
    ids=["poisson", "randint", "nbinom"],
)
@pytest.mark.parametrize("make", [monte_carlo, sobol])
def test_distributions_of_whole_numbers_keep_the_compiled_formula(make, sizes):
    costs = {"variable_cost": 10**9, "fixed_cost": 30_000_000, "margin": 1.2, "gas": 21_000}
    column = make(1_024, rng=1, compressed_size=sizes, **costs)["compressed_size"].to_numpy()

    assert column.dtype == np.int64
    assert priority_fees({"compressed_size": column, **costs}, np.empty(1_024, dtype=np.int64))
