"""Compiled windows over L1 fees: a rolling quantile of the past, and the cheapest block of a span ahead."""

import numpy as np

from feemodel.checks import RealArray
from feemodel.compiled import kept


def rolling_quantile(values: RealArray, window: int, quantile: float) -> RealArray:
    """The quantile of the last `window` values up to each one, with linear interpolation; fewer at the beginning.

    >>> rolling_quantile(np.array([3.0, 1.0, 2.0, 5.0]), 3, 0.5).tolist()
    [3.0, 2.0, 2.0, 2.0]
    """
    distinct, ranks = np.unique(values, return_inverse=True)
    return np.asarray(_rolling_quantile(distinct, ranks.astype(np.int64), window, quantile))


@kept(nogil=True, error_model="numpy")
def _rolling_quantile(distinct, ranks, window, quantile):  # type: ignore[no-untyped-def]
    """Counts by rank in a binary indexed tree: logarithmic in the number of distinct values."""
    size = distinct.size
    top = 1
    while top * 2 <= size:
        top *= 2
    tree = np.zeros(size + 1, dtype=np.int64)
    found = np.empty(ranks.size)
    for i in range(ranks.size):
        place = ranks[i] + 1
        while place <= size:
            tree[place] += 1
            place += place & -place
        if i >= window:
            place = ranks[i - window] + 1
            while place <= size:
                tree[place] -= 1
                place += place & -place
        held = min(i + 1, window)
        position = quantile * (held - 1)
        lower = int(position)
        low = distinct[_ranked(tree, top, size, lower)]
        share = position - lower
        if share > 0.0:
            low += share * (distinct[_ranked(tree, top, size, lower + 1)] - low)
        found[i] = low
    return found


@kept(nogil=True, error_model="numpy")
def _ranked(tree, top, size, number):  # type: ignore[no-untyped-def]
    """The rank of the value that is `number`-th in order, from 0."""
    place, bit, left = 0, top, number + 1
    while bit > 0:
        following = place + bit
        if following <= size and tree[following] < left:
            place = following
            left -= tree[following]
        bit //= 2
    return place


@kept(nogil=True, error_model="numpy")
def cheapest_step(costs, window):  # type: ignore[no-untyped-def]
    """For each step, the step of the least cost from it to `window` steps later, the latest of equal ones.

    >>> cheapest_step(np.array([3.0, 1.0, 2.0, 5.0]), 1).tolist()
    [1, 1, 2, 3]
    """
    count = costs.size
    best = np.empty(count, dtype=np.int64)
    queue = np.empty(count, dtype=np.int64)  # steps in order of time from the tail on, of falling cost
    head, tail = 0, 0
    for k in range(count - 1, -1, -1):
        while tail > head and costs[queue[tail - 1]] > costs[k]:
            tail -= 1
        queue[tail] = k
        tail += 1
        while queue[head] > k + window:
            head += 1
        best[k] = queue[head]
    return best
