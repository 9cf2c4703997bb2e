"""A run gives the same result on threads, processes, Dask and any executor; an executor raises its own errors."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial

import pytest
from scipy import stats

from feemodel import grid, monte_carlo, over, priority_fee, sweep
from feemodel.errors import InvalidInput
from feemodel.simulation.run import in_order

SAMPLES = monte_carlo(300, rng=2, variable_cost=stats.randint(10**6, 10**10)) | grid(
    compressed_size=range(100, 140), margin=[1.0, 1.2], gas=21_000
)


def spawned():
    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))


def fails(number):
    if number == 3:
        raise InvalidInput("gas", "expected at least 1", 0)
    return number


def killed_once(folder, variable_cost, compressed_size, margin):
    """Ends the process of one worker, the first time that a worker computes it."""
    if 100 not in compressed_size or variable_cost.flat[0] == SAMPLES["variable_cost"].values[0]:
        time.sleep(0.02)
    else:
        try:
            (folder / "killed").touch(exist_ok=False)
        except FileExistsError:
            return variable_cost * compressed_size * margin
        os.kill(os.getpid(), signal.SIGKILL)
    return variable_cost * compressed_size * margin


def ends_its_process(number):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("reduce", [None, over("sample", quantile=[0.5], above=[3e7])], ids=["all", "reduced"])
def test_the_result_is_the_same_to_the_bit_on_threads_processes_and_dask(cluster, reduce):
    import distributed

    def run(**where):
        return sweep(priority_fee, SAMPLES, reduce=reduce, chunk=900, **where)

    one = run(workers=1)
    assert run(workers=3).identical(one)
    with ThreadPoolExecutor(2) as threads, spawned() as processes:
        assert run(executor=threads).identical(one)
        assert run(executor=processes, workers=2).identical(one)
        assert threads.submit(abs, -1).result() == 1  # left open
    with distributed.Client(cluster, set_as_default=False) as client:
        assert run(executor=client).identical(one)
        assert client.status == "running"


def test_a_killed_worker_of_dask_costs_time_and_not_the_result(tmp_path):
    import distributed

    samples = {name: value for name, value in SAMPLES.items() if name != "gas"}
    function = partial(killed_once, tmp_path)
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        found = sweep(function, samples, chunk=900, executor=client)

    assert (tmp_path / "killed").exists()
    assert found.identical(sweep(function, samples))


def test_processes_that_end_are_an_error_of_the_executor():
    with spawned() as processes, pytest.raises(BrokenProcessPool):
        list(in_order(ends_its_process, range(4), executor=processes, workers=2))


@pytest.mark.parametrize("make", [lambda: ThreadPoolExecutor(2), spawned], ids=["threads", "processes"])
def test_an_error_of_the_function_is_the_callers(make):
    with make() as executor, pytest.raises(InvalidInput, match="gas: expected at least 1, got 0"):
        list(in_order(fails, range(20), executor=executor, workers=2))


def test_only_so_many_pieces_are_under_way_and_an_early_end_stops_them():
    started = []
    pieces = in_order(started.append, range(1_000), executor=None, workers=2)
    next(pieces)
    pieces.close()

    assert len(started) <= 6


@pytest.mark.parametrize("executor", ["threads", 3])
def test_what_is_no_executor_is_named(executor):
    with pytest.raises(InvalidInput, match=r"executor: expected an Executor of concurrent\.futures or a Dask Client"):
        sweep(priority_fee, SAMPLES, executor=executor)


@pytest.mark.parametrize(
    ("workers", "named"), [(0, "workers: expected an integer of at least 1, got 0"), (1_025, "expected at most 1,024")]
)
def test_the_number_of_workers_is_checked(workers, named):
    with pytest.raises(InvalidInput, match=named):
        list(in_order(abs, range(3), executor=None, workers=workers))
