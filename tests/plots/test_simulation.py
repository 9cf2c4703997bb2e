"""Figures of the simulator: what is drawn is what the Dataset says."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from feemodel.errors import InvalidInput
from feemodel.plots._simulation import plot_charges, plot_fee_fan, plot_recovery_over_time, plot_tornado
from feemodel.simulation.backtest import backtest
from feemodel.simulation.scenarios import bootstrap, replay
from feemodel.simulation.surfaces import Workload

DAY = 86_400  # seconds


@pytest.fixture
def ax():
    axes = Figure().subplots()
    yield axes
    axes.figure.draw_without_rendering()


@pytest.fixture(scope="module")
def history():
    fees = np.random.default_rng(1).lognormal(18, 1, 300)
    return replay(
        {"timestamp": 600 * np.arange(300), "base_fee": fees, "blob_base_fee": fees / 16}, source="made by hand"
    )


def result(scenario):
    workload = Workload("two kinds", np.array([100, 1_000]), np.array([21_000, 200_000]))
    return backtest(workload, scenario, arrival_rate=2.0, record=scenario.sizes["path"], rng=1)


def hourly_sums(found):
    """Data fees and costs of each path by hour, of steps of 12 s."""
    names = ("data_fees_in_step", "data_cost_of_step")
    return [found[name].to_numpy().reshape(found.sizes["recorded_path"], -1, 300).sum(axis=2) for name in names]


def test_recovery_of_one_path_is_drawn_hour_by_hour(ax, history):
    found = result(history)
    plot_recovery_over_time(found, ax)
    hourly, daily = ax.get_lines()[:2]
    fees, cost = hourly_sums(found)

    assert hourly.get_ydata() == pytest.approx((fees / cost)[0])
    assert daily.get_ydata()[-1] == pytest.approx(fees[0, -24:].sum() / cost[0, -24:].sum())
    assert daily.get_ydata()[0] == hourly.get_ydata()[0]


def test_recovery_of_many_paths_is_a_median_and_a_band(ax, history):
    found = result(bootstrap(history, paths=5, block_seconds=DAY / 4, horizon=DAY, rng=1))
    plot_recovery_over_time(found, ax)
    fees, cost = hourly_sums(found)

    assert ax.get_legend_handles_labels()[1] == ["5 to 95 % of paths, each hour", "median path, last 24 hours"]
    assert ax.get_lines()[0].get_ydata()[-1] == pytest.approx(np.median(fees.sum(axis=1) / cost.sum(axis=1)))


def test_a_figure_of_a_result_names_its_l1_fees(ax, history):
    plot_recovery_over_time(result(history), ax)

    assert ax.figure.get_supxlabel() == "L1 fees: made by hand"


def test_charges_are_shares(ax, history):
    found = result(history)
    plot_charges(found, ax)

    assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match="result: expected a result with a recorded path"):
        plot_charges(found.drop_vars("data_cost_of_step"), ax)


def test_the_fan_lies_between_the_paths(ax, history):
    drawn = bootstrap(history, paths=9, block_seconds=DAY / 4, horizon=DAY, rng=1)
    plot_fee_fan(drawn, ax, fee="blob_base_fee", history=history.isel(step=slice(0, 144)))
    _, path, seen = ax.get_lines()

    assert path.get_ydata().tolist() == (drawn["blob_base_fee"].values[0] / 1e9).tolist()
    assert seen.get_ydata().tolist() == (history["blob_base_fee"].values[0, :144] / 1e9).tolist()
    assert len(ax.collections) == 2
    assert ax.get_ylabel() == "blob base fee [gwei per gas]"


@pytest.mark.parametrize("logarithmic", [False, True])
def test_the_largest_swing_is_on_top(ax, logarithmic):
    swings = xr.Dataset(
        {
            "at_low": ("input", [0.9, 0.5, 1.2]), "at_high": ("input", [1.1, 2.0, 1.2]),
            "low": ("input", ["1", "2", "3"]), "high": ("input", ["4", "5", "6"]),
        },
        {"input": ["small", "large", "none"]},
        {"base": 1.0},
    )  # fmt: skip
    plot_tornado(swings, ax, label="a result", logarithmic=logarithmic)

    assert [label.get_text() for label in ax.get_yticklabels()] == ["none", "small", "large"]
    ends = sorted(bar.get_x() + bar.get_width() for bar in ax.patches)
    assert ends == pytest.approx([0.5, 0.9, 1.1, 1.2, 1.2, 2.0])
    assert {text.get_text() for text in ax.texts} == set("123456")
