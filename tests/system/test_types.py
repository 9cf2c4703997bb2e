"""Types of the formulas to a user's pyright; mypy checks the same calls in `scripts/test`."""

import subprocess
import sys

from tests.conftest import ROOT
from tests.helpers.anvil import PEERS
from tests.system.clients import require

CALLS = "tests/helpers/typed_calls.py"


def test_pyright_infers_what_a_user_gets():
    pyright = PEERS / "node_modules" / "pyright" / "index.js"
    require("node", pyright)
    command = ["node", str(pyright), "--pythonpath", sys.executable, CALLS]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout if ended.returncode else "") == (0, "")
