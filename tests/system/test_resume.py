"""Sweeps that are killed, and runs in other processes, go on where they stopped."""

import signal
import subprocess
import sys

import xarray

from tests.conftest import ROOT
from tests.simulation.test_resume import check_an_interrupted_sweep_goes_on

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


def test_an_interrupted_sweep_goes_on_with_the_same_result(tmp_path):
    check_an_interrupted_sweep_goes_on(tmp_path, "sums", "processes")


def test_a_killed_sweep_goes_on_in_another_process(tmp_path):
    (tmp_path / "blocks").mkdir()
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(tmp_path / "blocks"), str(tmp_path / "out.nc")]
    with subprocess.Popen(command, cwd=ROOT) as process:
        while len(list((tmp_path / "blocks").glob("part-*.npz"))) < 5 and process.poll() is None:
            pass
        process.send_signal(signal.SIGKILL)
    kept = len(list((tmp_path / "blocks").glob("part-*.npz")))
    subprocess.run(command, cwd=ROOT, check=True)
    with xarray.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as found:
        assert 5 <= kept < 40
        assert found.slow.values.tolist() == [[gas * margin / 7 for margin in (1.0, 1.3)] for gas in range(40)]


SCRIPT = """
import sys
import numba
from feemodel import grid, sweep
from feemodel.io import FinishedFolder
import scipy.stats
names = {"b", "a", "c"}
law = scipy.stats.norm(1.0, 2.0)
@numba.njit
def twice(x):
    return 2.0 * x
class Held:
    def __init__(self):
        self.rate = 2.0
held = Held()
def fee(gas):
    return gas * len(names) * law.mean() * twice(1.0) * held.rate
print(sweep(fee, grid(gas=range(4)), chunk=2, finished=FinishedFolder(sys.argv[1])).fee.values.tolist())
"""


def test_a_description_is_the_same_in_another_process(tmp_path):
    blocks = tmp_path / "blocks"
    blocks.mkdir()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(blocks)]
    found = [subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout for _ in range(2)]

    assert found == ["[0.0, 12.0, 24.0, 36.0]\n"] * 2
