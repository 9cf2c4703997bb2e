"""The examples of the OpenRPC document, executed: on the development chain, and what needs a node with one behind it.

`python -m tests.openrpc_examples` executes them and writes their results anew, after a parameter or an answer changed.
"""

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from feemodel.io.shipped import shipped_path
from feemodel.rpc import openrpc
from feemodel.rpc.development import LEDGER
from feemodel.rpc.settings import Settings
from tests import anvil
from tests.development import GENESIS
from tests.rpc_parts import ANY_AGE, opened
from tests.serving import serving
from tests.system.start import wait_until

FILE = Path(openrpc.__file__).with_name("examples.json")
MINED_AT = 1_769_299_212  # Unix time of block 1, 12 s after the genesis
#: Ids that a node draws: of which method, and the methods that take one of them.
IDS = {"eth_newFilter": ("eth_getFilterLogs", "eth_getFilterChanges", "eth_uninstallFilter"),
       "eth_newBlockFilter": (), "eth_newPendingTransactionFilter": ()}  # fmt: skip

OF_HARDHAT = ("net_peerCount",)
HARDHAT = anvil.PEERS / "node_modules" / "hardhat" / "internal" / "cli" / "bootstrap.js"

Ask = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Behind:
    """A server in front of a node."""

    address: str
    ask: Ask


def read() -> dict[str, dict[str, Any]]:
    """Of each method `params` and `result`; the two rollup methods have one example under both of their names."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


@contextmanager
def behind_a_server() -> Iterator[Behind]:
    """anvil on the development genesis behind a server, with the example transaction in its first block."""
    examples = read()
    with (
        anvil.running(GENESIS) as node,
        serving("--workers", "1", "--node", node.url, "--max-age", str(ANY_AGE)) as server,
    ):
        assert "error" not in node.ask("evm_setNextBlockTimestamp", MINED_AT)
        sent = server.ask("eth_sendRawTransaction", *examples["eth_sendRawTransaction"]["params"])
        asked: dict[str, dict[str, Any]] = {"eth_sendRawTransaction": sent}
        wait_until(lambda: server.ask("eth_getTransactionReceipt", sent["result"])["result"], "it is mined")
        ids = {user: name for name, users in IDS.items() for user in users}

        def ask(method: str, *params: Any) -> dict[str, Any]:
            if method in ids:
                params = (server.ask(ids[method], *examples[ids[method]]["params"])["result"],)
            return asked.get(method) or server.ask(method, *params)

        yield Behind(server.address, ask)


@contextmanager
def behind_hardhat() -> Iterator[Behind]:
    """A server in front of Hardhat's own node, which knows of peers what anvil does not."""
    with socket.socket() as probe, TemporaryDirectory() as folder:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
        probe.close()
        said = {"HARDHAT_DISABLE_TELEMETRY_PROMPT": "true", "SERVED": "http://127.0.0.1:1", "BUILT": folder}
        node = subprocess.Popen(
            ["node", HARDHAT, "node", "--hostname", "127.0.0.1", "--port", port], cwd=anvil.PEERS / "hardhat",
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | said,
        )  # fmt: skip
        try:
            with serving("--workers", "1", "--node", f"http://127.0.0.1:{port}") as server:
                wait_until(lambda: "result" in server.ask("eth_chainId"), "Hardhat answers")
                yield Behind(server.address, server.ask)
        finally:
            node.terminate()
            node.wait(10)


def results(names: Mapping[str, Any], ask: Ask) -> dict[str, dict[str, Any]]:
    """What each example is answered."""
    return {name: ask(name, *example["params"]) for name, example in names.items()}


def main() -> None:
    examples = read()
    with opened(Settings(), store=shipped_path(LEDGER), started=False) as client:
        own = {name.removeprefix("rollup_") for name in client.answered}
        answers = results({name: one for name, one in examples.items() if name in own and "_" in name}, client.ask)
        short = {name: one for name, one in examples.items() if "_" not in name}
        answers |= {name: client.ask(f"rollup_{name}", *one["params"]) for name, one in short.items()}
    with behind_a_server() as behind:
        passed = {name: one for name, one in examples.items() if name not in {*answers, *OF_HARDHAT}}
        answers |= results(passed, behind.ask)
    with behind_hardhat() as behind:
        answers |= results({name: examples[name] for name in OF_HARDHAT}, behind.ask)
    lines = []
    for name, example in sorted(examples.items()):
        assert "result" in answers[name], (name, answers[name])
        written = {"params": example["params"], "result": answers[name]["result"]}
        lines.append(f"{json.dumps(name)}: {json.dumps(written, separators=(',', ':'))}")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
