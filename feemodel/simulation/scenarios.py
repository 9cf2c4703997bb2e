"""L1 fees for experiments, from observed histories and from block bootstraps of histories.

A scenario is a Dataset over `path` and `step`. The variables of a scenario are `base_fee` and `blob_base_fee`
[wei / gas], and, if known, `tip` [wei / gas], `gas_used_ratio` and `blob_gas_used_ratio` [1]. The coordinate `elapsed`
(step) is the start of each step [s]. A step lasts until the next step starts; the last step is as long as the median
step.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import NDArray

from feemodel.arguments import checked
from feemodel.checks import RealArray, WholeArray, check_limit, choice, instance, require
from feemodel.errors import InvalidInput
from feemodel.quantities import REAL
from feemodel.simulation._l1_columns import FEES, RATIOS, TIP, UNITS, HasTable, check_unit, check_units, l1_columns
from feemodel.simulation._metadata import described_dataset, with_metadata
from feemodel.simulation.draws import Rng as Rng
from feemodel.simulation.draws import seed_sequence
from feemodel.simulation.quantities import CountAboveZero, Duration, Horizon

if TYPE_CHECKING:
    import pandas as pd


FEES_UNIT = "fees_unit"  # attribute with the unit that the caller gave; with it, the range of fees is not checked
LARGEST_SCENARIO = 1 << 27  # maximum total number of steps of all paths; a column of this length takes 1 GiB
MIN_SECONDS = 600  # minimum length of blocks [s]; smaller numbers are probably hours or days


def replay(
    table: "Mapping[str, Any] | pd.DataFrame | HasTable", *, source: str | None = None, unit: str | None = None
) -> xr.Dataset:
    """Return observed L1 fees as a scenario of one path.

    Parameters
    ----------
    table : table of `feemodel.io.read_l1_fees`, `feemodel.io.FeeHistory`, or a pandas, Arrow or Polars table, with rows
        in order of time. Required columns are `base_fee` [wei / gas] and `timestamp`: seconds since 1970 or datetimes,
        in UTC if they have no time zone. Datetimes may also be the index of the table. Optional columns are
        `blob_base_fee` [wei / gas] or `excess_blob_gas` [gas]; `gas_used_ratio` [1], or `gas_used` and `gas_limit`
        [gas]; `blob_gas_used_ratio` [1] or `blob_gas_used` [gas]; and `tip` [wei / gas]. The columns may have any name
        that `read_l1_fees` knows, such as `block_time` (`feemodel.ethereum.l1_table`). A column without any values is
        ignored.
    source : description of the data, which the attributes of results contain; `None` means a text with the type and
        length of the table.
    unit : unit of base fees, blob base fees and tips: "wei", "kwei", "gwei" or "eth". `None` means wei, but fees that
        are probably in another unit, such as a base fee below 1,000 wei, are rejected. "wei" accepts fees of any
        magnitude.

    Returns
    -------
    Scenario of one path. The attribute `assumed` lists which of the following assumptions were made: missing blob base
    fees equal the minimum of EIP-7918, base fee / 16; the blocks of a fee history are 12 s apart; fees are constant
    during gaps. The attribute `gaps` describes the gaps: intervals between rows that are longer than 2.5 median
    intervals and longer than 60 s.

    Raises
    ------
    InvalidInput : a missing column or value, a fee that is not positive, not finite or probably not in wei, a usage
        ratio above 1, or times that do not increase.

    >>> one = replay({"timestamp": [0, 12], "base_fee": [7e7, 8e7], "blob_base_fee": [4e6, 4e6]}, source="by hand")
    >>> one.sizes["step"], duration(one), one.attrs["assumed"]
    (2, 24.0, 'nothing')
    """
    found = l1_columns(table, unit)
    description = f"{type(table).__name__} of {len(found.seconds):,} blocks" if source is None else source
    elapsed = found.seconds - found.seconds[0]
    columns = {name: values[None, :] for name, values in found.fees.items()}
    made = scenario(columns, elapsed, source=description, unit="wei" if found.units_given else None)
    made = made.assign_attrs(assumed="; ".join(found.assumed) or "nothing", gaps=found.gaps)
    if found.timed:
        made = made.assign_coords(time=("step", (found.seconds * 1e9).astype("datetime64[ns]")))
    return with_metadata(made)


@checked
def bootstrap(
    history: "Scenario",
    *,
    paths: CountAboveZero,
    block_seconds: Duration,
    horizon: Horizon | None = None,
    rng: Rng,
) -> xr.Dataset:
    """Draw paths by the stationary bootstrap: draw blocks of a history with replacement, and concatenate them.

    The length of a block is geometrically distributed, which gives a stationary series (Politis and Romano, 1994).

    A block contains all columns of successive rows, so base fee and blob base fee of the same time stay together. After
    the last row of the history, a block continues with the first row, so all rows are equally likely. A drawn block can
    start at any time of day.

    Parameters
    ----------
    history : scenario of one path.
    paths : number of paths. Each path has its own random stream, so a path does not depend on the number of paths.
    block_seconds : mean length of a block [s]. Blocks with a length of a day mostly preserve the daily cycle.
    horizon : length of a path [s]; `None` means the length of the history.
    rng : seed, SeedSequence or Generator.

    Returns
    -------
    Scenario with `paths` paths.

    Raises
    ------
    InvalidInput : a history of several paths, a block shorter than a step or longer than the history, or a horizon
        shorter than a step.

    >>> rows = {"timestamp": [0, 12, 24], "base_fee": [7_006, 7_007, 7_008], "blob_base_fee": [6, 7, 8]}
    >>> one = replay(rows, source="by hand")
    >>> drawn = bootstrap(one, paths=5, block_seconds=12, rng=1)
    >>> dict(drawn.sizes), bool((drawn.base_fee - drawn.blob_base_fee == 7_000).all())  # fees of a block stay together
    ({'path': 5, 'step': 3}, True)
    """
    if history.sizes["path"] != 1:
        raise InvalidInput("history", "expected a history of one path", history.sizes["path"])
    rows, step = history.sizes["step"], step_seconds(history)
    check_block_seconds(block_seconds, step)
    length = round(block_seconds / step)
    if not 1 <= length <= rows:
        reason = f"expected a number from {step:g} s (one step) to {duration(history):g} s (the history)"
        raise InvalidInput("block_seconds", reason, block_seconds)
    steps = rows if horizon is None else round(horizon / step)
    if steps < 1:
        raise InvalidInput("horizon", f"expected at least one step, {step:g} s", horizon)
    check_scenario_size(paths, steps)
    seed = seed_sequence(rng)
    streams = map(np.random.default_rng, seed.spawn(paths))
    index = np.stack([drawn_rows(stream, rows, steps, length) for stream in streams])
    drawn = {str(name): values.to_numpy()[0][index] for name, values in history.data_vars.items()}
    source = f"stationary block bootstrap of {history.attrs['source']}"
    found = scenario(drawn, np.arange(steps) * step, source=source, unit="wei")
    # Rows of the paths are a step apart, also where the history has a gap.
    apart = f"rows {step:g} s apart, also over gaps"
    assumed = str(history.attrs.get("assumed", "nothing")).replace("fees held constant over gaps", apart)
    found = found.assign_attrs(block_seconds=length * step, assumed=assumed)
    return with_metadata(found, seed)


@checked
def check_block_seconds(block_seconds: Duration, step: Duration) -> None:
    """Raise `InvalidInput` if blocks of the bootstrap are shorter than ten minutes, unless they are one step long.

    >>> check_block_seconds(24.0, 12.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: block_seconds: expected at least 600 (in seconds; 24 h = 86,400), or 12, ...
    """
    if block_seconds != step and block_seconds < MIN_SECONDS:
        bound = f"at least {MIN_SECONDS} (in seconds; 24 h = 86,400)"
        reason = f"expected {bound}, or {step:g}, one step of the history, to draw rows one by one"
        raise InvalidInput("block_seconds", reason, block_seconds)


def scenario(
    columns: Mapping[str, NDArray[Any]], elapsed: NDArray[Any], *, source: str, unit: str | None = None
) -> xr.Dataset:
    """Return a scenario from arrays.

    Parameters
    ----------
    columns : array of shape (path, step) for each variable, by name; fees and tips in wei per gas.
    elapsed : start of each step [s].
    source : description of the data, for the attributes of results.
    unit : "wei" accepts fees of any magnitude, as in `replay`.

    Raises
    ------
    InvalidInput : arrays of different shapes, or values that `check_scenario` rejects.

    >>> fees = {"base_fee": np.array([[7e7, 8e7]]), "blob_base_fee": np.array([[4e6, 4e6]])}
    >>> scenario(fees, np.array([0.0, 12.0]), source="by hand").base_fee.units
    'wei / gas'
    """
    found = described_dataset(
        {
            name: (("path", "step"), values, UNITS.get(name))
            for name, values in instance("columns", columns, Mapping).items()
        },
        {"elapsed": ("step", elapsed, "s")},
        {"source": source} | ({} if unit is None else {FEES_UNIT: choice("unit", unit, ("wei",))}),
    )
    check_scenario("columns", found)
    return found


def check_scenario(name: str, found: Any) -> xr.Dataset:
    """Return a scenario; raise `InvalidInput` for another value, and for a fee that is not finite or not above 0.

    >>> check_scenario("l1_fees", [1.0])
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: l1_fees: expected a scenario, such as a result of replay or bootstrap, got [1.0]
    """
    if not isinstance(found, xr.Dataset):
        raise InvalidInput(name, "expected a scenario, such as a result of replay or bootstrap", found)
    check_units(name, found)
    missing = [one for one in (*FEES, "elapsed") if one not in found.variables]
    if missing or set(found.sizes) != {"path", "step"} or "source" not in found.attrs:
        reason = "expected a scenario: base_fee and blob_base_fee over path and step, elapsed over step, a source"
        raise InvalidInput(name, reason, dict(found.sizes))
    for column in (*FEES, TIP, *RATIOS):
        if column not in found:
            continue
        if found[column].dims != ("path", "step"):
            reason = "expected the dimensions path and step, in this order"
            raise InvalidInput(f"{name}.{column}", reason, found[column].dims)
        values = np.asarray(REAL.check(f"{name}.{column}", found[column].to_numpy()))
        if column in FEES:
            require(f"{name}.{column}", "expected fees above 0", values, values > 0.0)
        if column not in RATIOS and found.attrs.get(FEES_UNIT) != "wei":
            check_unit(f"{name}.{column}", column, values)
    instance(f"{name}.source", found.attrs["source"], str)
    if not all(found.sizes.values()):
        raise InvalidInput(name, "expected at least one path and one step", dict(found.sizes))
    _checked_starts(name, found)
    return found


Scenario = Annotated[xr.Dataset, check_scenario]


@checked
def check_scenario_size(paths: int, steps: int) -> None:
    """Raise `LimitExceeded` if all paths together have more than 134,217,728 steps.

    >>> check_scenario_size(1_000, 1_000)
    """
    check_limit(paths * steps, f"steps of {paths:,} paths", LARGEST_SCENARIO)


def step_seconds(found: xr.Dataset) -> float:
    """Return the median length of a step [s].

    >>> one = replay({"timestamp": [0, 12, 36], "base_fee": [7e7] * 3, "blob_base_fee": [4e6] * 3}, source="by hand")
    >>> step_seconds(one)  # of 12 s and 24 s
    18.0
    """
    elapsed = _checked_starts("scenario", found)
    if len(elapsed) < 2:
        raise InvalidInput("scenario", "expected at least two steps", len(elapsed))
    return float(np.median(np.diff(elapsed)))


def duration(found: xr.Dataset) -> float:
    """Return the time from the start of the first step to the end of the last step [s].

    >>> one = replay({"timestamp": [0, 12, 36], "base_fee": [7e7] * 3, "blob_base_fee": [4e6] * 3}, source="by hand")
    >>> duration(one)  # 36 s, and a last step of 18 s
    54.0
    """
    elapsed = _checked_starts("scenario", found)
    return float(elapsed[-1] - elapsed[0]) + step_seconds(found)


def _checked_starts(name: str, found: xr.Dataset) -> RealArray:
    """Check the start times of the steps, and return them [s]."""
    if not isinstance(found, xr.Dataset) or "elapsed" not in found.variables or found["elapsed"].dims != ("step",):
        raise InvalidInput(name, "expected a scenario, such as a result of replay or bootstrap", found)
    elapsed = np.asarray(REAL.check(f"{name}.elapsed", found["elapsed"].to_numpy()))
    require(f"{name}.elapsed", "expected increasing times, one per step", elapsed[1:], np.diff(elapsed) > 0)
    return elapsed


@checked
def drawn_rows(stream: Generator, rows: CountAboveZero, steps: CountAboveZero, length: CountAboveZero) -> WholeArray:
    """Draw one path by block bootstrap; return the index of the history row for each step.

    Parameters
    ----------
    stream : random stream of the path.
    rows : number of rows of the history.
    steps : number of steps of the path.
    length : mean length of a block [steps].

    >>> drawn_rows(np.random.default_rng(1), rows=10, steps=6, length=3)
    array([2, 3, 2, 3, 6, 7])
    """
    check_scenario_size(1, steps)
    begins_block = stream.random(steps) < 1 / length
    begins_block[0] = True
    indices = np.arange(steps)
    newest = np.maximum.accumulate(np.where(begins_block, indices, 0))  # first step of each bootstrap block
    starts = stream.integers(rows, size=steps)
    return np.asarray((starts[newest] + indices - newest) % rows)
