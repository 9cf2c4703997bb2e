"""A run gives the same result on any number of threads; an executor raises its own errors."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from scipy import stats

from feemodel import grid, monte_carlo, over, priority_fee, sweep
from feemodel.errors import InvalidInput
from feemodel.simulation.run import in_order

SAMPLES = monte_carlo(300, rng=2, variable_cost=stats.randint(10**6, 10**10)) | grid(
    compressed_size=range(100, 140), margin=[1.0, 1.2], gas=21_000
)


@pytest.mark.parametrize("reduce", [None, over("sample", quantile=[0.5], above=[3e7])], ids=["all", "reduced"])
def test_the_result_is_the_same_to_the_bit_on_threads(reduce):
    """On processes and on Dask: `tests/system/test_executors.py`."""
    one = sweep(priority_fee, SAMPLES, reduce=reduce, chunk=900, workers=1)

    assert sweep(priority_fee, SAMPLES, reduce=reduce, chunk=900, workers=3).identical(one)
    with ThreadPoolExecutor(2) as threads:
        assert sweep(priority_fee, SAMPLES, reduce=reduce, chunk=900, executor=threads).identical(one)
        assert threads.submit(abs, -1).result() == 1  # left open


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
