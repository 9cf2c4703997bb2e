"""How far a calibrated margin depends on the one history that there is, and on the blocks that it is drawn in.

The interval of `calibrate` is that of drawing paths. Here the history itself is drawn again, in blocks, as often as
asked for (a bootstrap of the bootstrap), and the margin calibrated on each.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import xarray as xr

from feemodel.checks import check_limit, real_scalar, sequence, share, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.progress import Progress, reporting
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.calibrate import calibrate
from feemodel.simulation.executors import Where
from feemodel.simulation.metadata import described_dataset
from feemodel.simulation.posting import Posting
from feemodel.simulation.scenarios import Rng, bootstrap, check_scenario, generator_of
from feemodel.simulation.surfaces import Workload

DAY = 86_400.0  # seconds
MOST_HISTORIES = 10_000  # that are drawn
BLOCKS = (DAY, 3 * DAY)  # a day keeps the daily cycle, three days a spell of dear fees


def calibrate_histories(
    workload: Workload,
    history: "xr.Dataset",
    rule: "PricingRule | None" = None,
    posting: "Posting | None" = None,
    *,
    loss_probability: float,
    arrival_rate: float,
    rng: Rng,
    histories: int = 40,
    paths: int = 200,
    horizon: float = DAY,
    block_seconds: "Sequence[float]" = BLOCKS,
    vary: Literal["estimate_margin", "margin"] = "estimate_margin",
    counted: Literal["revenue", "size_revenue"] = "size_revenue",
    confidence: float = 0.95,
    highest: float = 100.0,
    executor: "Where" = None,
    workers: int | None = None,
    progress: Progress = None,
) -> xr.Dataset:
    """The calibrated margin on the history, and on histories drawn from it, for several lengths of blocks.

    A drawn history is a circular block bootstrap of the whole, as long as it is; the paths are drawn from it with
    blocks of the same length. Its margins vary by the drawing of paths and by the shortness of the history together.

    Parameters
    ----------
    workload, rule, posting, loss_probability, arrival_rate, vary, counted, highest, executor, workers : as `calibrate`.
    history : a scenario of one path.
    rng : seed, SeedSequence or Generator.
    histories : that are drawn.
    paths : of each. horizon : their length [s].
    block_seconds : lengths of the blocks, one interval each [s].
    confidence : of the intervals [1].
    progress : called after each calibration.

    Returns
    -------
    Dataset. Over `block_seconds`: `margin` on the history itself, `low` and `high`, the interval of the histories'
    margins; over `block_seconds` and `history`: `drawn_margin`, NaN where no margin up to `highest` keeps the bound.
    The attributes `low` and `high` hold all block lengths' intervals.

    Raises as `calibrate` and `bootstrap`.

    >>> from feemodel.simulation.scenarios import replay
    >>> steady = replay({"timestamp": 600 * np.arange(300), "base_fee": np.full(300, 7e7),
    ...                  "blob_base_fee": np.full(300, 4e6)}, source="by hand")
    >>> transfers = Workload("transfers", np.array([128]), np.array([21_000]))
    >>> found = calibrate_histories(transfers, steady, PricingRule(lower_bound=None), loss_probability=0.5,
    ...     arrival_rate=0.5, rng=1, histories=2, paths=4, horizon=7_200.0, block_seconds=[7_200.0])
    >>> dict(found.sizes), bool(abs(found.drawn_margin / found.margin - 1).max() < 0.1)  # fees that never move
    ({'block_seconds': 1, 'history': 2}, True)
    """
    check_scenario("history", history)
    count, level = whole_scalar("histories", histories, minimum=2), share("confidence", confidence)
    check_limit(count, "histories", MOST_HISTORIES)
    lengths = [real_scalar("block_seconds", length, unit="s") for length in sequence("block_seconds", block_seconds)]
    if not lengths:
        raise InvalidInput("block_seconds", "expected at least one length", block_seconds)
    margins = np.empty((len(lengths), 1 + count))
    streams = generator_of(rng).spawn(len(lengths))
    with reporting(progress, margins.size, "calibrations") as advance:
        for place, (length, stream) in enumerate(zip(lengths, streams, strict=True)):
            drawn = bootstrap(history, paths=count, block_seconds=length, method="circular", rng=stream)
            for number in range(1 + count):
                source = history if number == 0 else drawn.isel(path=[number - 1])
                fees = bootstrap(source, paths=paths, block_seconds=length, horizon=horizon, rng=stream)
                found = calibrate(
                    workload,
                    fees,
                    rule,
                    posting,
                    loss_probability=loss_probability,
                    arrival_rate=arrival_rate,
                    rng=stream,
                    vary=vary,
                    counted=counted,
                    highest=highest,
                    executor=executor,
                    workers=workers,
                )
                margins[place, number] = np.nan if found.margin is None else found.margin
                advance(1)
    # A history without a margin counts as one that needs more than any.
    ordered = np.sort(np.where(np.isnan(margins[:, 1:]), np.inf, margins[:, 1:]), axis=1)
    tail = (1.0 - level) / 2.0
    low, high = (np.quantile(ordered, level_of, axis=1, method="inverted_cdf") for level_of in (tail, 1.0 - tail))
    columns = {"margin": margins[:, 0], "low": low, "high": high}
    attributes = {"low": float(low.min()), "high": float(high.max()), "confidence": level}
    attributes |= {"loss_probability": loss_probability, "paths": paths, "l1_fees": history.attrs["source"]}
    return described_dataset(
        {name: ("block_seconds", values, "1") for name, values in columns.items()}
        | {"drawn_margin": (("block_seconds", "history"), margins[:, 1:], "1")},
        {"block_seconds": ("block_seconds", lengths, "s"), "history": np.arange(count)},
        attributes,
    )
