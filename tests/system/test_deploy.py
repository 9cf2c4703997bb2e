"""The health check of the container, of a server that runs and of none."""

import json
import os
import subprocess
import sys

from tests.deploy.test_deploy import instruction
from tests.helpers.anvil import free_port


def test_the_health_check_sees_a_server_that_is_there_and_one_that_is_not(plain_server):
    shell, _, command = instruction("HEALTHCHECK").partition("CMD ")
    assert "--interval=" in shell
    check = [sys.executable, *json.loads(command)[1:]]
    alive, gone = (
        subprocess.run(check, env=os.environ | {"FEEMODEL_PORT": str(port)}, timeout=30, capture_output=True)
        for port in (plain_server.port, free_port())
    )

    assert alive.returncode == 0
    assert gone.returncode != 0
