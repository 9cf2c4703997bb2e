"""Forecasts as users call them: quantiles are those of the paths, and seeds decide."""

import numpy as np
import pytest

import feemodel
from feemodel.errors import InvalidInput
from feemodel.io import read_shipped_l1_fees
from feemodel.simulation.forecast.distribution import horizon_bins
from feemodel.simulation.scenarios import check_scenario, replay


@pytest.fixture(scope="module")
def month():
    return read_shipped_l1_fees()


@pytest.fixture(scope="module")
def found(month):
    return feemodel.forecast(month, horizons=["10min", "6h"], paths=400, rng=1)


def test_a_forecast_has_quantiles_and_paths_that_make_a_scenario(found):
    assert dict(found.sizes) == {"horizon": 2, "quantile": 5, "path": 400, "step": 38}
    assert found.base_fee_quantile.dims == found.cost_quantile.dims == ("horizon", "quantile")
    check_scenario("found", found[["base_fee", "blob_base_fee"]])


@pytest.mark.parametrize("name", ["base_fee", "blob_base_fee", "cost"])
def test_quantiles_rise_with_their_level(found, name):
    assert (np.diff(found[f"{name}_quantile"], axis=1) > 0).all()


def test_quantiles_of_the_paths_are_those_of_the_forecast(found):
    of_paths = np.log(found.base_fee.isel(step=36).quantile(found["quantile"].to_numpy(), "path"))

    assert of_paths.to_numpy() == pytest.approx(np.log(found.base_fee_quantile[1].to_numpy()), abs=0.01)


def test_a_seed_decides_and_more_paths_have_the_same_quantiles(month, found):
    again = feemodel.forecast(month, horizons=["10min", "6h"], paths=400, rng=1)
    other = feemodel.forecast(month, horizons=["10min", "6h"], paths=30, rng=2)

    assert again.identical(found)
    assert not (other.base_fee.to_numpy() == found.base_fee.to_numpy()[:30]).all()
    assert other.base_fee_quantile.equals(found.base_fee_quantile)


def test_a_scenario_is_taken_as_a_table_is(month):
    of_table, of_scenario = (feemodel.forecast(l1, horizons=["10min"], paths=3, rng=1) for l1 in (month, replay(month)))

    assert of_table.equals(of_scenario)


def test_paths_begin_at_the_newest_row(month, found):
    newest = [float(month[name].iloc[-1]) for name in ("base_fee", "blob_base_fee")]

    for name, value in zip(("base_fee", "blob_base_fee"), newest, strict=True):
        assert found[name][:, 0].to_numpy() == pytest.approx(value)
    assert found.elapsed.to_numpy().tolist() == [600.0 * step for step in range(38)]


def test_without_paths_there_are_quantiles_only(month):
    found = feemodel.forecast(month, horizons=["1h"], paths=0)

    assert list(found.data_vars) == ["base_fee_quantile", "blob_base_fee_quantile"]


@pytest.mark.parametrize(
    "horizons", [[], ["5min"], [0], ["8d"], ["soon"], [601], "6h", [np.timedelta64(1, "h")]], ids=str
)
def test_horizons_that_are_none_are_refused(horizons):
    with pytest.raises(InvalidInput, match="horizons"):
        horizon_bins(horizons)


DAYS = 8
TIMES = np.arange(0, DAYS * 86_400, 600) + 1_770_000_000


def stepping(low, high, since):
    """Fees that lie at one level until a bin, and at another one from it on."""
    return np.where(np.arange(len(TIMES)) < since, low, high)


@pytest.mark.parametrize(
    ("fee", "fees"),
    [
        ("blob_base_fee", stepping(1, 10**9, 1_000)),
        ("blob_base_fee", stepping(1, 10**15, 600)),
        ("blob_base_fee", stepping(10**9, 1, 600)),
        ("base_fee", stepping(10**5, 10**16, 1_100)),
        ("base_fee", stepping(10**16, 10**4, 1_100)),
    ],
    ids=["blob up", "blob far up", "blob down to a wei", "base up", "base down"],
)
def test_after_a_jump_fees_stay_within_a_wei_and_what_64_bits_hold(fee, fees):
    l1 = {"timestamp": TIMES, "base_fee": np.full(len(TIMES), 10**9), "blob_base_fee": np.full(len(TIMES), 10**8)}
    found = feemodel.forecast(l1 | {fee: fees}, paths=100, rng=1)

    for name in ("base_fee", "blob_base_fee"):
        quantiles, paths = found[f"{name}_quantile"].to_numpy(), found[name].to_numpy()
        assert quantiles.min() >= 1.0
        assert quantiles.max() <= 1e16
        assert paths.min() >= 1
        assert paths.max() < 1e17


@pytest.mark.parametrize(("fee", "value"), [("base_fee", 2e16), ("blob_base_fee", 2e16), ("blob_base_fee", 0.5)])
def test_a_history_of_fees_that_l1_never_has_is_refused_where_its_unit_was_said(fee, value):
    l1 = {"timestamp": TIMES, "base_fee": np.full(len(TIMES), 1e9), "blob_base_fee": np.full(len(TIMES), 1e8)}
    l1[fee][5] = value

    with pytest.raises(InvalidInput, match=rf"l1\.{fee}\[5\]"):
        feemodel.forecast(replay(l1, unit="wei"), paths=0)


@pytest.mark.parametrize(("rows", "held"), [(720, "120.0 h"), (863, "143.8 h")])
def test_a_history_that_is_too_short_is_told_what_its_longest_horizon_needs(rows, held):
    l1 = {"timestamp": TIMES[:rows], "base_fee": np.full(rows, 1e9), "blob_base_fee": np.full(rows, 1e8)}

    with pytest.raises(InvalidInput) as refused:
        feemodel.forecast(l1, horizons=["10min", "24h"])
    assert refused.value.value == held
    assert "at least 144.0 h up to the first origin, at a horizon of 24.0 h" in str(refused.value)


def test_rows_further_apart_than_ten_minutes_are_said_to_be_held_constant():
    times = TIMES[::6]
    hourly = {"timestamp": times, "base_fee": np.full(len(times), 1e9), "blob_base_fee": np.full(len(times), 1e8)}

    assert feemodel.forecast(hourly, paths=0).attrs["assumed"] == "fees held constant between rows 3,600 s apart"
