"""Compare quantiles and autocorrelations of an observed history of L1 fees with those of simulated paths."""

import numpy as np
import pandas as pd
import xarray as xr

from feemodel.simulation.scenarios import step_seconds
from models.l1_demand import autocorrelation

FEES = ("base_fee", "blob_base_fee")
LAGS = {"10 min": 600, "1 h": 3_600, "6 h": 21_600, "12 h": 43_200, "1 day": 86_400, "1 week": 604_800}  # [s]
LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)


def moments(scenario: xr.Dataset) -> pd.DataFrame:
    """Return a row for each quantile [gwei / gas], autocorrelation and correlation [1], and a column for each path.

    Autocorrelations and the correlation are those of the logarithms of the fees.
    """
    logs = {name: np.log(scenario[name].to_numpy()) for name in FEES}
    values = {}
    for name, log in logs.items():
        for level, quantile in zip(LEVELS, np.quantile(log, LEVELS, axis=1), strict=True):
            values[f"{name} p{100 * level:g}"] = np.exp(quantile) / 1e9
        for lag, seconds in LAGS.items():
            values[f"{name} autocorrelation {lag}"] = autocorrelation(log, round(seconds / step_seconds(scenario)))
    values["correlation of the two"] = [np.corrcoef(*pair)[0, 1] for pair in zip(*logs.values(), strict=True)]
    return pd.DataFrame(values).T


def compare_moments(history: xr.Dataset, simulated: xr.Dataset) -> pd.DataFrame:
    """Return the moments of an observed path beside the median and the 90 % interval of those of simulated paths."""
    observed, paths = moments(history)[0], moments(simulated)
    low, middle, high = (paths.quantile(q, axis=1) for q in (0.05, 0.5, 0.95))
    columns = {"observed": observed, "simulated": middle, "low": low, "high": high}
    return pd.DataFrame(columns | {"inside": observed.between(low, high)}).rename_axis("moment")
