"""Benchmarks: each module prints times relative to a lower bound or to another program, measured in the same run."""

import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np


def interleaved(
    runs: Mapping[str, Callable[[], object]], *, rounds: int = 7, warm_up: int = 1
) -> dict[str, list[float]]:
    """Return the seconds of every run in every round. The runs alternate, so that a busy machine slows all of them."""
    for _ in range(warm_up):
        for run in runs.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def ratio(seconds: Mapping[str, list[float]], name: str, floor: str) -> str:
    """Format the median and the range of the ratios of each round."""
    ratios = [a / b for a, b in zip(seconds[name], seconds[floor], strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def per_item(seconds: list[float], items: int) -> str:
    """Format the median time per item [ns]."""
    return f"{float(np.median(seconds)) / items * 1e9:.2f} ns"
