"""anvil as a live peer: a node in a process of its own, on a port that was free."""

import json
import os
import platform
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import urllib3

PEERS = Path(__file__).resolve().parents[1] / "peers"
VERSION = "1.7.1"
START, STOP = 20.0, 10.0  # seconds that it may take until it answers, until it has ended

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def binary(tool: str = "anvil") -> Path:
    """Where npm puts a tool of Foundry for this machine, whether it is there or not."""
    machine = platform.machine().lower()
    name = f"{tool}-{platform.system().lower()}-{_ARCHITECTURES.get(machine, machine)}"
    return PEERS / "node_modules" / "@foundry-rs" / name / "bin" / tool


def needed() -> bool:
    """Whether the tests beside peers must run, wherever this is."""
    return os.environ.get("FEEMODEL_PEERS") == "1"


class Node:
    """A node that answers, anvil or another one."""

    def __init__(self, url: str, pool: urllib3.PoolManager) -> None:
        self.url, self._pool = url, pool

    def ask(self, method: str, *params: Any) -> dict[str, Any]:
        """The whole response to one call."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        headers = {"content-type": "application/json"}
        response: dict[str, Any] = self._pool.request("POST", self.url, body=body, headers=headers).json()
        return response


def asking() -> urllib3.PoolManager:
    """Connections to nodes; closed at the end of a `with` block."""
    return urllib3.PoolManager(timeout=20, retries=False)


def free_port() -> int:
    """A TCP port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(genesis: Path | None, *, base_fee: int = 7, gas_limit: int = 30_000_000) -> Iterator[Node]:
    """anvil on a genesis, or on one of its own whose time is now, by the rules of Osaka, until the block ends."""
    with TemporaryDirectory(prefix="feemodel-anvil-") as home, asking() as pool:
        port = free_port()
        command = [str(binary()), "--base-fee", str(base_fee), "--gas-limit", str(gas_limit), "--hardfork", "osaka"]
        command += ["-q", "--host", "127.0.0.1", "--port", str(port)]
        command += [] if genesis is None else ["--init", str(genesis)]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"HOME": home}
        )
        try:
            node = Node(f"http://127.0.0.1:{port}", pool)
            _wait_for(node, process)
            yield node
        finally:
            process.terminate()
            process.wait(STOP)


def _wait_for(node: Node, process: subprocess.Popen[bytes]) -> None:
    """Until it answers as itself, and not another server that took the port in between."""
    end = time.monotonic() + START
    while process.poll() is None and time.monotonic() < end:
        try:
            version = node.ask("web3_clientVersion")["result"]
        except urllib3.exceptions.HTTPError:
            time.sleep(0.02)
            continue
        if version.startswith(f"anvil/v{VERSION}"):
            return
        raise RuntimeError(f"{node.url}: expected anvil {VERSION}, got {version}")
    raise RuntimeError(f"{binary()}: did not answer within {START:g} s, or ended with {process.poll()}")
