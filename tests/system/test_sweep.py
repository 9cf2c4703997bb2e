"""Sweeps of many evaluations."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

MEMORY = """
import numpy as np
import feemodel
from feemodel import grid, over, sweep
from feemodel.simulation.surfaces import Workload

def run(variable_costs):
    some = Workload("some", np.arange(1_000, 3_000), np.arange(21_000, 23_000))
    samples = grid(t=some, variable_cost=range(variable_costs), margin=np.linspace(1, 2, 50))
    sweep(feemodel.priority_fee, samples, reduce=over("transaction", "variable_cost", quantile=[0.5]), workers=2)
    # The peak of this program alone: getrusage counts the process that started it, which may be larger.
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))

run(20)  # 2e6 evaluations: everything is loaded
print(run(100), run(1_000))  # 1e7 and 1e8
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory where Linux tells it")
def test_memory_does_not_grow_with_the_number_of_evaluations():
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, cwd=ROOT)
    less, more = (int(kilobytes) << 10 for kilobytes in run.stdout.split())

    assert more < 400 << 20
    assert more - less < 100 << 20  # 90,000,000 more evaluations are 720 MB
