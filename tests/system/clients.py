"""Clients as they are published, driven by the scripts in tests/peers: what came of each step that they took."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from feemodel.ethereum._quantities import to_hex
from tests.helpers.anvil import needed
from tests.helpers.development import HOLDERS

HOLDER, STRANGER = to_hex(HOLDERS[0]), "0x57a49e4057a49e4057a49e4057a49e4057a49e40"
REVERTED = "ERC20: transfer amount exceeds balance"

Told = dict[str, dict[str, Any]]


def require(*installed: Path | str | None) -> None:
    """Skip where something is not installed; fail there where the tests beside peers must run."""
    missing = [str(path) for path in installed if path is None or (not shutil.which(path) and not Path(path).exists())]
    if missing:
        reason = f"needs Node and what scripts/install-peers puts into tests/peers/: {', '.join(missing)} is not there"
        (pytest.fail if needed() else pytest.skip)(reason)


def told(
    command: Sequence[str | Path], address: str, scenario: str, *, trusted: Path | None = None, **parameters: Any
) -> Told:
    """Return of each step of a script its `value`, or how it failed; `trusted` is a certificate for TLS."""
    # Proxies are for the state outside: these servers are on this machine.
    environment = os.environ | {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    if trusted is not None:
        environment |= {"NODE_EXTRA_CA_CERTS": str(trusted), "SSL_CERT_FILE": str(trusted)}
    arguments = [*command, address, scenario, json.dumps(parameters)]
    completed = subprocess.run(arguments, capture_output=True, text=True, timeout=120, env=environment)
    assert (completed.returncode, completed.stderr) == (0, ""), completed.stderr
    answer: Told = json.loads(completed.stdout, object_hook=_number)
    return answer


def run(*command: Any, folder: Path | None = None, **environment: str) -> str:
    """What a tool says on standard output; it must end with 0."""
    known = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true", "CI": "1"}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, **known, **environment}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def value(told: Told, step: str) -> Any:
    """What a step that went well gave."""
    assert "value" in told[step], told[step]
    return told[step]["value"]


def _number(fields: dict[str, Any]) -> Any:
    """JavaScript's large integers, which JSON has no form for, come as objects."""
    return int(fields["bigint"]) if fields.keys() == {"bigint"} else fields
