"""Prepare inputs of the compiled loop: L1 fees in each step, fee limits in each step, and posting parameters."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.checks import RealArray
from feemodel.linea import _price_cap as price_cap
from feemodel.simulation.closed_loop._accounts import Caps, PostingTerms
from feemodel.simulation.posting import KINDS, Posting
from feemodel.simulation.scenarios import duration


def rolling_quantile(values: RealArray, window: int, quantile: float) -> RealArray:
    """Return rolling quantiles, with linear interpolation, over windows of `window` values.

    The windows at the start have fewer than `window` values.

    >>> rolling_quantile(np.array([3.0, 1.0, 2.0, 5.0]), 3, 0.5).tolist()
    [3.0, 2.0, 2.0, 2.0]
    """
    distinct, ranks = np.unique(values, return_inverse=True)
    return np.asarray(_rolling_quantile(distinct, ranks.astype(np.int64), window, quantile))


@cached_njit(nogil=True, error_model="numpy")
def _rolling_quantile(distinct, ranks, window, quantile):  # type: ignore[no-untyped-def]
    """Compute rolling quantiles with a binary indexed tree (Fenwick tree).

    The tree stores, for each rank, how many values in the window have this rank.
    """
    size = distinct.size
    top = 1
    while top * 2 <= size:
        top *= 2
    tree = np.zeros(size + 1, dtype=np.int64)
    found = np.empty(ranks.size)
    for i in range(ranks.size):
        index = ranks[i] + 1
        while index <= size:
            tree[index] += 1
            index += index & -index
        if i >= window:
            index = ranks[i - window] + 1
            while index <= size:
                tree[index] -= 1
                index += index & -index
        count = min(i + 1, window)
        position = quantile * (count - 1)
        lower = int(position)
        low = distinct[_ranked(tree, top, size, lower)]
        share = position - lower
        if share > 0.0:
            low += share * (distinct[_ranked(tree, top, size, lower + 1)] - low)
        found[i] = low
    return found


@cached_njit(nogil=True, error_model="numpy")
def _ranked(tree, top, size, number):  # type: ignore[no-untyped-def]
    """Return element `number` (from 0) of the sorted list of the ranks in the tree."""
    index, bit, remaining = 0, top, number + 1
    while bit > 0:
        following = index + bit
        if following <= size and tree[following] < remaining:
            index = following
            remaining -= tree[following]
        bit //= 2
    return index


MIB = 1 << 20


def rows_by_step(elapsed: RealArray, step: float) -> NDArray[np.int64]:
    """Return the index of the scenario's row that applies in each step; a row applies until the next row starts.

    >>> rows_by_step(np.array([0.0, 24.0, 48.0]), 12.0).tolist(), rows_by_step(np.array([0.0, 12.0]), 12.0).tolist()
    ([0, 0, 1, 1], [0, 1])
    """
    if len(elapsed) > 1 and np.all(np.diff(elapsed) == step):
        return np.arange(len(elapsed))
    times = step * np.arange(int((elapsed[-1] - elapsed[0]) / step + 1e-9)) + elapsed[0]
    return np.asarray(np.searchsorted(elapsed, times, side="right") - 1)


def with_end(l1_fees: xr.Dataset, step: float) -> xr.Dataset:
    """Repeat the last row at a scenario's end, so that it applies until then, unless rows are one step apart.

    >>> from feemodel.simulation.scenarios import replay
    >>> hours = replay({"timestamp": [0, 3_600], "base_fee": [7e7, 7e7], "blob_base_fee": [4e6, 4e6]}, source="by hand")
    >>> with_end(hours, 12.0).elapsed.values.tolist()
    [0.0, 3600.0, 7200.0]
    """
    elapsed = l1_fees["elapsed"].to_numpy()
    if np.all(np.diff(elapsed) == step):
        return l1_fees
    end = float(elapsed[0]) + duration(l1_fees)
    coordinates = {"elapsed": ("step", np.append(elapsed, end), l1_fees["elapsed"].attrs)}
    if "time" in l1_fees.coords:
        times, lasts = l1_fees["time"].to_numpy(), np.timedelta64(round((end - elapsed[-1]) * 1e9), "ns")
        coordinates["time"] = ("step", np.append(times, times[-1] + lasts), l1_fees["time"].attrs)
    return l1_fees.isel(step=np.append(np.arange(len(elapsed)), -1)).assign_coords(coordinates)


def first_second(l1_fees: xr.Dataset) -> float | None:
    """Return the Unix time at which a scenario starts, or `None` if the scenario has no dates [s].

    >>> from feemodel.simulation.scenarios import replay
    >>> first_second(replay({"timestamp": [60, 72], "base_fee": [7e7] * 2, "blob_base_fee": [1.0] * 2}, source="x"))
    60.0
    """
    if "time" not in l1_fees.coords:
        return None
    return float(l1_fees["time"].to_numpy()[0].astype("datetime64[ns]").astype(np.int64)) / 1e9


def posting_caps(base_fee: RealArray, blob_base_fee: RealArray, posting: Posting, step: float) -> Caps:
    """Return the fee limits of a posting policy in each step, given the L1 fees in each step [wei / gas].

    For a posting policy that does not wait for lower fees, the arrays of limits are empty.

    >>> cap = posting_caps(np.array([10.0, 20.0]), np.array([1.0, 3e8]), Posting(kind="price-cap"), 12.0)
    >>> cap.base_fee_percentile.tolist(), cap.blob_base_fee_percentile.tolist()
    ([10.0, 11.0], [100000000.0, 100000000.0])
    """
    base, blob = np.empty(0), np.empty(0)
    if posting.kind == "price-cap":
        window = max(1, round(posting.cap.window / step))
        base = np.floor(rolling_quantile(base_fee, window, price_cap.PERCENTILE))
        blob = np.floor(rolling_quantile(blob_base_fee, window, price_cap.PERCENTILE))
        blob = np.maximum(blob, price_cap.MIN_BLOB_FEE)
    hours = price_cap.time_of_day_multipliers() if posting.cap.time_of_day else np.ones(168)
    return Caps(base, blob, hours)


def posting_terms(posting: Posting) -> PostingTerms:
    """Convert a `Posting` to the types that the compiled loop requires.

    >>> posting_terms(Posting()).capacity
    130048.0
    """
    submission, cap = posting.submission, posting.cap
    return PostingTerms(
        kind=KINDS.index(posting.kind),
        capacity=float(submission.capacity),
        need=float(submission.capacity) * float(posting.blobs),
        execution_gas=float(submission.execution_gas),
        further_blob_gas=float(posting.further_blob_gas),
        blob_gas=float(submission.blob_gas),
        deadline=float(posting.deadline or 0.0),
        layer_cost=float(posting.layer_cost_per_mib / MIB),
        commitment_gas=float(posting.commitment_gas),
        target_delay=float(cap.target_delay),
        adjustment=float(cap.adjustment),
        tip_paid=cap.tip == "paid",
        from_first_byte=bool(cap.from_first_byte),
        coefficient=float(cap.coefficient),
        tip_cap=float(cap.tip_cap),
        stream_ratio=float(posting.stream_ratio),
    )
