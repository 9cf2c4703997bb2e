"""The margin for a given risk under each combination of what must be assumed."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from feemodel.arguments import checked
from feemodel.errors import InvalidInput
from feemodel.linea.parameters import MEASURED_STREAM_RATIO
from feemodel.progress import Progress, reporting
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.calibrate import calibrate
from feemodel.simulation.posting import Posting
from feemodel.simulation.quantities import WholeGas
from feemodel.simulation.scenarios import Rng, bootstrap
from feemodel.simulation.surfaces import Workload

DAY = 86_400.0  # seconds
FINALIZATION_GAS = 66_500  # L1 gas of finalization for each blob of Linea, January 2026, from public chain data


@checked
def margins(
    workload: Workload,
    history: xr.Dataset,
    *,
    loss_probability: float = 0.05,
    arrival_rate: float,
    rng: Rng,
    bounds: Sequence[bool] = (False, True),
    stream_ratio: Sequence[float] = (1.0, MEASURED_STREAM_RATIO),
    finalization_gas: Sequence[WholeGas] = (0, FINALIZATION_GAS),
    tip: Sequence[int] = (100_000_000,),
    block_seconds: Sequence[float] = (DAY, 3 * DAY),
    horizon: Sequence[float] = (DAY,),
    paths: int = 200,
    progress: Progress = None,
) -> xr.Dataset:
    """Find the margin of the fee estimate that limits the probability of a loss, under each combination of assumptions.

    Parameters
    ----------
    workload : sizes [byte] and gas [gas] of transactions.
    history : scenario of one path, from which `paths` paths are drawn for each block length and horizon.
    loss_probability : maximum probability that the size part of the fees does not cover the cost over a path [1].
    arrival_rate : mean number of transactions per second [1 / s].
    rng : seed; every combination uses the same seed.
    bounds : whether the announced cost stays within the published bounds.
    stream_ratio : size of the stream / sum of the sizes of its transactions; 1 means no sharing [1].
    finalization_gas : L1 gas of finalization for each blob, which fees must also cover [gas].
    tip : L1 tip, which is announced and paid [wei / gas].
    block_seconds : mean length of the blocks of the bootstrap [s].
    horizon : length of a path [s].
    paths : number of paths of each combination.
    progress : `True` for a progress bar, or a function that is called for each combination.

    Returns
    -------
    Dataset over the six assumptions: `margin`, and the ends `low` and `high` of its 95 % interval; NaN if no margin up
    to 50 is enough [1].

    Raises
    ------
    InvalidInput : an assumption without values, or `feemodel.calibrate` or `bootstrap` rejects an argument.

    At constant L1 fees, sharing in the stream halves the margin:

    >>> from feemodel.simulation.scenarios import replay
    >>> steady = replay({"timestamp": 600 * np.arange(300), "base_fee": np.full(300, 7e7),
    ...                  "blob_base_fee": np.full(300, 4e6)}, source="by hand")
    >>> transfers = Workload("transfers", np.array([128]), np.array([21_000]))
    >>> found = margins(transfers, steady, arrival_rate=1.06, rng=1, loss_probability=0.5, stream_ratio=[1.0, 0.5],
    ...                 bounds=[False], finalization_gas=[0], block_seconds=[7_200.0], horizon=[7_200.0], paths=4)
    >>> found.sizes["stream_ratio"], round(float(found.margin.squeeze()[1] / found.margin.squeeze()[0]), 1)
    (2, 0.5)
    """
    assumed = {
        "bounds": (bounds, "1"),
        "stream_ratio": (stream_ratio, "1"),
        "finalization_gas": (finalization_gas, "gas"),
        "tip": (tip, "wei / gas"),
        "block_seconds": (block_seconds, "s"),
        "horizon": (horizon, "s"),
    }
    values: dict[str, list[Any]] = {name: [*given] for name, (given, _) in assumed.items()}
    for name, given in values.items():
        if not given:
            raise InvalidInput(name, "expected at least one value", given)
    shape = tuple(len(given) for given in values.values())
    found = np.full((3, int(np.prod(shape))), np.nan)
    plain = PricingRule()
    with reporting(progress, found.shape[1], "combinations") as advance:
        for place, (bounded, ratio, gas, paid, block, length) in enumerate(product(*values.values())):
            rule = replace(plain, tip=paid) if bounded else replace(plain, tip=paid, lower_bound=None, upper_bound=None)
            submission = replace(rule.submission, execution_gas=rule.execution_gas + gas)
            posting = Posting(submission=submission, stream_ratio=ratio)
            drawn = bootstrap(history, paths=paths, block_seconds=block, horizon=length, rng=rng)
            one = calibrate(
                workload, drawn, rule, posting, loss_probability=loss_probability, arrival_rate=arrival_rate, rng=rng
            )
            ends = (one.margin, one.low, one.high)
            found[:, place] = [np.nan if end is None else end for end in ends]
            advance(1)
    return described_dataset(
        {
            name: (tuple(values), column.reshape(shape), "1")
            for name, column in zip(("margin", "low", "high"), found, strict=True)
        },
        {name: (name, given, assumed[name][1]) for name, given in values.items()},
        {
            "l1_fees": str(history.attrs["source"]),
            "workload": workload.name,
            "loss_probability": loss_probability,
            "arrival_rate": arrival_rate,
            "paths": paths,
            "seed": str(rng),
        },
    )
