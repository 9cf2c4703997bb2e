"""The month of L1 fees and the transactions that ship."""

import numpy as np
import pytest

from feemodel.io import read_shipped_l1_fees, read_shipped_transactions
from feemodel.simulation.scenarios import replay
from feemodel.simulation.surfaces import Workload


@pytest.fixture(scope="session")
def month():
    return replay(read_shipped_l1_fees(), source="the shipped month")


@pytest.fixture(scope="session")
def real():
    table = read_shipped_transactions().dropna(subset=["gas_used"])
    return Workload("real", table["zstd"].to_numpy(np.int64), table["gas_used"].to_numpy(np.int64))
