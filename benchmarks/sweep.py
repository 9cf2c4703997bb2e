"""Time of `sweep`, compared with that of its memory or its random draws alone."""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

import feemodel
from benchmarks import interleaved, per_item, ratio
from feemodel.linea.from_l1 import priority_fee_from_l1
from feemodel.progress import cores
from feemodel.simulation.samples import DRAW_BLOCK, Samples, grid, monte_carlo
from feemodel.simulation.statistics import over
from feemodel.simulation.surfaces import Workload
from feemodel.simulation.sweep import sweep

ELEMENTS = 100_000_000
SIDE = 100  # points on each of four axes
PATHS = 1_000_000
BLOCK = 1 << 18  # elements per step of the lower bounds
COSTS = {"variable_cost": 1_000_000_000, "fixed_cost": 30_000_000}
L1_FEES = {
    "base_fee": stats.lognorm(s=0.8, scale=7e7),
    "blob_base_fee": stats.lognorm(s=1.5, scale=4e6),
    "tip": stats.lognorm(s=0.5, scale=1e8),
    "cost_margin": stats.uniform(1.0, 0.5),
}
FIGURE = Path("out/sweep_cost.png")


def main() -> None:
    transactions_beside_an_addition()
    grid_beside_a_fill()
    paths_beside_their_draws()
    executors_beside_each_other()
    cost_as_the_work_grows()


def transactions_beside_an_addition(elements: int = ELEMENTS) -> None:
    """Compute fees of 1e8 transactions with a size and a gas. The lower bound: adding the two arrays."""
    workload = transactions(elements)
    samples = grid(transactions=workload, margin=1.2, **COSTS)

    def add() -> None:
        result = np.empty(elements, dtype=np.int64)
        by_blocks(elements, lambda part: np.add(workload.compressed_size[part], workload.gas[part], out=result[part]))

    seconds = interleaved({"add": add, "sweep": lambda: sweep(feemodel.priority_fee, samples)}, rounds=5)
    report(f"{elements:,} transactions", seconds, elements, floor="add")


def grid_beside_a_fill(side: int = SIDE) -> None:
    """Compute fees on a grid of 100⁴ points. The lower bound: filling a new array with one number."""
    samples = grid(
        compressed_size=np.arange(30, 30 + side),
        gas=np.arange(21_000, 21_000 + side),
        variable_cost=np.linspace(10**6, 10**10, side).astype(np.int64),
        margin=np.linspace(0.5, 2.0, side),
        fixed_cost=COSTS["fixed_cost"],
    )

    def fill() -> None:
        result = np.empty(side**4, dtype=np.int64)
        by_blocks(side**4, lambda part: result[part].fill(1))

    seconds = interleaved({"fill": fill, "sweep": lambda: sweep(feemodel.priority_fee, samples)}, rounds=9)
    report(f"a grid of {side}⁴", seconds, side**4, floor="fill")


def paths_beside_their_draws(paths: int = PATHS) -> None:
    """Draw 1e6 L1 fees and compute the fee of each. The lower bound: the same draws in SciPy, on as many threads."""

    def samples() -> Samples:
        return monte_carlo(paths, rng=1, compressed_size=128, gas=21_000, margin=1.2, fixed_cost=30_000_000, **L1_FEES)

    def draw() -> None:
        drawn = {name: np.empty(paths) for name in L1_FEES}

        def block(number: int) -> None:
            part = slice(number * DRAW_BLOCK, min((number + 1) * DRAW_BLOCK, paths))
            stream = np.random.default_rng(np.random.SeedSequence(1, spawn_key=(number,)))
            for name, distribution in L1_FEES.items():
                drawn[name][part] = distribution.rvs(size=part.stop - part.start, random_state=stream)

        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(block, range(-(-paths // DRAW_BLOCK))))

    runs: dict[str, Callable[[], object]] = {
        "draws": draw,
        "sweep": lambda: sweep(priority_fee_from_l1, samples()),
        "sweep, reduced": lambda: sweep(priority_fee_from_l1, samples(), reduce=over("sample")),
    }
    report(f"{paths:,} paths", interleaved(runs, rounds=45, warm_up=2), paths, floor="draws")


def executors_beside_each_other(evaluations: int = 1_000_000_000) -> None:
    """Reduce 1e9 evaluations to a table."""
    samples = reduced_samples(evaluations)

    def run(executor: Any) -> xr.Dataset:
        return sweep(feemodel.priority_fee, samples, reduce=over("transaction"), executor=executor)

    with dask_client() as client, ProcessPoolExecutor(cores(), get_context("spawn")) as processes:
        names = {"threads": None, "processes": processes} | ({"Dask": client} if client else {})
        results = {name: run(where) for name, where in names.items()}  # warm-up
        runs = {name: (lambda where=where: run(where)) for name, where in names.items()}
        report(f"{evaluations:,} reduced", interleaved(runs, rounds=3, warm_up=0), evaluations, floor="threads")
    same = all(result.identical(results["threads"]) for result in results.values())
    print(f"   {', '.join(results)}: {'the same' if same else 'NOT the same'} result to the bit")


def cost_as_the_work_grows(largest: int = 10) -> None:
    """Draw a figure of nanoseconds per evaluation, for 1e6 to 1e10 evaluations."""
    from matplotlib.figure import Figure

    counts = [10**power for power in range(6, largest + 1)]
    cost = []
    for count in counts:
        samples, often = reduced_samples(count), count < 10**9
        seconds = interleaved(
            {"sweep": partial(sweep, feemodel.priority_fee, samples, reduce=over("transaction"))},
            rounds=7 if often else 1, warm_up=2 if often else 0,
        )["sweep"]  # fmt: skip
        cost.append(float(np.median(seconds)) / count * 1e9)
        print(f"   {count:>14,} evaluations {cost[-1]:6.2f} ns each")
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(counts, cost, marker="o")
    axes.set(xscale="log", xlabel="evaluations, reduced to a table", ylabel="ns each", ylim=(0, None))
    axes.set_title(f"feemodel.sweep on {cores()} threads")
    axes.grid(alpha=0.3)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=120)
    print(f"   {FIGURE}")


def reduced_samples(evaluations: int) -> Samples:
    """Combine 10,000 transactions with enough variable costs and margins for this number of evaluations."""
    margins = np.linspace(0.5, 2.0, 100)
    costs = np.linspace(10**6, 10**10, evaluations // (10_000 * margins.size)).astype(np.int64)
    return grid(transactions=transactions(10_000), variable_cost=costs, margin=margins, fixed_cost=30_000_000)


def transactions(count: int) -> Workload:
    rng = np.random.default_rng(1)
    return Workload("drawn", rng.integers(30, 4_000, count), rng.integers(21_000, 5_000_000, count))


def by_blocks(elements: int, work: Callable[[slice], object]) -> None:
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(lambda start: work(slice(start, start + BLOCK)), range(0, elements, BLOCK)))


@contextlib.contextmanager
def dask_client() -> Iterator[Any]:
    """Run a Dask cluster with one process per processor, if Dask is installed."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        yield None
        return
    cluster_of: Any = LocalCluster  # Dask's functions have no types
    client_of: Any = Client
    with (
        cluster_of(cores(), threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        client_of(cluster, set_as_default=False) as client,
    ):
        yield client


def report(what: str, seconds: dict[str, list[float]], items: int, *, floor: str) -> None:
    print(f"   {what}")
    for name, runs in seconds.items():
        beside = "" if name == floor else f"   / {floor} {ratio(seconds, name, floor)}"
        print(f"     {name:15} {per_item(runs, items):>9} each{beside}")


if __name__ == "__main__":
    main()
