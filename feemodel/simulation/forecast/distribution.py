"""Forecast L1 fees: quantiles at given horizons, and joint sample paths of both fees."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import xarray as xr

from feemodel.arguments import checked
from feemodel.checks import WholeArray, require, sequence
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import MAXIMUM
from feemodel.quantities import REAL, Quantity
from feemodel.simulation._l1_columns import FEES, HasTable
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.draws import seed_sequence
from feemodel.simulation.forecast.methods import Method, fees_of, rolling_quantiles
from feemodel.simulation.forecast.paths import moved, past_changes
from feemodel.simulation.forecast.series import BIN, DAY, FeeSeries, binned
from feemodel.simulation.scenarios import Rng, check_scenario, check_scenario_size, replay
from feemodel.simulation.surfaces import Submission

Horizon: TypeAlias = float | str
L1Fees: TypeAlias = Mapping[str, Any] | pd.DataFrame | HasTable | xr.Dataset

HORIZONS = ("10min", "1h", "6h", "24h")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LONGEST_HORIZON = 7 * DAY  # maximum horizon [bins]
SUBMISSION = Submission()
KNOTS = (1, 6, 36, 144)  # horizons, besides those requested, at which paths are adjusted to quantiles [bins]


class History(NamedTuple):
    """L1 fees from which a forecast is computed."""

    series: Mapping[str, FeeSeries]  #: series of each fee in `FEES`; all series have the same bins
    newest: float  #: Unix time of the newest row [s]
    tip: float | None  #: median tip of the newest day, if known [wei / gas]
    source: str  #: description of the data source
    assumed: str  #: assumptions about missing data

    def tip_of(self, submission: Submission) -> float:
        """Return the tip of the history or, if the history has no tips, the tip of the submission [wei / gas]."""
        return submission.tip if self.tip is None else self.tip

    def without(self, block: int, blocks: int) -> "History":
        """Return the history with one of several equal blocks of its days left out of all fits."""
        return self._replace(
            series={
                name: replace(one, used=one.used & (np.arange(len(one)) * blocks // len(one) != block))
                for name, one in self.series.items()
            }
        )


@checked
def forecast(
    l1: L1Fees | History,
    *,
    horizons: Sequence[Horizon] = HORIZONS,
    method: Method = "auto",
    paths: int = 1_000,
    rng: Rng = 0,
    submission: Submission = SUBMISSION,
    step: Annotated[int, Quantity("s", minimum=12, maximum=DAY * BIN)] = BIN,
) -> xr.Dataset:
    """Forecast the distribution of L1 fees after the newest row of a history.

    The forecast is for the geometric mean of a fee over ten minutes (a bin). The horizon is the time from the bin of
    the newest row to the bin of the forecast. Forecast quantiles are between 1 wei and 10 million gwei.

    Parameters
    ----------
    l1 : L1 fees: a table from `feemodel.io.read_l1_fees`, any other table with times that
        `feemodel.simulation.scenarios.replay` accepts, or a scenario of one path with times. The L1 fees must cover at
        least six days; good forecasts need L1 fees of about a month.
    horizons : horizons, in seconds or as text such as "6h": multiples of ten minutes, at most seven days.
    method : "auto", or a baseline: "persistence" or "seasonal".
    paths : number of joint sample paths of both fees. The paths end at the longest horizon. If `paths` is 0, the result
        contains neither paths nor costs.
    rng : seed, SeedSequence or Generator for the paths.
    submission : submission whose cost is forecast. If the history has tips, the median tip of the newest day replaces
        the tip of the submission.
    step : length of a step of the paths, from 12 s to a day [s].

    Returns
    -------
    Dataset. Variables over `horizon` [s] and `quantile`: `base_fee_quantile` and `blob_base_fee_quantile` [wei / gas],
    and `cost_quantile` [wei] if `paths` is not 0. Variables over `path` and `step`: `base_fee` and `blob_base_fee` at
    the start of each step [wei / gas], and `cost` [wei]. Coordinates of `step`: `elapsed` [s] and `time`. Paths start
    at the newest row, and change every ten minutes. For a result `found`, `found[["base_fee",
    "blob_base_fee"]]` is a scenario of the sample paths.

    Raises
    ------
    InvalidInput : the history is too short, `replay` rejects the history, a fee is below 1 wei or above 10 million
        gwei, or a horizon is not a multiple of ten minutes.

    >>> times = np.arange(0, 8 * 86_400, 600) + 1_770_000_000
    >>> wave = 1e8 * np.exp(np.sin(2 * np.pi * times / 86_400))
    >>> l1 = {"timestamp": times, "base_fee": wave, "blob_base_fee": wave / 16}
    >>> found = forecast(l1, horizons=["24h"], paths=4, rng=1)
    >>> found.base_fee.sizes["path"], float(found.base_fee_quantile.sel(quantile=0.5)[0].round(-6))
    (4, 184000000.0)
    """
    history = l1 if isinstance(l1, History) else history_of(l1)
    bins = horizon_bins(horizons)
    levels = np.array(QUANTILES)
    stream = np.random.default_rng(seed_sequence(rng))
    check_scenario_size(paths, int(bins[-1] + 1) * BIN // step)
    knots = np.union1d(bins, [knot for knot in KNOTS if knot <= bins[-1]]) if paths else bins
    found = {
        # the longest horizon first: it fails for a short history
        name: np.vstack([rolling_quantiles(one, int(at), method=method, quantiles=levels) for at in knots[::-1]])[::-1]
        for name, one in history.series.items()
    }
    variables: dict[str, Any] = {
        f"{name}_quantile": (("horizon", "quantile"), fees_of(found[name][np.isin(knots, bins)]), "wei / gas")
        for name in FEES
    }
    coordinates: dict[str, Any] = {
        "horizon": ("horizon", bins * float(BIN), "s"),
        "quantile": ("quantile", levels, "1"),
    }
    if paths:
        changes = past_changes(history.series, int(bins[-1]), paths, stream)
        wait = BIN - history.newest % BIN  # time until the next bin
        elapsed = np.arange(0.0, wait + BIN * bins[-1] + 1.0, step)
        column = np.searchsorted(wait + BIN * np.arange(bins[-1]), elapsed, side="right")
        base_fee, blob_base_fee = (
            fees_of(values[:, column]) for values in (moved(changes[name], knots, found[name], levels) for name in FEES)
        )
        cost = submission.cost(base_fee, history.tip_of(submission), blob_base_fee)
        at = np.searchsorted(elapsed, bins * float(BIN)).clip(max=len(elapsed) - 1)
        variables |= {
            "cost_quantile": (("horizon", "quantile"), np.quantile(cost[:, at], levels, axis=0).T, "wei"),
            "base_fee": (("path", "step"), base_fee, "wei / gas"),
            "blob_base_fee": (("path", "step"), blob_base_fee, "wei / gas"),
            "cost": (("path", "step"), cost, "wei"),
        }
        coordinates |= {
            "path": np.arange(paths),
            "elapsed": ("step", elapsed, "s"),
            "time": ("step", ((history.newest + elapsed) * 1e9).astype("datetime64[ns]"), None, "date and time, UTC"),
        }
    attributes = {
        "source": f"forecast by {method} from {history.source}",
        "assumed": history.assumed,
        "method": method,
        "origin": np.datetime_as_string(np.datetime64(int(history.newest), "s"), timezone="UTC"),
    }
    return described_dataset(variables, coordinates, attributes)


def history_of(l1: Any) -> History:
    """Convert a table or scenario of L1 fees to the series and the newest values from which `forecast` starts.

    Raises `InvalidInput` if `forecast` rejects the history.

    >>> found = history_of({"timestamp": [0, 600], "base_fee": [7e7, 8e7], "blob_base_fee": [4e6, 4e6]})
    >>> len(found.series["base_fee"]), found.newest
    (2, 600.0)
    """
    found = l1 if isinstance(l1, xr.Dataset) else replay(l1)
    check_scenario("l1", found)
    if found.sizes["path"] != 1 or "time" not in found.coords:
        raise InvalidInput("l1", "expected one path, with the time of each step", dict(found.sizes))
    times = found["time"].to_numpy()
    if times.dtype.kind != "M" or np.isnat(times).any() or (np.diff(times) <= np.timedelta64(0)).any():
        raise InvalidInput("l1.time", "expected increasing datetimes", times)
    seconds = times.astype("datetime64[ns]").astype(np.int64) / 1e9
    columns = {name: found[name].to_numpy()[0].astype(np.float64) for name in (*FEES, "tip") if name in found}
    for name in FEES:
        inside = (columns[name] >= 1.0) & (columns[name] <= MAXIMUM)
        require(f"l1.{name}", "expected from 1 wei to 10,000,000 gwei", columns[name], inside)
    recent = seconds > seconds[-1] - DAY * BIN
    assumed = [str(found.attrs["assumed"])] if found.attrs.get("assumed", "nothing") != "nothing" else []
    if len(seconds) > 1 and (apart := float(np.median(np.diff(seconds)))) > BIN:
        assumed.append(f"fees held constant between rows {apart:,.6g} s apart")
    return History(
        series={name: binned(seconds, columns[name]) for name in FEES},
        newest=float(seconds[-1]),
        tip=float(np.median(columns["tip"][recent])) if "tip" in columns else None,
        source=found.attrs["source"],
        assumed="; ".join(assumed) or "nothing",
    )


def horizon_bins(horizons: Sequence[Horizon]) -> WholeArray:
    """Convert horizons to bins, without duplicates and in increasing order.

    Raises `InvalidInput` if a horizon is not a multiple of ten minutes or is longer than seven days.

    >>> horizon_bins(["6h", 600])
    array([ 1, 36])
    """
    found = []
    for horizon in sequence("horizons", horizons):
        try:
            seconds = pd.Timedelta(horizon.replace("d", "D")).total_seconds() if isinstance(horizon, str) else horizon
        except ValueError:
            reason = "expected a number of seconds, or text such as 10min, 6h or 1d"
            raise InvalidInput("horizons", reason, horizon) from None
        if REAL.check_one("horizons", seconds) % BIN or not BIN <= seconds <= LONGEST_HORIZON * BIN:
            raise InvalidInput("horizons", "expected multiples of ten minutes, at most seven days", horizon)
        found.append(int(seconds) // BIN)
    if not found:
        raise InvalidInput("horizons", "expected at least one", horizons)
    return np.unique(found)
