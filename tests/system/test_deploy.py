"""The health check of the container, of a server that runs and of one that is gone."""

import json
import os
import subprocess
import sys

from tests.deploy.test_deploy import instruction
from tests.system.start import serving


def test_the_health_check_sees_a_server_that_is_there_and_one_that_is_gone():
    shell, _, command = instruction("HEALTHCHECK").partition("CMD ")
    assert "--interval=" in shell
    check = [sys.executable, *json.loads(command)[1:]]

    with serving("--workers", "1") as server:
        port = server.address.rpartition(":")[2]
        alive = subprocess.run(check, env=os.environ | {"FEEMODEL_PORT": port}, timeout=30, capture_output=True)
    gone = subprocess.run(check, env=os.environ | {"FEEMODEL_PORT": port}, timeout=30, capture_output=True)

    assert alive.returncode == 0
    assert gone.returncode != 0
