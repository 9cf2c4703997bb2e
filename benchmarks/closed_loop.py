"""Speed and memory of the closed loop, growth with paths and steps, and reproducibility of results.

A rate is the steps per second of processor time, multiplied by the number of processors. This is the rate on a machine
that runs nothing else.
"""

import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import numba
import numpy as np
import xarray as xr

from feemodel.progress import cores
from feemodel.simulation import Bootstrap, Demand, Fixed, LineaPricing, simulate
from feemodel.simulation.scenarios import replay

STEPS = 216_000  # steps of a path: 30 days of 12 s
PATHS, ROUNDS = 20, 3
GOALS = {"fluid": 16e6, "elasticity and Poisson": 6e6}  # minimum steps per second on two processors
GOAL_RATIO = 1.3  # maximum ratio of times: a user's compiled policy to the built-in one
DAY = 86_400.0  # seconds
Key = TypeVar("Key", str, int)


def main() -> None:
    history, answering = _history(STEPS), Demand(elasticity=0.5, reference_fee=1e10, poisson=True)
    alike = history.isel(path=[0] * PATHS)
    months = Bootstrap(paths=PATHS, block_seconds=DAY)
    taken = _seconds(
        {
            "fluid": lambda: simulate(alike, LineaPricing()),
            "elasticity and Poisson": lambda: simulate(alike, LineaPricing(), demand=answering),
            "elasticity and Poisson, drawn months": lambda: simulate(
                history, LineaPricing(), demand=answering, bootstrap=months
            ),
            "built-in fixed price": lambda: simulate(alike, Fixed(price=1e8)),
            "own fixed price": lambda: simulate(alike, _Own()),
        }
    )
    for name, seconds in taken.items():
        rate, goal = STEPS * PATHS * cores() / statistics.median(seconds), GOALS.get(name)
        aim = "" if goal is None else f", goal {goal / 1e6:.0f}"
        print(f"   {name}: {rate / 1e6:.1f} million steps a second on {cores()} processors{aim}; "
              f"1,000 paths of 30 days in {1_000 * STEPS / rate:.0f} s")  # fmt: skip
    ratios = [own / built for own, built in zip(taken["own fixed price"], taken["built-in fixed price"], strict=True)]
    print(f"   time of a user's compiled policy / built-in policy: {statistics.median(ratios):.2f}, goal {GOAL_RATIO}")
    _growth(history)
    _same(history, answering)


def _growth(history: xr.Dataset) -> None:
    """Print processor time for twice and four times the paths and steps, and peak memory."""

    def run(paths: int, steps: int) -> Callable[[], object]:
        months = Bootstrap(paths=paths, block_seconds=DAY, horizon=12.0 * steps)
        return lambda: simulate(history, LineaPricing(), bootstrap=months)

    for what, runs in {
        "paths": {factor: run(10 * factor, STEPS) for factor in (1, 2, 4)},
        "steps": {factor: run(10, factor * STEPS) for factor in (1, 2, 4)},
    }.items():
        seconds = {factor: statistics.median(each) for factor, each in _seconds(runs).items()}
        growth = ", ".join(f"{factor} times: {seconds[factor] / seconds[1]:.2f}" for factor in (2, 4))
        print(f"   processor time over that of once the {what}: {growth}")
    peaks = []
    for paths in (20, 200):
        simulate(history, LineaPricing(), bootstrap=Bootstrap(paths=paths, block_seconds=DAY, horizon=10 * DAY))
        peaks.append(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
        )
    print(f"   peak memory: {peaks[0]:.0f} MiB before and {peaks[1]:.0f} MiB after a run of 200 paths")


def _same(history: xr.Dataset, answering: Demand) -> None:
    """Check that results are bit-identical for more workers and after an interruption."""
    months = Bootstrap(paths=6, block_seconds=DAY, horizon=10 * DAY)

    def run(pricing: Fixed | _Own, **options: object) -> xr.Dataset:
        return simulate(history, pricing, demand=answering, bootstrap=months, rng=3, **options)  # type: ignore[arg-type]

    whole = run(Fixed(price=1e8), workers=1)
    alike = {f"{workers} threads": run(Fixed(price=1e8), workers=workers) for workers in (2, 3)}
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        alike["2 processes"] = run(Fixed(price=1e8), executor=processes)
    for name, found in alike.items():
        print(f"   {name}: {'bit-identical' if whole.drop_attrs().equals(found.drop_attrs()) else 'DIFFERENT'}")


def _seconds(runs: Mapping[Key, Callable[[], object]]) -> dict[Key, list[float]]:
    """Return the processor seconds of every run in every round. The runs alternate."""
    for run in runs.values():
        run()
    seconds: dict[Key, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            started = time.process_time()
            run()
            seconds[name].append(time.process_time() - started)
    return seconds


def _history(steps: int) -> xr.Dataset:
    rng = np.random.default_rng(1)
    fees = {
        "timestamp": 12 * np.arange(steps),
        "base_fee": np.exp(rng.normal(18.5, 0.8, steps)).round(),
        "blob_base_fee": np.exp(rng.normal(15.0, 1.0, steps)).round(),
    }
    return replay(fees, source="random")


@numba.njit
def _announce(state, seen, price):  # type: ignore[no-untyped-def]
    price.per_byte = state[0]


@numba.njit
def _settle(state, settled):  # type: ignore[no-untyped-def]
    pass


class _Own:
    """A fixed price, implemented as a user's policy."""

    announce, settle = staticmethod(_announce), staticmethod(_settle)

    def start(self, setting: object) -> np.ndarray:
        return np.array([1e8])
