"""Every figure: drawn on given axes or on its own, returned, saved as vector graphics."""

import inspect

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray

from feemodel import plots
from feemodel.errors import InvalidInput
from feemodel.plots import plot_comparison, plot_path, plot_recovery
from feemodel.rollups import compare
from feemodel.simulation import Fixed, simulate
from feemodel.simulation.samples import grid
from feemodel.simulation.scenarios import replay
from feemodel.simulation.surfaces import Submission


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", plots.__all__)
def test_every_figure_may_have_axes_of_its_own(name):
    parameters = inspect.signature(getattr(plots, name)).parameters
    place = [*parameters].index("axes" if name == "plot_path" else "ax")

    assert place > 0
    assert [*parameters.values()][place].default is None


def test_a_comparison_is_drawn_as_dots_where_bars_would_have_no_origin():
    ax = plot_comparison([("dear", 3e9, 4e9), ("cheap", 0.0, 5e9)], plt.subplots()[1])
    total, data, execution = ax.get_lines()

    assert list(ax.patches) == []
    assert [label.get_text() for label in ax.get_yticklabels()] == ["cheap", "dear"]
    assert (total.get_xdata().tolist(), execution.get_xdata().tolist()) == ([5.0, 7.0], [5.0, 4.0])
    assert np.isnan(data.get_xdata()[0])
    assert data.get_xdata()[1] == 3.0


def test_a_comparison_of_chains_is_drawn_as_it_comes():
    transfer = {"gas": [21_000, 21_000], "fastlz_size": [100, 100], "linea_size": [128, 128]}
    fees = compare(transfer, {"base_fee": [10**9], "blob_base_fee": [1]}, ["linea", "op-mainnet/jovian"])
    ax = plot_comparison(fees)
    total = ((fees.l1_fee + fees.l2_fee).isel(transaction=0, time=0) / 1e9).values

    assert [label.get_text() for label in ax.get_yticklabels()] == ["op-mainnet", "linea"]
    assert ax.get_lines()[0].get_xdata().tolist() == pytest.approx(sorted(total))


def test_other_things_than_axes_are_named():
    with pytest.raises(InvalidInput, match="ax: expected an Axes"):
        plot_comparison([("one", 1e9, 2e9)], "left")
    with pytest.raises(InvalidInput, match="axes: expected four axes, got 2"):
        plot_path(None, plt.subplots(2)[1])


def test_a_surface_is_coloured_from_its_least_to_its_largest_ratio():
    fees = np.geomspace(1e7, 1e11, 12)
    axes = grid(margin=[1.2], base_fee=fees, blob_base_fee=fees)
    cost = Submission().cost_per_byte(axes["base_fee"], axes["blob_base_fee"])
    surface = xarray.Dataset({"recovery": axes["margin"] * 1e9 / cost})
    ax = plot_recovery(surface, margin=1.2, observed=(fees, fees))
    levels = ax.collections[0].levels

    assert levels[0] <= surface["recovery"].min() < levels[1]
    assert levels[-2] <= surface["recovery"].max() < levels[-1]
    assert 1.0 in levels


def test_a_path_has_four_axes_of_its_own():
    fees = replay({"timestamp": [0, 12, 24], "base_fee": [7e7] * 3, "blob_base_fee": [4e6] * 3}, source="by hand")
    axes = plot_path(simulate(fees, Fixed(price=1_000.0), record=1))

    assert [ax.get_xlabel() for ax in axes] == ["", "", "", "days"]
