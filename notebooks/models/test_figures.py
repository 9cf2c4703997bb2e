"""The figure of an attack."""

import pytest
from matplotlib.figure import Figure

from models.denial import PUBLISHED, denial
from models.figures import plot_attack


def test_an_attack_is_drawn_as_money_spent_so_far_or_as_a_fee():
    ax = Figure().subplots()
    run = denial(PUBLISHED[0], 20)
    plot_attack({"Scroll": run}, ax)
    plot_attack({"fee": run}, ax, variable="blob_base_fee")
    spent, fee = ax.get_lines()

    assert spent.get_ydata()[-1] == pytest.approx(float(run["paid"].sum()) / 1e18)
    assert fee.get_ydata().tolist() == (run["blob_base_fee"] / 1e9).values.tolist()
    assert ax.get_ylabel() == "blob base fee [gwei per gas]"
