"""Compiled policies of a user's own: prices that are refused, and processes that cannot import their module."""

import os
import subprocess
import sys

import pytest

from feemodel.errors import InvalidInput
from feemodel.simulation import simulate
from tests.conftest import ROOT
from tests.simulation.test_own_objects import COMPILED, FEES, WRONG_PRICES, announcing

POLICY = """
def announce(state, seen, price):
    price.per_byte = state[0]

def settle(state, settled):
    state[0] += 0.0
"""

OWN = """
import sys
sys.path.insert(0, sys.argv[1])
import numba
import numpy as np
import policy_of_a_user

class Own:
    announce = staticmethod(numba.njit(policy_of_a_user.announce))
    settle = staticmethod(numba.njit(policy_of_a_user.settle))
    def start(self, setting):
        return np.array([1e8])
"""
SIMULATED = """
from feemodel.simulation import Fixed, simulate
from feemodel.simulation.scenarios import replay

fees = replay({"timestamp": [0, 12, 24], "base_fee": [7e7] * 3, "blob_base_fee": [4e6] * 3}, source="by hand")
print(simulate(fees, %s).sizes["path"])
"""


def test_machine_code_of_an_own_policy_hinders_no_process_that_cannot_import_it(tmp_path):
    (tmp_path / "policy_of_a_user.py").write_text(POLICY)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(ROOT)}
    for script in (OWN + SIMULATED % "Own()", SIMULATED % "Fixed(price=1e8)"):
        command = [sys.executable, "-c", script, str(tmp_path)]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (found.returncode, found.stdout) == (0, "1\n"), found.stderr[-500:]
    assert (tmp_path / "kept").is_dir()


@pytest.mark.parametrize("write", WRONG_PRICES)
def test_a_compiled_price_that_is_negative_or_no_number_is_refused(write):
    with pytest.raises(InvalidInput, match=r"pricing: expected finite prices of at least 0, in step \d of path 0"):
        simulate(FEES, announcing(write)[COMPILED])
