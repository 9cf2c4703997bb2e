"""Executors: numbered pieces in order, on threads, processes, Dask or any executor; workers that die."""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import pytest

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.simulation._executors import AHEAD, WorkersDied, in_order


def square(number):
    return number * number


def killed_once(folder, number):
    """Ends its own process at piece 5, the first time."""
    if number == 5:
        try:
            (folder / "killed").touch(exist_ok=False)
        except FileExistsError:
            return square(number)
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / f"{number}").touch()
    return square(number)


def fails(number):
    if number == 3:
        raise InvalidInput("gas", "expected at least 1", 0)
    return number


EXPECTED = [number * number for number in range(20)]


@pytest.mark.parametrize("workers", [1, 2, 5, None])
def test_threads_give_results_in_order(workers):
    assert list(in_order(square, 20, workers=workers)) == EXPECTED


def test_processes_give_results_in_order():
    assert list(in_order(square, 20, executor="processes", workers=2)) == EXPECTED


def test_any_executor_is_used_and_left_open():
    with ThreadPoolExecutor(2) as pool:
        assert list(in_order(square, 20, executor=pool)) == EXPECTED
        assert pool.submit(square, 3).result() == 9


def test_a_killed_worker_costs_time_and_not_the_result(tmp_path):
    with pytest.warns(WorkersDied, match=r"worker processes ended; tasks from \d+ on run in new processes"):
        assert list(in_order(partial(killed_once, tmp_path), 20, executor="processes", workers=2)) == EXPECTED
    assert (tmp_path / "killed").exists()


def test_an_executor_of_the_callers_that_breaks_is_an_error_and_nothing_takes_its_place(tmp_path):
    with (
        ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool,
        pytest.raises(UpstreamError, match=r"the given executor failed at task \d+: A (child )?process "),
    ):
        list(in_order(partial(killed_once, tmp_path), 20, executor=pool))


def test_an_executor_of_the_callers_that_takes_no_work_is_named():
    with ThreadPoolExecutor(1) as pool:
        pool.shutdown()
        with pytest.raises(InvalidInput, match=r"executor: expected an executor that accepts tasks .*shutdown"):
            list(in_order(square, 3, executor=pool))


def test_work_that_the_callers_executor_cancels_is_an_error():
    class Cancels(Executor):
        def submit(self, fn, /, *args, **kwargs):
            future = Future()
            future.cancel()
            return future

    with pytest.raises(UpstreamError, match="the given executor cancelled task 0"):
        list(in_order(square, 3, executor=Cancels()))


def test_a_job_that_the_callers_processes_cannot_import_is_named():
    with (
        ProcessPoolExecutor(1) as pool,
        pytest.raises(InvalidInput, match="function: expected a function that another process"),
    ):
        list(in_order(lambda number: number, 3, executor=pool))


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_an_error_of_the_job_is_the_callers(executor):
    with pytest.raises(InvalidInput, match="gas: expected at least 1, got 0"):
        list(in_order(fails, 20, executor=executor, workers=2))


def test_only_so_many_pieces_are_under_way():
    started = []
    pieces = in_order(started.append, 1_000, workers=2)
    next(pieces)
    pieces.close()

    assert len(started) <= 2 * AHEAD


def test_no_worker_is_left_when_the_caller_stops():
    before = threading.active_count()
    for executor in ("threads", "processes"):
        pieces = in_order(square, 1_000, executor=executor, workers=2)
        next(pieces)
        pieces.close()

    assert threading.active_count() == before
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("executor", ["thread", "dask", 3])
def test_an_unknown_executor_is_named(executor):
    with pytest.raises(InvalidInput, match='executor: expected "threads", "processes", the address'):
        list(in_order(square, 3, executor=executor))


def test_a_job_that_no_process_can_import_is_named():
    with pytest.raises(InvalidInput, match="function: expected a function that another process can import"):
        list(in_order(lambda number: number, 3, executor="processes"))


def test_the_number_of_workers_is_checked():
    with pytest.raises(InvalidInput, match="workers: expected an integer of at least 1, got 0"):
        list(in_order(square, 3, workers=0))
    with pytest.raises(InvalidInput, match="workers: expected at most 1,024, got 1025"):
        list(in_order(square, 3, workers=1_025))
    with pytest.raises(InvalidInput, match="workers: expected only with threads or processes"):
        list(in_order(square, 3, executor="tcp://127.0.0.1:1", workers=2))


def test_a_cluster_gives_results_in_order(cluster):
    assert list(in_order(square, 20, executor=cluster.scheduler_address)) == EXPECTED


def test_a_client_of_dask_is_taken_as_it_is_and_left_open(cluster):
    import distributed

    with distributed.Client(cluster, set_as_default=False) as client:
        assert list(in_order(square, 20, executor=client)) == EXPECTED
        assert client.status == "running"
        with pytest.raises(InvalidInput, match="workers: expected only with threads or processes"):
            list(in_order(square, 3, executor=client, workers=2))
    with pytest.raises(InvalidInput, match="executor: expected a running Dask Client, its status is closed"):
        list(in_order(square, 3, executor=client))


def test_an_address_of_no_known_kind_is_an_error():
    with pytest.raises(UpstreamError, match="abc://nowhere: no Dask scheduler answers"):
        list(in_order(square, 3, executor="abc://nowhere"))
