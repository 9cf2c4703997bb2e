"""Simulated months of L1 fees beside the observed one."""

import pytest

from feemodel.io import read_shipped_l1_fees
from feemodel.simulation.scenarios import duration, replay
from models import l1_demand
from models.moments import compare_moments


def test_simulated_months_look_like_the_observed_one():
    """Quantiles and most autocorrelations lie in the 90 % interval of the months; the others are listed here."""
    history = replay(read_shipped_l1_fees(), source="the shipped month")
    begin = int(history["time"].values[0].astype("datetime64[s]").astype(int))
    paths = l1_demand.simulate(
        l1_demand.fit(history), paths=40, horizon=duration(history), timestamp=begin, blocks_per_step=50, rng=1
    )
    found = compare_moments(history, paths)
    lacking = {
        f"{fee} {moment}" for fee in ("base_fee", "blob_base_fee") for moment in ("p1", "autocorrelation 1 week")
    }

    assert set(found.index[~found["inside"]]) <= lacking | {"correlation of the two"}
    assert found.loc["base_fee p50", "observed"] == pytest.approx(0.0693, abs=1e-4)  # gwei
    assert float(paths["blob_gas_used_ratio"].mean()) * 21 == pytest.approx(4.81, rel=0.02)
    assert float(paths["gas_used_ratio"].mean()) == pytest.approx(0.5, abs=0.01)
