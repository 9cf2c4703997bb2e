"""Sweeps on processes and on Dask: the same result to the bit, whichever process is killed."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import distributed
import pytest
import xarray

from feemodel import calibrate, over, priority_fee, sweep
from feemodel.errors import InvalidInput
from feemodel.io import read_shipped_l1_fees, read_shipped_transactions
from feemodel.simulation.run import in_order
from feemodel.simulation.scenarios import bootstrap, replay
from feemodel.simulation.surfaces import Workload
from tests.conftest import ROOT
from tests.simulation.test_calibrate import RULE
from tests.simulation.test_executors import SAMPLES
from tests.simulation.test_sensitivity import ishigami_indices


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.parametrize("reduce", [None, over("sample", quantile=[0.5], above=[3e7])], ids=["all", "reduced"])
def test_the_result_is_the_same_to_the_bit_on_processes_and_dask(client, processes, reduce):
    one, *others = (
        sweep(priority_fee, SAMPLES, reduce=reduce, chunk=900, workers=workers, executor=executor)
        for workers, executor in ((1, None), (2, processes), (None, client))
    )

    assert all(other.identical(one) for other in others)
    assert client.status == "running"  # left open


def test_indices_and_a_calibration_are_the_same_on_processes(processes):
    table = read_shipped_transactions().dropna(subset=["gas_used"])
    sizes = Workload("real", table["zstd"].to_numpy(int), table["gas_used"].to_numpy(int))
    days = bootstrap(
        replay(read_shipped_l1_fees(), source="the shipped month"),
        paths=4,
        block_seconds=21_600.0,
        horizon=43_200.0,
        rng=1,
    )
    options = {"arrival_rate": 0.1, "loss_probability": 0.5, "rng": 5}
    found = calibrate(sizes, days, RULE, workers=1, **options)

    assert calibrate(sizes, days, RULE, executor=processes, workers=2, **options) == found
    indices = ishigami_indices(256)
    assert ishigami_indices(256, executor=processes).identical(indices)


def fails(number):
    if number == 3:
        raise InvalidInput("gas", "expected at least 1", 0)
    return number


def test_an_error_of_the_function_is_the_callers(processes):
    with pytest.raises(InvalidInput, match="gas: expected at least 1, got 0"):
        list(in_order(fails, range(20), executor=processes, workers=2))


def ends_its_process(number):
    os.kill(os.getpid(), signal.SIGKILL)


def test_processes_that_end_are_an_error_of_the_executor(processes):
    """The last test of these processes."""
    with pytest.raises(BrokenProcessPool):
        list(in_order(ends_its_process, range(4), executor=processes, workers=2))


KILLED = """
import sys, time
from feemodel import grid, sweep
from feemodel.io import FinishedFolder

def slow(gas, margin):
    time.sleep(0.05)
    return gas * margin / 7

samples = grid(gas=range(40), margin=[1.0, 1.3])
sweep(slow, samples, chunk=2, finished=FinishedFolder(sys.argv[1])).to_netcdf(sys.argv[2])
"""


def test_a_killed_sweep_goes_on_in_another_process(tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(parts), str(tmp_path / "out.nc")]
    with subprocess.Popen(command, cwd=ROOT) as process:
        while len(list(parts.glob("part-*.npz"))) < 5 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    kept = len(list(parts.glob("part-*.npz")))
    subprocess.run(command, cwd=ROOT, check=True)
    with xarray.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as found:
        assert 5 <= kept < 40
        assert found.slow.values.tolist() == [[gas * margin / 7 for margin in (1.0, 1.3)] for gas in range(40)]
